#include "recorder/events/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/hip_quirks.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {
namespace {

bool tells_host(const format::Action& action) {
  const auto* const copy = std::get_if<format::Copy>(&action);
  const auto* const set = std::get_if<format::Memset>(&action);
  return std::holds_alternative<format::Synchronize>(action) ||
         (copy != nullptr && !copy->asynchronous) || (set != nullptr && !set->asynchronous);
}

}  // namespace

// Events are in the order in which calls returned. For successive calls, in one thread or ordered
// by the program across threads, that is the order in which they were issued. The order of
// concurrent calls is unknown: a program whose result depends on it has a race.

void Events::append(format::Action action) {
  note_runs_if_any();
  push(std::move(action));
}

format::Event& Events::push(format::Action action) {
  auto event = std::make_unique<format::Event>();
  const uint64_t ticket = journal_.queue().draw();
  journal_.stamp(*event);
  event->action = std::move(action);
  event->site = journal_.sites().here(event->action);
  check(journal_.findings().look_at(event->action));
  note_targets(event->action);
  stream_used(event->action, ticket);
  program_waited(event->action);
  const bool tells = tells_host(event->action);
  const auto* const told = std::get_if<format::Synchronize>(&event->action);
  // Of a host function's end, the call that is under way may be another one.
  const bool own =
      tells && (told == nullptr || told->kind != format::SynchronizeKind::kHostFunction);
  const uint32_t issued = own ? std::exchange(issued_before_call_, UINT32_MAX) : UINT32_MAX;
  const std::vector<Flight> known = flights_.follow(event->action, issued);
  format::Event& pushed = *event;
  journal_.enqueue(ticket, std::move(event));
  if (tells) landing_.host_learns(!own);
  landing_.land(known);
  return pushed;
}

void Events::stream_used(format::StreamId stream, uint64_t ticket) {
  LaunchLane* const lane = journal_.lanes().mine();
  if (lane == nullptr) journal_.lanes().not_single();
  if (uses_.overlaps(stream, ticket, drawn_before_call_, thread_number(), lane, journal_.lanes())) {
    note_overlap();
  }
}

void Events::note_overlap() {
  finding_now(format::FindingKind::kNote, "threads",
              "gave work to one stream at the same time; its order is unknown, and recorded as the "
              "calls returned");
}

void Events::note_left_range(const char* call) {
  if (options_.in_process) return;  // a capture has only what joined it
  finding(format::FindingKind::kIncomplete, call,
          "a call of another thread was in progress when a recorded range ended");
}

void Events::stream_used(const format::Action& action, uint64_t ticket) {
  if (const auto* created = std::get_if<format::StreamCreate>(&action)) {
    const LaunchLanes::Alone alone(journal_.lanes());
    devices_.add(*created);
    uses_.add(created->id, (created->flags & order::kStreamNonBlocking) == 0,
              devices_.null_stream(created->id));
    return;
  }
  std::visit(
      [&]<typename T>(const T& one) {
        if constexpr (std::is_same_v<T, format::Launch> || std::is_same_v<T, format::Copy> ||
                      std::is_same_v<T, format::Memset> ||
                      std::is_same_v<T, format::HostFunction> ||
                      std::is_same_v<T, format::GraphLaunch> ||
                      std::is_same_v<T, format::EventRecord>) {
          stream_used(one.stream, ticket);
        } else if constexpr (std::is_same_v<T, format::StreamWait>) {
          const uint64_t before = uses_.last(one.stream);
          stream_used(one.stream, ticket);
          uses_.waits(one.stream, before);
        }
      },
      action);
}

// The host has waited for all work that was issued before this thread's call began.
void Events::program_waited(const format::Action& action) {
  const auto* wait = std::get_if<format::Synchronize>(&action);
  if (wait == nullptr) return;
  if (wait->kind == format::SynchronizeKind::kDevice) {
    if (waited_for_.size() <= wait->object) waited_for_.resize(wait->object + 1);
    uint64_t& until = waited_for_[wait->object];
    until = std::max(until, drawn_before_call_);
  } else if (wait->kind == format::SynchronizeKind::kStream ||
             wait->kind == format::SynchronizeKind::kStreamItself) {
    uint64_t& until = waited_for_stream_[wait->object];
    until = std::max(until, drawn_before_call_);
  }
}

bool Events::known_idle(format::StreamId stream) const {
  const auto waited = waited_for_stream_.find(stream);
  const uint64_t until = waited == waited_for_stream_.end() ? 0 : waited->second;
  const format::DeviceNumber device = devices_.device(stream);
  const uint64_t by_device = device < waited_for_.size() ? waited_for_[device] : 0;
  return uses_.unused_since(stream, std::max(until, by_device));
}

// The null stream
// is asked last: while others work, the question gives it a marker that waits for them (HIP 5.2.3),
// and what they are given later waits for that. A thread's own stream can be asked by that thread
// alone, and one that is captured not at all.
bool Events::streams_are_idle() {
  std::vector<void*> asked;
  for (const auto& [handle, id] : streams_.streams()) {
    if (known_idle(id)) continue;
    if (streams_.own(id)) return false;
    asked.push_back(const_cast<void*>(handle));
  }
  if (!known_idle(0)) asked.push_back(nullptr);
  if (asked.empty()) return true;
  return captures_.none() && device_.idle(asked);
}

