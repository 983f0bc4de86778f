// Replaces an allocation with the caller's memory during a session.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/checked.h"
#include "format/names.h"
#include "replayer/memory/memory.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kWindowBytes = 64 << 10;

// Where pointers to an allocation may be stored: buffer, offsets.
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

// Rejects a binding that overlaps another buffer, unless their recorded addresses overlapped as
// well (at different times). Host and device share one address space.
Result<void> check_apart(const Program& program, const Binding& binding, format::AllocationId other,
                         const void* place) {
  const AllocationInfo& mine = program.allocations()[binding.allocation - 1];
  const AllocationInfo& theirs = program.allocations()[other - 1];
  const auto overlap = [&](uint64_t one, uint64_t another) {
    return one < another ? another - one < mine.extent_bytes : one - another < theirs.extent_bytes;
  };
  if (place == nullptr || mine.extent_bytes == 0 || theirs.extent_bytes == 0 ||
      !overlap(reinterpret_cast<uint64_t>(binding.pointer), reinterpret_cast<uint64_t>(place)) ||
      overlap(mine.begin->recorded_address, theirs.begin->recorded_address)) {
    return {};
  }
  return fail(Status::kInvalidArgument,
              fmt::format("cannot bind {}: {} uses a part of this memory, and the recorded program "
                          "kept them apart; give each its own memory, or bind the other one "
                          "elsewhere first",
                          text_of(mine), text_of(theirs)));
}

Result<void> Memory::check_apart_from_all(const Program& program, const Binding& binding) const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (id == binding.allocation || !buffers_[i].used) continue;
    if (buffers_[i].live && !is_there(id)) continue;  // the memory may be another one by now
    for (const void* const place : {buffers_[i].device, buffers_[i].host})
      GFXGRAPH_TRY(check_apart(program, binding, id, place));
  }
  return {};
}

// Rewrites the words in memory that point to an allocation when it moves. The destructor restores
// them, unless keep() was called.
class MovedWords {
 public:
  MovedWords(const Memory& memory, const Program& program, const Move& move)
      : memory_(memory), move_(move) {
    // It shares memory: between runs no word is known to point to it and not to another allocation.
    // In place no word is rewritten: check_live_words() has found none, and the others come from
    // what the step's own copies and writes bring.
    if (!move.shared && memory.live_ == nullptr) places_ = pointers_to(program, move.allocation);
    if (!places_.empty()) bytes_.reserve(kWindowBytes + sizeof(uint64_t));
  }
  ~MovedWords() {
    if (!pending_) return;
    Move back = move_;
    std::swap(back.old_device, back.new_device);
    std::swap(back.old_host, back.new_host);
    for (const auto& [buffer, offsets] : places_) {
      try {
        (void)rewrite(buffer, offsets, back);
      } catch (...) {  // out of memory for an error's text
        memory_.library_->table().hipGetLastError();
      }
    }
  }
  MovedWords(const MovedWords&) = delete;
  MovedWords& operator=(const MovedWords&) = delete;

  Result<void> move() {
    pending_ = true;
    for (const auto& [buffer, offsets] : places_) GFXGRAPH_TRY(rewrite(buffer, offsets, move_));
    return {};
  }
  void keep() { pending_ = false; }

 private:
  // Skips words that work has overwritten since. Does not allocate.
  Result<void> rewrite(format::AllocationId buffer, const std::vector<uint64_t>& offsets,
                       const Move& move) {
    if (memory_.shares(buffer)) return {};  // its content comes from runs
    const uint64_t size = memory_.size(buffer);
    for (size_t first = 0, next = 0; first < offsets.size(); first = next) {
      const uint64_t begin = offsets[first];
      if (!range_fits(begin, sizeof(uint64_t), size)) break;
      uint64_t end = begin;
      for (next = first; next < offsets.size() && offsets[next] - begin < kWindowBytes &&
                         range_fits(offsets[next], sizeof(uint64_t), size);
           ++next) {
        end = offsets[next] + sizeof(uint64_t);
      }
      bytes_.resize(end - begin);
      GFXGRAPH_TRY(memory_.read(buffer, begin, bytes_));
      bool changed = false;
      for (size_t i = first; i < next; ++i) {
        const uint64_t word = load_word(bytes_, offsets[i] - begin);
        const uint64_t moved = move.moved(word);
        changed = changed || moved != word;
        store_word(bytes_, offsets[i] - begin, moved);
      }
      if (changed) GFXGRAPH_TRY(memory_.write(buffer, begin, bytes_));
    }
    return {};
  }

  const Memory& memory_;
  Move move_;
  Places places_;
  std::vector<std::byte> bytes_;
  bool pending_ = false;
};

Result<Move> Memory::bind_anew(const Program& program, const Binding& binding) {
  GFXGRAPH_TRY(check_binding(program, binding));
  const format::AllocationId id = binding.allocation;
  const AllocationInfo& mine = program.allocations()[id - 1];
  const Buffer before = buffers_[id - 1];
  if (before.in_group) {
    return fail(
        Status::kUnsupported,
        fmt::format("cannot bind {}: a kernel is passed a pointer beside it, and buffers around "
                    "such a pointer must keep their distances",
                    text_of(mine)));
  }
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || !info.begin->object || info.begin->object->allocation != id)
      continue;
    return fail(Status::kUnsupported,
                fmt::format("cannot bind {}: {} {} uses it; bind it when the session is created",
                            text_of(mine), name_of(info.begin->kind).key, info.begin->id));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const Buffer bound, bind(program, binding));
  const auto number = [](const uint8_t* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const Move move{id,
                  size(id),
                  number(before.device),
                  number(bound.device),
                  number(before.host),
                  number(bound.host),
                  before.shares};
  {
    // After the words, because the buffer itself may contain some of them.
    struct Place {
      Memory& memory;
      format::AllocationId id;
      const Buffer& before;
      bool kept = false;
      ~Place() {
        if (!kept) memory.put_in_place(id, before);
      }
    } place{*this, id, before};
    put_in_place(id, bound);
    MovedWords words(*this, program, move);
    GFXGRAPH_TRY(words.move());
    words.keep();
    place.kept = true;
  }
  kept_of_.erase(id);
  Buffer old = before;
  release(old);
  return move;
}

void Memory::put_in_place(format::AllocationId id, const Buffer& buffer) noexcept {
  buffers_[id - 1] = buffer;
  addresses_.place(id, reinterpret_cast<uint64_t>(buffer.device),
                   reinterpret_cast<uint64_t>(buffer.host));
}

}  // namespace gfxgraph::replayer
