// Memory of the caller in place of an allocation, while a session lives.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/checked.h"
#include "replayer/memory.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kWindowBytes = 64 << 10;

// Where pointers to an allocation may stand in memory: buffer, offsets.
using Places = std::map<format::AllocationId, std::vector<uint64_t>>;

void collect(Places& places, format::AllocationId buffer, uint64_t offset,
             const std::vector<format::Relocation>& relocations, format::AllocationId target) {
  for (const format::Relocation& word : relocations) {
    if (word.allocation == target) places[buffer].push_back(offset + word.offset_bytes);
  }
}

Places pointers_to(const Program& program, format::AllocationId target) {
  Places places;
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr) continue;
    collect(places, info.begin->id, 0, info.begin->initial.relocations, target);
    if (info.end != nullptr) collect(places, info.begin->id, 0, info.end->post.relocations, target);
  }
  for (const format::HostWrite* write : program.host_writes()) {
    collect(places, write->allocation, write->offset_bytes, write->content.relocations, target);
  }
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kCopy) continue;
    const format::Copy& copy = *operation.copy;
    if (copy.height != 1 || copy.depth != 1 || copy.destination.allocation == 0) continue;
    collect(places, copy.destination.allocation, copy.destination.offset_bytes,
            copy.host_source.relocations, target);
  }
  for (auto& [buffer, offsets] : places) {
    std::ranges::sort(offsets);
    offsets.erase(std::ranges::unique(offsets).begin(), offsets.end());
  }
  return places;
}

}  // namespace

Result<Move> Memory::bind_anew(const Program& program, const Binding& binding) {
  GFXGRAPH_TRY(check_binding(program, binding));
  const format::AllocationId id = binding.allocation;
  Buffer& buffer = buffers_[id - 1];
  if (buffer.in_group) {
    return fail(
        Status::kUnsupported,
        fmt::format("cannot bind allocation {}: a kernel is passed a pointer beside it, and "
                    "buffers around such a pointer must keep their distances",
                    id));
  }
  const Buffer before = buffer;
  buffer = Buffer();
  if (Result<void> bound = bind(program, binding); !bound) {
    buffer = before;
    return tl::unexpected<Error>(bound.error());
  }
  const auto number = [](const uint8_t* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const Move move{id,
                  size(id),
                  number(before.device),
                  number(buffer.device),
                  number(before.host),
                  number(buffer.host),
                  before.shares};
  addresses_.place(id, move.new_device, move.new_host);
  // Between runs no word in memory is known to lead to it and not to another one.
  if (!move.shared) GFXGRAPH_TRY(move_words(program, move));
  kept_of_.erase(id);
  Buffer old = before;
  release(old);
  return move;
}

// A word that work has overwritten with something else is left alone.
Result<void> Memory::move_words(const Program& program, const Move& move) const {
  std::vector<std::byte> bytes;
  for (const auto& [buffer, offsets] : pointers_to(program, move.allocation)) {
    if (shares(buffer)) continue;  // its content comes from runs
    for (size_t first = 0, next = 0; first < offsets.size(); first = next) {
      const uint64_t begin = offsets[first];
      if (!range_fits(begin, sizeof(uint64_t), size(buffer))) break;
      uint64_t end = begin;
      for (next = first; next < offsets.size() && offsets[next] - begin < kWindowBytes &&
                         range_fits(offsets[next], sizeof(uint64_t), size(buffer));
           ++next) {
        end = offsets[next] + sizeof(uint64_t);
      }
      bytes.resize(end - begin);
      GFXGRAPH_TRY(read(buffer, begin, bytes));
      bool changed = false;
      for (size_t i = first; i < next; ++i) {
        const uint64_t word = load_word(bytes, offsets[i] - begin);
        const uint64_t moved = move.moved(word);
        changed = changed || moved != word;
        store_word(bytes, offsets[i] - begin, moved);
      }
      if (changed) GFXGRAPH_TRY(write(buffer, begin, bytes));
    }
  }
  return {};
}

}  // namespace gfxgraph::replayer
