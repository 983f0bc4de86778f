// Contents that are read behind the work of a stream, by copies of the recorder's own: nobody waits
// for them. Until they are there, nothing from their place on is handed to the writer.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

// What words lead to now: the program goes on, and may free memory and get its addresses again.
std::shared_ptr<const WordsThen> Recorder::words_now() {
  if (!words_then_ || words_then_->map.generation() != map_.generation() ||
      words_then_->words.generation() != words_.generation()) {
    words_then_ = std::make_shared<WordsThen>(map_, words_);
  }
  return words_then_;
}

void Recorder::end_allocation_later(Freeing&& freeing, format::StreamId stream) {
  if (any_ran_.load(std::memory_order_acquire)) note_runs();
  format::Event& event =
      push(format::AllocationEnd{freeing.allocation->id, true, stream, std::move(freeing.post)});
  reads_.push_back({.read = std::move(freeing.last_state),
                    .words = std::move(freeing.words),
                    .item = &event,
                    .content = &std::get<format::AllocationEnd>(event.action).post,
                    .ended = freeing.allocation});
}

// Nothing: the stream cannot be read. Else the blocks whose host writes stand before the reader's
// event, and hold what the stream's work finds there when it has come to it.
std::optional<std::set<uint64_t>> Recorder::read_doubted(Allocation& allocation,
                                                         uint64_t first_block, uint64_t last_block,
                                                         const Work& reader) {
  if (allocation.plain_host) return std::nullopt;
  std::vector<DeferredRead::Block> blocks;
  std::set<uint64_t> numbers;
  const auto end = allocation.saved_blocks.upper_bound(last_block);
  for (auto at = allocation.saved_blocks.lower_bound(first_block); at != end; ++at) {
    const auto& [block, saved] = *at;
    if (!in_doubt(allocation, block, block)) continue;
    numbers.insert(block);
    const uint64_t base = block * kHostBlockBytes;
    blocks.push_back(
        {base, 0, saved.bytes,
         flights_.over(allocation.id, base, base + kHostBlockBytes, stream_id(reader.stream))});
  }
  // Neighbours in one read; what lies between others may be large.
  for (size_t first = 0; first < blocks.size();) {
    size_t end_of_run = first + 1;
    while (end_of_run < blocks.size() &&
           blocks[end_of_run].offset_bytes ==
               blocks[end_of_run - 1].offset_bytes + blocks[end_of_run - 1].saved.size()) {
      ++end_of_run;
    }
    const auto run = std::span(blocks).subspan(first, end_of_run - first);
    if (!read_run(allocation, run, reader)) return std::nullopt;
    first = end_of_run;
  }
  if (!blocks.empty()) finding(format::FindingKind::kNote, "host memory", kInDoubt);
  return numbers;
}

// Blocks that lie one behind the other. False: the stream cannot be read.
bool Recorder::read_run(const Allocation& allocation, std::span<DeferredRead::Block> blocks,
                        const Work& reader) {
  const uint64_t begin = blocks.front().offset_bytes;
  for (DeferredRead::Block& block : blocks) block.place_bytes = block.offset_bytes - begin;
  const uint64_t size = blocks.back().place_bytes + blocks.back().saved.size();
  std::unique_ptr<StreamRead> read = device_->read_behind(const_cast<void*>(reader.stream),
                                                          allocation.address + begin, size, true);
  if (!read) return false;
  auto events = std::make_unique<std::vector<format::Event>>();
  journal_.stamp(events->emplace_back());
  reads_.push_back(
      {.read = std::move(read),
       .words = words_now(),
       .item = events.get(),
       .writes = events.get(),
       .allocation = allocation.id,
       .blocks = {std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end())}});
  journal_.enqueue(journal_.queue().draw(), std::move(events));
  return true;
}

void Recorder::take_read(DeferredRead& read) {
  const std::span<const std::byte> bytes = read.read->bytes();
  if (read.content != nullptr) {
    const Filling others = std::exchange(filling_, Filling::kLastState);
    *read.content = make_content(bytes, options_.post == PostState::kFull, read.words->words);
    filling_ = others;
    return;
  }
  const format::Event first = std::move(read.writes->front());
  read.writes->clear();
  for (const DeferredRead::Block& block : read.blocks) {
    const auto now = bytes.subspan(block.place_bytes, block.saved.size());
    const std::vector<std::byte> saved = block.saved.all();
    if (saved.size() != now.size()) continue;  // note_lost_bytes() says so
    std::vector<bool> written = changed_beside_copies(now, saved, block.offset_bytes, block.over);
    take_whole_pointers(now, read.words->words, written);
    for (size_t i = 0; i < now.size(); ++i) {
      size_t end = i;
      while (end < now.size() && written[end]) ++end;
      if (end == i) continue;
      format::HostWrite write;
      write.allocation = read.allocation;
      write.offset_bytes = block.offset_bytes + i;
      write.in_doubt = true;
      write.content = make_content(now.subspan(i, end - i), true, read.words->words);
      format::Event& event = read.writes->emplace_back(first);
      event.action = std::move(write);
      check(journal_.findings().look_at(event.action));
      note_targets(event.action);
      i = end;
    }
  }
}

// Takes what has come, up to the first that has not: nothing behind that can be written anyway.
// `all`: nothing more will come. With the lock; what it fills in is not looked at by who has
// drain_mutex_ alone, as it is blocked.
void Recorder::resolve_reads(bool all) {
  bool lost_writes = false;
  while (!reads_.empty()) {
    DeferredRead& read = reads_.front();
    const StreamState state = read.read->state();
    if (state == StreamState::kBusy && !all) break;
    if (state == StreamState::kIdle) {
      take_read(read);
    } else if (read.writes != nullptr) {
      read.writes->clear();
      lost_writes = true;
    } else {
      note_unread(*read.ended, "hipFreeAsync", Held::kLast);
    }
    reads_.pop_front();
  }
  if (lost_writes) {
    finding(format::FindingKind::kIncomplete, "host memory", kLostToReader);
  }
}

}  // namespace gfxgraph::recorder