format::SynchronizeKind Events::of_itself(format::StreamId stream) const {
  return uses_.before_null_stream(stream) ? format::SynchronizeKind::kStreamItself
                                          : format::SynchronizeKind::kStream;
}

format::Event& Events::append_work(Work& work) {
  work.appended = true;
  runs_.issued(work, next_host_function_);
  if (work.runs != 0) {
    const format::StreamId stream = stream_id(work.stream);
    if (auto* function = std::get_if<format::HostFunction>(&*work.action)) {
      runs_.deferred().defer_effect(work.first_run, function->stream);
      function->id = next_host_function_;
    } else if (auto* launch = std::get_if<format::GraphLaunch>(&*work.action)) {
      launch->first_host_function = next_host_function_;
    }
    runs_.deferred().run_beside(work, next_host_function_, flights_.beside(stream));
    next_host_function_ += work.runs;
    flights_.functions_follow(work.first_own, std::move(work.told_numbers));
  }
  format::Event& event = push(std::move(*work.action));
  // From the work: this may be another thread than that of the call.
  event.site = work.site;
  return event;
}

void Events::note_runs() {
  std::vector<uint64_t> later;
  for (const uint64_t token : runs_.take_ran()) {
    // The function ran before the call that issued it returned.
    if (Work* const work = runs_.issuing(token)) {
      // This work is not issued yet: another executable of the same graph ran the function.
      if (!work->action) {
        later.push_back(token);
        continue;
      }
      append_work(*work);
    }
    const format::HostFunctionId id = runs_.id_of(token);
    if (id == 0) continue;
    runs_.effects().telling(token);
    push(format::Synchronize{format::SynchronizeKind::kHostFunction, id, {}});
    runs_.told(token);
  }
  runs_.give_back_ran(later);
}

format::StreamId Events::stream_id(Handle stream) {
  if (const auto id = streams_.find(stream)) return *id;
  if (const format::DeviceNumber device = device_of_null_stream(stream)) {
    know_device(device);
    return *streams_.find(stream);
  }
  if (is_freed_stream_of_thread(stream) &&
      hip_quirk_seen(HipQuirk::kThreadKeepsFreedStream, facts_.runtime_version)) {
    finding(format::FindingKind::kIncomplete, "hipDeviceReset",
            "a thread uses hipStreamPerThread, which it used before: this runtime goes on with the "
            "stream that it has freed, so which work is in order is unknown");
  }
  const format::StreamCreate create = streams_.first_used(stream);
  know_stream(stream, create);
  return create.id;
}

void Events::know_device(format::DeviceNumber device) {
  if (std::ranges::find(known_devices_, device) != known_devices_.end()) return;
  if (device >= format::kMostDevices) {
    finding(format::FindingKind::kIncomplete, "hipSetDevice", "a trace has 64 devices at most");
    return;
  }
  const std::string arch = device_.use(device);
  if (!arch.empty() && arch != facts_.gpu_arch) {
    finding(format::FindingKind::kIncomplete, "hipSetDevice",
            fmt::format("device {} is a {}, device 0 a {}: only equal devices are recorded", device,
                        arch, facts_.gpu_arch));
  }
  format::Device known;
  known.number = device;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    known.null_stream = streams_.null_stream_made(null_stream(device));
    uses_.add(known.null_stream, true, known.null_stream);
  }
  devices_.add(known);
  flights_.add(known);
  known_devices_.push_back(device);
  check(journal_.writer().add(known));
}

void Events::append_devices_done(std::string_view call) {
  for (const format::DeviceNumber device : known_devices_)
    append(format::Synchronize{format::SynchronizeKind::kDevice, device, std::string(call)});
}

// The stream's event precedes all launches into the stream.
void Events::know_stream(Handle stream, const format::StreamCreate& create) {
  know_device(create.device);
  append(create);
  const LaunchLanes::Alone alone(journal_.lanes());
  streams_.know(stream, create.id);
}

void Events::forget_stream(Handle stream) {
  const LaunchLanes::Alone alone(journal_.lanes());
  streams_.forget(stream);
}

format::EventId Events::event_id(Handle event) {
  if (const auto id = streams_.find_event(event)) return *id;
  const format::EventCreate create = streams_.event_first_used(event);
  append(create);
  return create.id;
}

void Events::note_targets(const format::Action& action) {
  const auto note = [&](format::AllocationId id, const format::Content& content) {
    if (content.relocations.empty()) return;
    Allocation* allocation = allocations_.by_id(id);
    if (allocation == nullptr || !allocation->host_visible()) return;
    for (const format::Relocation& relocation : content.relocations) {
      allocation->points_to.insert(relocation.allocation);
    }
  };
  if (const auto* begin = std::get_if<format::AllocationBegin>(&action)) {
    note(begin->id, begin->initial);
  } else if (const auto* write = std::get_if<format::HostWrite>(&action)) {
    note(write->allocation, write->content);
  }
}

void Events::number_anew() {
  streams_.number_anew();
  waited_for_stream_.clear();
  known_devices_ = {0};
  next_host_function_ = 1;
}

}  // namespace gfxgraph::recorder
