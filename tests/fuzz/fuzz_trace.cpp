// Any bytes as a trace: the reader, verify and blob access must answer, never crash, hang or take
// memory out of proportion. Two ways in: the bytes as they are, and, as the hashes would stop
// nearly every mutation, the bytes as payloads of records whose hashes are made right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/cursor.h"
#include "format/container/container.h"
#include "format/read/reader.h"
#include "format/read/verify.h"

namespace gfxgraph::format {
namespace {

void read_all(std::span<const std::byte> bytes) {
  for (const ReadOptions& options :
       {ReadOptions{}, ReadOptions{.allow_torn = true}, ReadOptions{.lazy = true}}) {
    const auto trace = Trace::from_bytes(bytes, options);
    if (!trace) continue;
    for (const CodeObject& code_object : (*trace)->code_objects()) {
      (void)(*trace)->blob(code_object.elf);
    }
  }
  (void)verify_bytes(bytes);
}

void append_record(std::vector<std::byte>& file, RecordKind kind, uint32_t flags,
                   std::span<const std::byte> payload) {
  const auto header = encode_record_header(payload.size(), kind, flags, hash64(payload));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), payload.begin(), payload.end());
  file.resize((file.size() + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment);
}

// The input keeps the form of a file, so that traces are good seeds: from each header only length,
// kind and flags are taken, cut to what is there; all hashes are computed.
std::vector<std::byte> repair(std::span<const std::byte> input) {
  const auto head = encode_head();
  std::vector<std::byte> file(head.begin(), head.end());
  RunningHash chain;
  uint64_t records = 0;
  uint64_t last = 0;
  size_t at = kHeadBytes;
  while (at + kRecordHeaderBytes <= input.size()) {
    const auto kind = RecordKind{load_le<uint32_t>(&input[at + 8])};
    const uint32_t flags = load_le<uint32_t>(&input[at + 12]);
    const size_t left = input.size() - at - kRecordHeaderBytes;
    const size_t size = std::min<uint64_t>(load_le<uint64_t>(&input[at]), left);
    if (kind == RecordKind::kFooter) break;
    last = file.size();
    append_record(file, kind, flags, input.subspan(at + kRecordHeaderBytes, size));
    chain.add(std::span(file).subspan(last, kRecordHeaderBytes));
    ++records;
    at += (kRecordHeaderBytes + size + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  }
  const auto footer = encode_footer(last, records, chain.value());
  file.insert(file.end(), footer.begin(), footer.end());
  return file;
}

}  // namespace
}  // namespace gfxgraph::format

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data), size);
  gfxgraph::format::read_all(input);
  if (size > gfxgraph::format::kHeadBytes) {
    gfxgraph::format::read_all(gfxgraph::format::repair(input));
  }
  return 0;
}
