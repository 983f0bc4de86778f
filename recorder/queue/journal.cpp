#include "recorder/queue/journal.h"

#include <utility>
#include <variant>

#include "recorder/recording_error.h"

namespace gfxgraph::recorder {

[[gnu::hot]] uint32_t thread_number() noexcept {
  static std::atomic<uint32_t> next{0};
  static thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void Journal::begin(std::unique_ptr<format::Writer> writer) {
  if (!writer_) {
    start_ns_ = monotonic_ns();
    queue_.reserve(start_ns_);
  }
  writer_ = std::move(writer);
  findings_.write_to(*writer_);
}

void Journal::stamp(format::Event& event) const noexcept {
  event.thread = thread_number();
  event.time_ns = now_ns();
}

void Journal::enqueue(uint64_t ticket, Pending item) {
  if (queue_.add(ticket, std::move(item)) % EventQueue::kSome == 0) flusher_.wake();
}

void Journal::append(std::unique_ptr<format::Graph> graph) {
  for (const format::GraphNode& node : graph->nodes) {
    if (const auto* copy = std::get_if<format::Copy>(&node.action)) check(findings_.look_at(*copy));
  }
  enqueue(queue_.draw(), std::move(graph));
}

void Journal::finding(format::FindingKind kind, std::string_view call, std::string_view detail) {
  check(findings_.add({kind, std::string(call), std::string(detail)}));
}

void Journal::finding_now(format::FindingKind kind, std::string_view call,
                          std::string_view detail) {
  check(findings_.add_now(kind, call, detail));
}

bool Journal::write_taken() {
  check(sites_.write(*writer_));
  return check(queue_.write(*writer_, refused_));
}

}  // namespace gfxgraph::recorder
