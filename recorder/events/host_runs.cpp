#include "recorder/events/host_runs.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kFunctionTimeoutMs = 500;

}  // namespace

Work::~Work() {
  if (issuing != nullptr && !appended) issuing->forget_runs(*this);
}

void HostRuns::wait_for_functions() {
  const uint64_t end = monotonic_ns() + uint64_t{kFunctionTimeoutMs} * 1'000'000u;
  while (monotonic_ns() < end) {
    {
      const std::lock_guard lock(mutex_);
      if (running_.empty()) return;
    }
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
  }
}

void HostRuns::will_run(Work& work, std::vector<std::shared_ptr<HostCall>> calls,
                        Handle executable) {
  if (calls.empty()) return;
  work.issuing = this;
  work.first_run = next_run_;
  work.runs = static_cast<uint32_t>(calls.size());
  work.host_calls = std::move(calls);
  next_run_ += work.runs;
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < work.runs; ++i) {
    issuing_[work.first_run + i] = &work;
    const std::shared_ptr<HostCall>& call = work.host_calls[i];
    if (!call) continue;
    deferred_.will_run(work.first_run + i);
    call->runs.push_back({work.first_run + i, executable, false});
  }
}

void HostRuns::in_graph(HostCall& call) {
  const std::lock_guard lock(mutex_);
  call.in_graph = true;
}

void HostRuns::forget_runs(Work& work) noexcept {
  guarded([&] {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < work.runs; ++i) {
      const uint64_t token = work.first_run + i;
      issuing_.erase(token);
      deferred_.forget(token);
      HostCall* call = work.host_calls[i].get();
      if (call == nullptr) continue;
      std::erase_if(call->runs, [&](const HostCall::Run& run) { return run.token == token; });
      if (call->runs.empty() && !call->in_graph) host_calls_.erase(call);
    }
  });
}

std::shared_ptr<HostCall> HostRuns::wrap_host_function(void* function, void* data,
                                                       bool in_graph) noexcept {
  std::shared_ptr<HostCall> wrapped;
  guard_.unlocked([&] {
    auto made = std::make_shared<HostCall>();
    made->function = function;
    made->data = data;
    made->in_graph = in_graph;
    const std::lock_guard lock(mutex_);
    host_calls_[made.get()] = made;
    wrapped = std::move(made);
  });
  return wrapped;
}

HostRuns::HostRun HostRuns::host_function_runs(HostCall& call) noexcept {
  HostRun result;
  const NoCancel own;
  try {
    const std::lock_guard lock(mutex_);
    const auto found = host_calls_.find(&call);
    if (found == host_calls_.end()) return result;
    result.keep = found->second;
    std::vector<HostCall::Run>& runs = call.runs;
    if (runs.empty()) {
      if (!call.in_graph) host_calls_.erase(found);
      return result;
    }
    result.token = runs.front().token;
    running_.insert(result.token);
    deferred_.began(result.token);
    effects_.begin(result.token);
    // Nodes of one executable run in order of its launches. Of several executables that were made
    // from one graph, any may be the one that runs: the host is taken to know of all of them.
    const bool one = std::all_of(runs.begin(), runs.end(), [&](const HostCall::Run& run) {
      return run.executable == runs.front().executable;
    });
    for (HostCall::Run& run : runs) {
      if (!run.told) ran_.push_back(run.token);
      run.told = true;
      if (one) break;
    }
    runs.erase(runs.begin());
    if (runs.empty() && !call.in_graph) host_calls_.erase(found);
    any_ran_.store(true, std::memory_order_release);
  } catch (const std::exception& caught) {
    guarded([&] { finding(format::FindingKind::kIncomplete, "host function", caught.what()); });
  }
  return result;
}

void HostRuns::host_function_ran(const HostRun& run) noexcept {
  if (run.token == 0) return;
  const NoCancel own;
  try {
    const std::lock_guard lock(mutex_);
    running_.erase(run.token);
    HostEffects::Effect effect = effects_.end(run.token);
    // Without a place in the trace they are seen as the program's own writes, later.
    if (deferred_.ended(run.token, effect.changes) && !effect.changes.empty()) {
      effects_.to_take(std::move(effect));
    }
    deferred_.fill_sources(run.token);
  } catch (const std::exception& caught) {
    guarded([&] { finding(format::FindingKind::kIncomplete, "host function", caught.what()); });
  }
}

std::vector<uint64_t> HostRuns::runs_to_come() {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> tokens(running_.begin(), running_.end());
  for (const auto& [call, kept] : host_calls_) {
    for (const HostCall::Run& run : kept->runs) tokens.push_back(run.token);
  }
  return tokens;
}

void HostRuns::defer(DeferredSource source) {
  const std::lock_guard lock(mutex_);
  // One that has run in the meantime has filled the memory by now.
  std::erase_if(source.runs, [&](uint64_t token) {
    return !running_.contains(token) &&
           std::none_of(host_calls_.begin(), host_calls_.end(), [&](const auto& entry) {
             return std::any_of(entry.second->runs.begin(), entry.second->runs.end(),
                                [&](const HostCall::Run& run) { return run.token == token; });
           });
  });
  deferred_.add(std::move(source));
}

std::vector<uint64_t> HostRuns::take_ran() {
  const std::lock_guard lock(mutex_);
  any_ran_.store(false, std::memory_order_relaxed);
  return std::exchange(ran_, {});
}

void HostRuns::give_back_ran(const std::vector<uint64_t>& tokens) {
  if (tokens.empty()) return;
  const std::lock_guard lock(mutex_);
  ran_.insert(ran_.begin(), tokens.begin(), tokens.end());
  any_ran_.store(true, std::memory_order_release);
}

Work* HostRuns::issuing(uint64_t token) const {
  const auto found = issuing_.find(token);
  return found == issuing_.end() ? nullptr : found->second;
}

void HostRuns::issued(const Work& work, format::HostFunctionId first) {
  for (uint32_t i = 0; i < work.runs; ++i) {
    ids_[work.first_run + i] = first + i;
    issuing_.erase(work.first_run + i);
  }
}

format::HostFunctionId HostRuns::id_of(uint64_t token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? 0 : found->second;
}

void HostRuns::told(uint64_t token) {
  ids_.erase(token);
  effects_.told(token);
}

void HostRuns::forget_trace() {
  ids_.clear();
  const std::lock_guard lock(mutex_);
  deferred_.forget_trace();
  effects_.forget_trace();
}

}  // namespace gfxgraph::recorder
