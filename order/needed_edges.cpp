#include "order/needed_edges.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/cursor.h"
#include "format/write/writer.h"

namespace gfxgraph::order {
namespace {

constexpr std::array<char, 8> kMagic = {'g', 'f', 'x', 'g', 'o', 'r', 'd', 'r'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHashBytes = 16;
constexpr size_t kHeadBytes = 8 + 4 + 4 + 16 + 8 + 8 + 8;

tl::unexpected<Error> damaged() {
  return fail(Status::kCorrupt,
              "the file of needed order is damaged: make it again: gfxgraph info TRACE --order -o "
              "FILE");
}

}  // namespace

void NeededEdges::add(std::span<const uint32_t> earlier, bool may_access_anything) {
  needs.insert(needs.end(), earlier.begin(), earlier.end());
  ends.push_back(needs.size());
  anything.push_back(may_access_anything ? 1 : 0);
}

std::vector<std::byte> to_bytes(const NeededEdges& edges) {
  std::vector<std::byte> bytes(kMagic.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  append_le(bytes, kVersion);
  append_le(bytes, uint32_t{0});
  append_le(bytes, edges.trace.low);
  append_le(bytes, edges.trace.high);
  append_le(bytes, static_cast<uint64_t>(edges.work()));
  append_le(bytes, static_cast<uint64_t>(edges.needs.size()));
  append_le(bytes, static_cast<uint64_t>(edges.open.size()));
  for (const uint64_t end : edges.ends) append_le(bytes, end);
  for (const uint32_t earlier : edges.needs) append_le(bytes, earlier);
  for (const uint8_t one : edges.anything) append_le(bytes, one);
  for (const NeededEdges::Open& one : edges.open) {
    append_le(bytes, one.work);
    append_le(bytes, one.offset_bytes);
    append_le(bytes, one.size_bytes);
  }
  const format::BlobId hash = format::hash_bytes(bytes);
  append_le(bytes, hash.low);
  append_le(bytes, hash.high);
  return bytes;
}

Result<NeededEdges> read_needed_edges(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes + kHashBytes ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(Status::kCorrupt,
                "this is no file of needed order: gfxgraph info TRACE --order -o FILE makes one");
  const auto version = load_le<uint32_t>(bytes.data() + kMagic.size());
  if (version != kVersion)
    return fail(Status::kVersion,
                fmt::format("the file of needed order has version {}, and this gfxgraph knows {}: "
                            "make it again with this one",
                            version, kVersion));
  const std::span<const std::byte> body = bytes.first(bytes.size() - kHashBytes);
  const format::BlobId hash = format::hash_bytes(body);
  if (hash.low != load_le<uint64_t>(bytes.data() + body.size()) ||
      hash.high != load_le<uint64_t>(bytes.data() + body.size() + 8))
    return damaged();
  // Counts first, so that nothing is larger than the file.
  size_t at = kMagic.size() + 4;
  const auto word = [&] {
    const auto value = load_le<uint64_t>(body.data() + at);
    at += sizeof value;
    return value;
  };
  NeededEdges edges;
  const auto reserved = load_le<uint32_t>(body.data() + at);
  at += sizeof reserved;
  edges.trace.low = word();
  edges.trace.high = word();
  const uint64_t work = word(), needs = word(), open = word();
  const uint64_t left = body.size() - at;
  if (reserved != 0 || work > left || needs > left || open > left ||
      left != work * (sizeof(uint64_t) + 1) + needs * sizeof(uint32_t) +
                  open * sizeof(NeededEdges::Open))
    return damaged();
  const auto take = [&](auto& items, uint64_t count) {
    items.resize(count);
    if (count != 0) std::memcpy(items.data(), body.data() + at, count * sizeof(items[0]));
    at += count * sizeof(items[0]);
  };
  take(edges.ends, work);
  take(edges.needs, needs);
  take(edges.anything, work);
  take(edges.open, open);
  uint64_t begin = 0;
  for (uint64_t n = 0; n < work; ++n) {
    if (edges.ends[n] < begin || edges.ends[n] > needs || edges.anything[n] > 1) return damaged();
    for (uint64_t i = begin; i < edges.ends[n]; ++i) {
      if (edges.needs[i] >= n || (i != begin && edges.needs[i] <= edges.needs[i - 1]))
        return damaged();
    }
    begin = edges.ends[n];
  }
  if (begin != needs) return damaged();
  for (uint64_t i = 0; i < open; ++i) {
    if (edges.open[i].work >= work || (i != 0 && edges.open[i].work < edges.open[i - 1].work))
      return damaged();
  }
  return edges;
}

}  // namespace gfxgraph::order
