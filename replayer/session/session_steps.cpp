#include "replayer/session/session_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfxgraph::replayer {
namespace {

bool same_bytes(const format::Content& one, const format::Content& other) {
  if (one.size_bytes != other.size_bytes) return false;
  if (one.hash && other.hash) return one.hash == other.hash;
  return one.stored && other.stored && one.blob == other.blob && one.fill == other.fill;
}

bool may_have_changed(const AllocationInfo& info) {
  return info.begin == nullptr || info.end == nullptr || info.begin->initial.unwritten ||
         !same_bytes(info.begin->initial, info.end->post);
}

// The buffers that words in each buffer point to; index = id - 1.
std::vector<std::vector<format::AllocationId>> links(const Program& program) {
  std::vector<std::vector<format::AllocationId>> all(program.allocations().size());
  const auto add = [&](format::AllocationId buffer, const format::Content& content) {
    if (buffer == 0) return;
    for (const format::Relocation& word : content.relocations) {
      std::vector<format::AllocationId>& known = all[buffer - 1];
      if (known.empty() || known.back() != word.allocation) known.push_back(word.allocation);
    }
  };
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr) continue;
    add(info.begin->id, info.begin->initial);
    if (info.end != nullptr) add(info.begin->id, info.end->post);
  }
  for (const Operation& operation : program.operations()) {
    if (operation.kind == OperationKind::kCopy)
      add(operation.copy->destination.allocation, operation.copy->host_source);
  }
  for (const format::HostWrite* write : program.host_writes())
    add(write->allocation, write->content);
  return all;
}

}  // namespace

[[gnu::cold]] UsedBuffers find_used_buffers(const Program& program) {
  const size_t count = program.allocations().size();
  UsedBuffers result{std::vector<bool>(count), std::vector<bool>(count)};
  std::vector<bool> reached(count);
  std::vector<format::AllocationId> next;
  const auto reach = [&](format::AllocationId id) {
    if (reached[id - 1]) return;
    reached[id - 1] = true;
    next.push_back(id);
  };
  const auto use = [&](format::AllocationId id, bool writes) {
    if (id == 0) return;
    result.used[id - 1] = true;
    if (writes) result.written[id - 1] = true;
  };
  for (const Operation& operation : program.operations()) {
    switch (operation.kind) {
      case OperationKind::kLaunch:
        for (const format::Relocation& word : operation.launch->relocations) reach(word.allocation);
        break;
      case OperationKind::kCopy:
        use(operation.copy->source.allocation, false);
        use(operation.copy->destination.allocation, true);
        break;
      case OperationKind::kMemset: use(operation.memset->allocation, true); break;
    }
  }
  for (const format::HostWrite* write : program.host_writes()) use(write->allocation, true);
  // Kernels can access module variables without an argument.
  if (program.launch_count() != 0) {
    for (const AllocationInfo& info : program.allocations()) {
      if (info.begin != nullptr && info.begin->kind == format::AllocationKind::kModuleGlobal)
        reach(info.begin->id);
    }
  }
  const auto all_links = links(program);
  while (!next.empty()) {
    const format::AllocationId id = next.back();
    next.pop_back();
    use(id, may_have_changed(program.allocations()[id - 1]));
    for (const format::AllocationId target : all_links[id - 1]) reach(target);
  }
  return result;
}

bool SessionStep::conflicts_with(const SessionStep& other) const {
  return std::ranges::find(conflicts_, &other, &Conflict::other) != conflicts_.end();
}

Result<void> SessionStep::begin_run(hip::Stream stream, std::span<SessionStep* const> together) {
  if (conflicts_.empty()) {
    flight_stream_.store(stream, std::memory_order_relaxed);
    flight_.store(Flight::kSubmitting, std::memory_order_release);
    return {};
  }
  // Each step registers before it checks for others, so of two that begin at the same time at least
  // one detects the other.
  struct Begun {
    std::atomic<Flight>& flight;
    Flight before = flight.exchange(Flight::kSubmitting);
    bool submits = false;
    ~Begun() {  // also if memory for an error's text runs out
      if (!submits) flight.store(before);
    }
  } begun{flight_};
  GFXGRAPH_TRY(check_conflicts(stream, together));
  flight_stream_.store(stream, std::memory_order_relaxed);
  begun.submits = true;
  return {};
}

Result<void> SessionStep::check_conflicts(hip::Stream stream,
                                          std::span<SessionStep* const> together) const {
  for (const Conflict& conflict : conflicts_) {
    const SessionStep& other = *conflict.other;
    const Flight flight = other.flight_.load();
    if (flight == Flight::kNone) continue;
    if (flight == Flight::kSubmitting &&
        std::ranges::find(together, conflict.other) != together.end())
      continue;
    if (flight == Flight::kSubmitted) {
      const hip::Stream theirs = other.flight_stream_.load(std::memory_order_relaxed);
      if (theirs == stream && other.holds_its_stream()) continue;
      GFXGRAPH_ASSIGN_OR_RETURN(const bool idle, other.is_idle(theirs));
      if (idle) continue;
    }
    const AllocationInfo& info = used_program().allocations()[conflict.buffer];
    return fail(
        Status::kUnsupported,
        fmt::format("another step is {}, and one of the two writes buffer {}{}, which both use: "
                    "nothing was submitted; wait for it, run both on one stream, or order them "
                    "yourself (concurrent_steps)",
                    flight == Flight::kSubmitted ? "in flight on another stream"
                                                 : "being run by another thread",
                    conflict.buffer + 1, info.name.empty() ? "" : fmt::format(" ({})", info.name)));
  }
  return {};
}

[[gnu::cold]] void SessionSteps::enter(SessionStep& step, bool concurrent) {
  const auto buffers = [](SessionStep& one) -> const UsedBuffers& {
    if (!one.buffers_) one.buffers_ = find_used_buffers(one.used_program());
    return *one.buffers_;
  };
  for (SessionStep* const other : steps_) {
    if (concurrent) break;
    const UsedBuffers& a = buffers(step);
    const UsedBuffers& b = buffers(*other);
    for (size_t i = 0; i < a.used.size(); ++i) {
      if (!(a.used[i] && b.written[i]) && !(a.written[i] && b.used[i])) continue;
      step.conflicts_.push_back({other, i});
      other->conflicts_.push_back({&step, i});
      break;
    }
  }
  steps_.push_back(&step);
}

void SessionSteps::leave(SessionStep& step) noexcept {
  std::erase(steps_, &step);
  for (SessionStep* const other : steps_) {
    std::erase_if(other->conflicts_,
                  [&](const SessionStep::Conflict& conflict) { return conflict.other == &step; });
  }
}

Result<void> SessionSteps::begin_together(std::span<SessionStep* const> steps, hip::Stream stream) {
  for (size_t i = 0; i < steps.size(); ++i) {
    Result<void> begun = steps[i]->begin_run(stream, steps);
    if (begun) continue;
    end_together(steps.first(i));
    return begun;
  }
  return {};
}

void SessionSteps::end_together(std::span<SessionStep* const> steps) noexcept {
  for (SessionStep* const step : steps) step->end_run();
}

Result<void> SessionSteps::wait() const {
  for (SessionStep* const step : steps_) GFXGRAPH_TRY(step->wait());
  return {};
}

}  // namespace gfxgraph::replayer
