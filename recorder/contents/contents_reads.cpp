// Contents that are read behind the work of a stream, by copies of the recorder's own: nobody waits
// for them. Until they are there, nothing from their place on is handed to the writer.
#include <utility>

#include "recorder/contents/contents.h"
#include "recorder/contents/host_blocks.h"

namespace gfxgraph::recorder {

void Contents::end_allocation_later(Freeing&& freeing, format::StreamId stream) {
  if (!stretch_.whole()) freed_.insert(freeing.allocation->id);
  events_.note_runs_if_any();
  format::Event& event = events_.push(
      format::AllocationEnd{freeing.allocation->id, true, stream, std::move(freeing.post)});
  reads_.push_back({.read = std::move(freeing.last_state),
                    .words = std::move(freeing.words),
                    .item = &event,
                    .content = &std::get<format::AllocationEnd>(event.action).post,
                    .ended = freeing.allocation});
}

void Contents::take_read(DeferredRead& read) {
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
    if (saved.size() != now.size()) continue;  // note_lost_bytes() reports this
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
      events_.note_targets(event.action);
      i = end;
    }
  }
}

void Contents::resolve_reads(bool all) {
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

void Contents::block_reads(EventQueue& queue) const {
  for (const DeferredRead& read : reads_) queue.block(read.item);
}

}  // namespace gfxgraph::recorder
