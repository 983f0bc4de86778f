// What is going to stand in the trace: events and findings on their way to the writer, with the
// numbers, times and call sites that they carry. Knows nothing of what they mean.
//
// The recorder's lock guards it, but for what says otherwise; the order's lock, which is taken
// first, guards what is handed to the writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace.h"
#include "format/write/writer.h"
#include "recorder/queue/event_queue.h"
#include "recorder/queue/findings.h"
#include "recorder/queue/flusher.h"
#include "recorder/sites/call_sites.h"

namespace gfxgraph::recorder {

// The calling thread, counted from 0.
uint32_t thread_number() noexcept;

class Journal {
 public:
  explicit Journal(bool redact) : sites_(redact) {}
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // From here on there is a file. Times count from the first one.
  void begin(std::unique_ptr<format::Writer> writer);
  bool begun() const noexcept { return writer_ != nullptr; }
  format::Writer& writer() noexcept { return *writer_; }
  const format::Writer& writer() const noexcept { return *writer_; }

  EventQueue& queue() noexcept { return queue_; }
  LaunchLanes& lanes() noexcept { return queue_.lanes(); }
  CallSites& sites() noexcept { return sites_; }
  Findings& findings() noexcept { return findings_; }
  Flusher& flusher() noexcept { return flusher_; }

  uint64_t now_ns() const noexcept { return monotonic_ns() - start_ns_; }
  // The thread and the time.
  void stamp(format::Event& event) const noexcept;
  // In the order of the tickets.
  void enqueue(uint64_t ticket, Pending item);
  void append(std::unique_ptr<format::Graph> graph);

  void finding(format::FindingKind kind, std::string_view call, std::string_view detail);
  // Also while others are held back.
  void finding_now(format::FindingKind kind, std::string_view call, std::string_view detail);

  // With the order's lock: what was taken from the queue is written, up to what must wait. True:
  // nothing is left.
  bool write_taken();
  // What the writer would not take.
  const std::vector<std::string>& refused() const noexcept { return refused_; }
  void forget_refused() noexcept { refused_.clear(); }

 private:
  std::unique_ptr<format::Writer> writer_;
  uint64_t start_ns_ = 0;
  EventQueue queue_;
  CallSites sites_;
  Findings findings_;
  std::vector<std::string> refused_;
  Flusher flusher_;
};

}  // namespace gfxgraph::recorder
