#include "recorder/memory/late_reads.h"

#include <algorithm>
#include <utility>

#include "recorder/memory/contents.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

// `stream`: of `by`; none: it is the host.
void LateReads::overtake(DeferredRead& read, const Flight& by, std::optional<Handle> stream) {
  using Overtaking = DeferredRead::Block::Overtaking;
  const Allocation* const allocation = allocations_.living(read.allocation);
  if (allocation == nullptr) return;
  for (DeferredRead::Block& block : read.blocks) {
    const uint64_t begin = block.offset_bytes;
    const uint64_t size = block.saved.size();
    if (by.begin >= begin + size || by.end <= begin) continue;
    const auto includes = [&](const Overtaking& one) {
      if (one.by.kernel || by.kernel) return one.by.kernel && by.kernel;
      return one.by.row_bytes == 0 && one.by.begin <= by.begin && by.end <= one.by.end;
    };
    if (std::ranges::any_of(block.overtaking, includes)) continue;
    const auto now = host_block(*allocation, begin / kHostBlockBytes);
    if (!now) continue;
    Overtaking& one = block.overtaking.emplace_back(by, store_.keep(*now));
    if (!by.kernel && stream && DeviceStreams::device_of(*stream) == 0 &&
        !allocation->unregisters())
      one.read =
          device_.read_behind(const_cast<void*>(*stream), allocation->address + begin, size, true);
  }
}

void LateReads::may_overtake(std::span<const Flight> by, bool anything,
                             std::optional<Handle> stream) {
  for (DeferredRead& read : reads_) {
    if (read.number == 0 || read.arrived) continue;
    const auto concerns = [&](const Flight& one) {
      return one.allocation == read.allocation && (!one.kernel || one.named);
    };
    if (!anything && std::ranges::none_of(by, concerns)) continue;
    if (stream ? flights_.follows_read(events_.stream_id(*stream), read.number)
               : flights_.host_follows_read(read.number)) {
      continue;
    }
    read.arrived = read.read->state() != StreamState::kBusy;
    if (read.arrived) continue;
    if (anything) {
      const Flight whole{.allocation = read.allocation, .end = UINT64_MAX, .kernel = true};
      overtake(read, whole, stream);
      continue;
    }
    for (const Flight& one : by)
      if (concerns(one)) overtake(read, one, stream);
  }
}

namespace {

// Undoes in `now` what others wrote that overtook the read. Returns false if it is not known what a
// byte held before.
bool undo_overtaking(const DeferredRead::Block& block, std::span<const std::byte> saved,
                     std::vector<std::byte>& now) {
  using Overtaking = DeferredRead::Block::Overtaking;
  const auto kernel =
      std::ranges::find_if(block.overtaking, [](const Overtaking& one) { return one.by.kernel; });
  // From here on: when it was issued.
  const std::vector<std::byte> then =
      kernel == block.overtaking.end() ? std::vector<std::byte>() : kernel->found.all();
  bool known = true;
  // Takes what the byte held before the other, if that is certain.
  const auto held_before = [&](size_t i, std::byte before, std::byte found) {
    if (found == before || found == saved[i]) {
      now[i] = found;  // or unchanged then, so not what was in doubt before
    } else {
      known = false;  // an earlier kernel or the other wrote it
    }
  };
  std::vector<bool> done(now.size());
  for (auto at = block.overtaking.begin(); at != block.overtaking.end(); ++at) {
    if (at->by.kernel) continue;
    const std::vector<std::byte> found = at->found.all();
    const bool read = at->read != nullptr && at->read->state() == StreamState::kIdle;
    for (size_t i = 0; i < std::min(now.size(), found.size()); ++i) {
      if (done[i] || !at->by.writes(block.offset_bytes + i)) continue;
      done[i] = true;
      // Nothing but the copy writes the byte while it may run: it is as the copy found it, or as an
      // overtaking kernel before the copy did.
      const std::byte before = read ? at->read->bytes()[i] : now[i];
      if (read) now[i] = before;
      if (i < then.size() && kernel < at) {
        held_before(i, before, then[i]);
      } else if (!read) {
        held_before(i, before, found[i]);
      }
    }
  }
  for (size_t i = 0; i < std::min(now.size(), then.size()); ++i)
    if (!done[i]) held_before(i, now[i], then[i]);
  return known;
}

StreamState state_of(const DeferredRead& read) {
  const StreamState state = read.read->state();
  if (state != StreamState::kIdle) return state;
  for (const DeferredRead::Block& block : read.blocks)
    for (const DeferredRead::Block::Overtaking& one : block.overtaking)
      if (one.read != nullptr && one.read->state() == StreamState::kBusy) return StreamState::kBusy;
  return state;
}

}  // namespace

