#include "program.h"

#include <cstdio>
#include <fstream>

#include "../../include/gfxgraph/record.h"
#include "side_threads.h"

namespace random_programs {

Program::Program(const Options& options)
    : options_(options), device_(options.list, options.code_object) {
  slots_.fill(-1);
  array_slots_.fill(-1);
  object_slots_.fill(-1);
  order_.streams.resize(2);
  order_.streams[kNullStream].null = true;
  streams_[0] = {true, kNullStream};
  streams_[kOwnStream] = {on(Feature::per_thread), kOwnStream};
}

bool Program::dropped(int action, int part) const {
  return options_.drop.count(part < 0 ? std::to_string(action) : text("%d.%d", action, part)) != 0;
}

void Program::say(const std::string& line) {
  lines_.push_back(text("%3d ", now_) + line);
  if (options_.list) std::printf("%s\n", lines_.back().c_str());
}

std::string Program::stream_name(int number) const {
  const bool other = device_of(number) != 0;
  return number == kNullStream ? "null stream"
         : order_.streams[static_cast<size_t>(number)].null
             ? text("null stream of device %d", device_of(number))
         : other                ? text("stream %d of device %d", number, device_of(number))
         : number == kOwnStream ? "own stream"
                                : text("stream %d", number);
}

int Program::stream_index(int number) const {
  for (int i = 0; i < kAllStreams; ++i) {
    if (streams_[i].live && streams_[i].number == number) return i;
  }
  return -1;
}

// ---- order
// ---------------------------------------------------------------------------------------

void Program::sync_device() {
  for (int device = devices_ - 1; device >= 0; --device) {
    use_device(device);
    say("hipDeviceSynchronize");
    device_.wait_device();
  }
  order_.host_knows_all();
}

void Program::sync_stream(int stream, Waiting how) {
  enter(stream);
  say(text("%s %s", how == Waiting::kSynchronize ? "synchronise" : "query until done",
           stream_name(stream).c_str()));
  device_.wait_stream(stream, how);
  OpSet known = order_.streams[stream].work;
  known.merge(order_.streams[stream].waits);
  host_knows(known);
}

void Program::record_event(int event, int stream) {
  Event& target = events_[event];
  enter(stream);
  // An event is its device's.
  if (target.live && target.device != device_of(stream)) {
    say(text("destroy event %d", event));
    device_.destroy_event(event);
    target = {};
  }
  if (!target.live) {
    use_device(device_of(stream));
    target.device = current_;
    target.timed = on(Feature::queries);
    say(text("create event %d", event));
    device_.create_event(event, target.timed ? hipEventDefault : hipEventDisableTiming);
    target.live = true;
  }
  say(text("record event %d on %s", event, stream_name(stream).c_str()));
  device_.record(event, stream);
  target.snapshot = order_.streams[stream].work;
  target.snapshot.merge(order_.streams[stream].waits);
  target.recorded = true;
}

// Lets the host wait until an operation is complete, in one of many ways.
void Program::host_waits_for(int op, Rng& rng) {
  const int stream = order_.stream_of(op);
  if (stream_index(stream) < 0) return sync_device();
  switch (rng.below(10)) {
    case 0:
    case 1: return sync_stream(stream, Waiting::kSynchronize);
    case 2:
      if (!on(Feature::queries)) break;
      return sync_stream(stream, Waiting::kQuery);
    case 3:
    case 4: {
      const int event = static_cast<int>(rng.below(kEvents));
      record_event(event, stream);
      const bool query = on(Feature::queries) && rng.chance(50);
      say(text("%s event %d", query ? "query until done" : "synchronise", event));
      device_.wait_event(event, query ? Waiting::kQuery : Waiting::kSynchronize);
      return host_knows(events_[event].snapshot);
    }
    case 5: {
      if (!on(Feature::queries)) break;
      record_event(0, stream);
      record_event(1, stream);
      if (!events_[0].timed || !events_[1].timed) break;
      say("elapsed time of events 0 and 1, until it is known");
      device_.elapsed(0, 1);
      return host_knows(events_[1].snapshot);
    }
    case 6:
      if (!on(Feature::callbacks)) break;
      enter(stream);
      say(text("callback on %s sets a flag, the host waits for it", stream_name(stream).c_str()));
      device_.callback_and_wait(stream);
      return host_knows(order_.streams[stream].work);
    case 7: {
      if (!on(Feature::implicit)) break;
      const bool host_memory = rng.chance(30);
      use_device(device_of(stream));
      say(text("%s of other memory", host_memory ? "hipHostFree" : "hipFree"));
      device_.free_something(host_memory);
      return order_.host_knows_device(current_);
    }
    case 8: {
      // A copy to pageable memory, which returns when it is done.
      if (!on(Feature::implicit)) break;
      Work copy;
      copy.kind = WorkKind::kCopy;
      copy.to.ref = {scratch_, 0};
      copy.from.ref = {probe_, 0};
      copy.shape.width = 64;
      copy.api = static_cast<uint32_t>(CopyApi::kAsync);
      enter(stream);
      OpSet before = order_.before(stream);
      say(text("%s, for its wait, on %s", work_text(copy, memory_).c_str(),
               stream_name(stream).c_str()));
      device_.submit(copy, memory_, stream);
      Accesses accesses = static_accesses(copy, memory_);
      before.add(order_.issue(stream, before));
      apply(copy, memory_);
      host_knows(before);
      return memory_.used(order_.count() - 1, accesses);
    }
    default: break;
  }
  sync_device();
}

bool Program::settle_once(int stream, int op, Rng& rng) {
  const int from = order_.stream_of(op);
  if (stream == kHost || stream_index(from) < 0 || rng.chance(40)) {
    host_waits_for(op, rng);
    return true;
  }
  const int event = static_cast<int>(rng.below(kEvents));
  record_event(event, from);
  enter(stream);
  say(text("%s waits for event %d", stream_name(stream).c_str(), event));
  device_.stream_wait(stream, event);
  order_.streams[stream].waits.merge(events_[event].snapshot);
  return true;
}

// Orders what conflicts before the accesses of a stream's next operation, or of the host.
void Program::settle(int stream, const Accesses& accesses, Rng& rng) {
  for (int attempt = 0;; ++attempt) {
    const OpSet before = stream == kHost ? order_.host : order_.before(stream);
    int op = -1;
    for (const Access& access : accesses) {
      op = memory_.conflict(access, before);
      if (op >= 0) break;
    }
    if (op < 0) return;
    if (attempt < 8)
      settle_once(stream, op, rng);
    else
      sync_device();
  }
}

// The stream that it can be given to.
int Program::stream_of(const Work& work, int stream) const {
  const int device = required_device(work);
  if (on_null_stream(work)) return null_of(device < 0 ? current_ : device);
  if (device >= 0 && device_of(stream) != device) return null_of(device);
  // HIP 5.2.3 takes hipStreamPerThread for a pointer in hipModuleLaunchKernel.
  return stream == kOwnStream && work.module >= 0 ? kNullStream : stream;
}

// Gives work to a stream. False: it would not be legal.
bool Program::issue(int stream, Work work, Rng& rng) {
  if (on_null_stream(work) && required_device(work) >= 0) use_device(required_device(work));
  stream = stream_of(work, stream);
  work.device = device_of(stream);
  Accesses accesses;
  define_inputs(work, rng);
  if (!accesses_of(work, memory_, accesses)) return false;
  settle(stream, accesses, rng);
  enter(stream);
  if (work.kind == WorkKind::kKernel || required_device(work) >= 0) use_device(work.device);
  say(work_text(work, memory_) + " on " + stream_name(stream).c_str());
  OpSet before = order_.before(stream);
  device_.submit(work, memory_, stream);
  const int op = order_.issue(stream, before);
  memory_.used(op, accesses);
  apply(work, memory_);
  if (work.kind != WorkKind::kCopy) return true;
  // A copy that waits, and the copy to pageable memory that returns when it is done.
  const bool host_source = host_side(memory_.at(work.from.ref.region).kind);
  const bool host_target = host_side(memory_.at(work.to.ref.region).kind);
  const bool waits =
      (on_null_stream(work) || static_cast<CopyApi>(work.api) == CopyApi::kWithStream) &&
      (host_source || host_target);
  const bool implicit = on(Feature::implicit) && host_target && work.shape.height == 1 &&
                        work.shape.depth == 1 &&
                        memory_.at(work.to.ref.region).kind == Kind::kPageable;
  if (waits || implicit) {
    before.add(op);
    host_knows(before);
  }
  return true;
}

// ---- the program
// ---------------------------------------------------------------------------------

void Program::begin() {
  Rng rng(options_.seed, 1ull << 40);
  now_ = -1;
  if (on(Feature::devices)) open_devices();
  Region& scratch = memory_.add(Kind::kPageable, 64);
  device_.allocate(scratch, 0);
  scratch_ = scratch.id;
  Region& probe = memory_.add(Kind::kDevice, 64);
  device_.allocate(probe, 0);
  probe_ = probe.id;
  Region& end = memory_.add(Kind::kDevice, 64);
  device_.allocate(end, 0);
  end_ = end.id;
  Work set;
  set.kind = WorkKind::kSet;
  set.to.ref = {probe_, 0};
  set.shape.width = 64;
  set.value = 0x11;
  set.api = static_cast<uint32_t>(SetApi::kSync);
  issue(kNullStream, set, rng);
  sync_device();
  for (int device = 0; device < devices_ && on(Feature::globals); ++device) {
    use_device(device);
    add_globals(-1);
  }
  use_device(0);
}

uint64_t Program::run() {
  if (on(Feature::host_addresses)) device_.use_host_addresses();
  begin();
  SideThreads sides;
  if (on(Feature::threads) && !device_.dry())
    sides.start(options_.seed, 2, !on(Feature::handles), on(Feature::cancels));
  // A range of the program, which can be recorded alone.
  Rng cut(options_.seed, 3ull << 40);
  const int first = static_cast<int>(cut.below(static_cast<uint32_t>(options_.size)));
  const int last = first + static_cast<int>(cut.below(static_cast<uint32_t>(options_.size)));
  for (now_ = 0; now_ < options_.size; ++now_) {
    if (now_ == first) gfxgraph_range_begin("cut");
    if (!dropped(now_)) action(now_);
    if (options_.names) name_memory();
    if (now_ == last) gfxgraph_range_end("cut");
    if (now_ == last && options_.ends) break;
  }
  if (options_.names && first < options_.size && last >= options_.size) gfxgraph_range_end("cut");
  sides.finish();
  const uint64_t hash = finish();
  for (int i = 0; i < memory_.count() && !options_.dump.empty(); ++i) {
    if (memory_.at(i).live && memory_.at(i).kind != Kind::kPageable && !memory_.at(i).is_image())
      dump(memory_.at(i));
  }
  return hash;
}

// Of what has none yet.
void Program::name_memory() {
  for (; named_ < memory_.count(); ++named_) {
    const Region& region = memory_.at(named_);
    if (device_.dry() || !region.live || region.kind == Kind::kPageable || region.is_image())
      continue;
    if (region.kind == Kind::kGlobal) continue;  // has one
    gfxgraph_name(region.on_host() ? region.host : region.device, text("r%d", named_).c_str());
  }
}

// Its bytes, and for each whether it has a value that is the same in each run.
void Program::dump(const Region& region) const {
  const auto write = [&](const char* kind, const std::vector<uint8_t>& bytes) {
    std::ofstream file(options_.dump + text("/r%d.%s", region.id, kind), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  std::vector<uint8_t> same = region.defined;
  for (const auto& [at, target] : region.pointers) std::fill_n(same.begin() + at, 8, 0);
  write("bin", region.bytes);
  write("defined", same);
}

uint64_t Program::finish() {
  sync_device();
  uint64_t hash = 0xcbf29ce484222325ull;
  for (int i = 0; i < memory_.count(); ++i) {
    const Region& region = memory_.at(i);
    if (!region.live) continue;
    if (region.kind == Kind::kGlobal) use_device(region.on);
    const std::string difference = device_.compare(region, memory_);
    if (!difference.empty()) throw Failure("in the end: " + difference);
    for (uint64_t at = 0; at < region.size; ++at) {
      const bool address =
          std::any_of(region.pointers.begin(), region.pointers.end(),
                      [&](const auto& word) { return word.first <= at && at < word.first + 8; });
      if (region.defined[at] == 0 || address) continue;
      hash = (hash ^ region.bytes[at]) * 0x100000001b3ull;
    }
  }
  return hash;
}

}  // namespace random_programs
