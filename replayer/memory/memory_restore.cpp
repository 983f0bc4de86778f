// The contents that memory begins with.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "replayer/memory/memory.h"
#include "replayer/memory/relocated_content.h"

namespace gfxgraph::replayer {
namespace {

using format::AllocationBegin;

constexpr uint64_t kCopiedFillBytes = 64 << 10;
constexpr uint64_t kWordsAtOnceBytes = 64 << 10;
constexpr uint64_t kArrayFillBytes = 1u << 20;  // whole texels
constexpr uint64_t kHostPageBytes = 4096;

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Pages that nobody has written take no memory: those that hold the bytes already stay as they are.
void fill_where_needed(uint8_t* memory, uint8_t value, uint64_t size) {
  for (uint64_t at = 0; at < size; at += kHostPageBytes) {
    uint8_t* const page = memory + at;
    const uint64_t bytes = std::min(kHostPageBytes, size - at);
    if (page[0] == value && std::memcmp(page, page + 1, bytes - 1) == 0) continue;
    std::memset(page, value, bytes);
  }
}

}  // namespace

Result<void> Memory::fill(format::AllocationId id, uint64_t offset, uint8_t value,
                          uint64_t size) const {
  if (size == 0) return {};
  const Buffer& buffer = buffers_[id - 1];
  if (value == 0 && buffer.array == nullptr &&
      source_.zero((buffer.host != nullptr ? buffer.host : buffer.device) + offset, size)) {
    return {};
  }
  if (buffer.owner == Owner::kRegistered) {
    fill_where_needed(buffer.host + offset, value, size);
    return {};
  }
  if (buffer.host != nullptr) {
    std::memset(buffer.host + offset, value, size);
    return {};
  }
  if (buffer.array != nullptr) {
    const std::vector<std::byte> bytes(std::min(size, kArrayFillBytes), std::byte{value});
    for (uint64_t at = 0; at < size; at += bytes.size()) {
      GFXGRAPH_TRY(write(id, offset + at,
                         std::span(bytes).first(std::min<uint64_t>(bytes.size(), size - at))));
    }
    return {};
  }
  // Small fills, and the ends of large ones, are done as copies (quirk kSmallFillOverruns).
  if (size <= kCopiedFillBytes) {
    const std::vector<std::byte> bytes(size, std::byte{value});
    return write(id, offset, bytes);
  }
  return source_.fill(buffer.device + offset, value, size,
                      fmt::format("fill of {} bytes of allocation {}", size, id));
}

// For memory whose content the trace lacks: writes its known pointers, and zeros elsewhere.
Result<void> Memory::restore_words(const AllocationBegin& begin, const std::string& where) {
  const std::vector<format::Relocation>& words = begin.initial.relocations;
  GFXGRAPH_TRY(fill(begin.id, 0, 0, size(begin.id)));
  std::vector<std::byte> bytes;
  for (size_t first = 0, next = 0; first < words.size(); first = next) {
    const uint64_t offset = words[first].offset_bytes;
    std::vector<format::Relocation> near;
    for (next = first; next < words.size() &&
                       words[next].offset_bytes - offset < kWordsAtOnceBytes - sizeof(uint64_t);
         ++next) {
      near.push_back(words[next]);
      near.back().offset_bytes -= offset;
    }
    bytes.assign(near.back().offset_bytes + sizeof(uint64_t), std::byte{0});
    for (const format::Relocation& word : near) {
      if (word.allocation == 0 || word.allocation > addresses_.size()) continue;  // apply() says it
      store_word(bytes, word.offset_bytes,
                 addresses_.placement(word.allocation).recorded_device +
                     static_cast<uint64_t>(word.addend));
    }
    GFXGRAPH_TRY(addresses_.apply(bytes, near, where));
    GFXGRAPH_TRY(write(begin.id, offset, bytes));
  }
  return {};
}

Result<void> Memory::restore(const Program& program, bool all, uint64_t end_event,
                             uint64_t first_event) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].used || (buffers_[i].keep_content && !all)) continue;
    if (buffers_[i].shares || buffers_[i].object) continue;  // its runs begin it; no contents
    const uint64_t begins = program.allocations()[i].begin_sequence;
    if (begins < first_event || begins >= end_event) continue;
    const AllocationBegin& begin = *program.allocations()[i].begin;
    const format::Content& content = begin.initial;
    const std::string where = fmt::format("initial content of allocation {}", begin.id);
    if (content.unwritten) {
      GFXGRAPH_TRY(fill(begin.id, 0, fresh_byte(begin.id, vary_fresh_), size(begin.id)));
      continue;
    }
    if (!content.stored) {
      if (!zero_unknown_) {
        return fail(Status::kIncomplete,
                    fmt::format("{} is not in the trace: bind a buffer that holds it, record with "
                                "contents, or begin such memory with zeros (zero_unknown)",
                                where));
      }
      GFXGRAPH_TRY(restore_words(begin, where));
      continue;
    }
    if (!content.blob && content.relocations.empty()) {
      GFXGRAPH_TRY(fill(begin.id, 0, content.fill, content.size_bytes));
    } else {
      GFXGRAPH_TRY(visit_relocated(
          program.trace(), content, addresses_, where,
          [&](uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
            if (source_.may_zero() && piece.size() > kCopiedFillBytes && is_zero(piece))
              return fill(begin.id, offset, 0, piece.size());
            return write(begin.id, offset, piece);
          }));
    }
    GFXGRAPH_TRY(fill(begin.id, content.size_bytes, 0, size(begin.id) - content.size_bytes));
  }
  return source_.synchronize();
}

}  // namespace gfxgraph::replayer