bool LateReads::reads(format::AllocationId allocation) const {
  return std::ranges::any_of(reads_, [&](const DeferredRead& one) {
    return one.allocation == allocation && one.read->state() == StreamState::kBusy;
  });
}

bool LateReads::is_being_read(format::AllocationId allocation, uint64_t block_offset) const {
  return std::ranges::any_of(reads_, [&](const DeferredRead& read) {
    return read.allocation == allocation &&
           std::ranges::any_of(read.blocks, [&](const DeferredRead::Block& block) {
             return block.offset_bytes == block_offset && !block.superseded;
           });
  });
}

void LateReads::supersede(format::AllocationId allocation, uint64_t block_offset) {
  for (DeferredRead& read : reads_) {
    if (read.allocation != allocation) continue;
    for (DeferredRead::Block& block : read.blocks)
      if (block.offset_bytes == block_offset) block.superseded = true;
  }
}

// The trace's state of the block has these bytes, for later reads and host writes to compare with.
void LateReads::told(const DeferredRead& read, const DeferredRead::Block& block,
                     std::span<const std::byte> bytes, const std::vector<bool>& written) {
  if (std::ranges::find(written, true) == written.end()) return;
  const auto apply = [&](const KeptBytes& saved) {
    std::vector<std::byte> state = saved.all();
    for (size_t i = 0; i < std::min(state.size(), bytes.size()); ++i)
      if (written[i]) state[i] = bytes[i];
    return store_.keep_hashed(state);
  };
  for (DeferredRead& later : reads_) {
    if (&later == &read || later.allocation != read.allocation) continue;
    for (DeferredRead::Block& one : later.blocks) {
      if (one.offset_bytes == block.offset_bytes && one.superseded == block.superseded)
        one.saved = apply(one.saved).bytes;
    }
  }
  Allocation* const allocation = allocations_.by_id(read.allocation);
  if (allocation == nullptr || block.superseded) return;
  const uint64_t number = block.offset_bytes / kHostBlockBytes;
  const HashedBytes* const saved = allocation->blocks.saved(number);
  if (saved != nullptr) allocation->blocks.save(number, apply(saved->bytes));
}

// Returns false if a part of what was read is not known.
bool LateReads::take_read(DeferredRead& read) {
  const std::span<const std::byte> bytes = read.read->bytes();
  if (read.content != nullptr) {
    const Filling others = traced_.filling(Filling::kLastState);
    *read.content =
        contents_.make_content(bytes, options_.post == PostState::kFull, read.words->words);
    traced_.filling(others);
    return true;
  }
  bool known = true;
  const format::Event first = std::move(read.writes->front());
  read.writes->clear();
  for (const DeferredRead::Block& block : read.blocks) {
    const auto found = bytes.subspan(block.place_bytes, block.saved.size());
    std::vector<std::byte> changed(found.begin(), found.end());
    const std::span<const std::byte> now = changed;
    const std::vector<std::byte> saved = block.saved.all();
    if (saved.size() != now.size()) continue;  // note_lost_bytes() reports this
    known = undo_overtaking(block, saved, changed) && known;
    std::vector<bool> written = changed_beside_copies(now, saved, block.offset_bytes, block.over);
    take_whole_pointers(now, read.words->words, written);
    told(read, block, now, written);
    each_run(written, [&](size_t begin, size_t size) {
      format::HostWrite write;
      write.allocation = read.allocation;
      write.offset_bytes = block.offset_bytes + begin;
      write.in_doubt = true;
      write.content = contents_.make_content(now.subspan(begin, size), true, read.words->words);
      format::Event& event = read.writes->emplace_back(first);
      event.action = std::move(write);
      check(journal_.findings().look_at(event.action));
      events_.note_targets(event.action);
    });
  }
  return known;
}

void LateReads::resolve(bool all) {
  bool lost_writes = false;
  while (!reads_.empty()) {
    DeferredRead& read = reads_.front();
    if (state_of(read) == StreamState::kBusy && !all) break;
    if (read.read->state() == StreamState::kIdle) {
      if (!take_read(read)) lost_writes = true;
    } else if (read.writes != nullptr) {
      read.writes->clear();
      lost_writes = true;
    } else {
      contents_.note_unread(*read.ended, "hipFreeAsync", Contents::Held::kLast);
    }
    if (read.number != 0) flights_.forget_read(read.number);
    reads_.pop_front();
  }
  if (lost_writes) {
    finding(format::FindingKind::kIncomplete, "host memory", kLostToReader);
  }
}

void LateReads::hold_back(EventQueue& queue) const {
  for (const DeferredRead& read : reads_) queue.block(read.item);
}

}  // namespace gfxgraph::recorder
