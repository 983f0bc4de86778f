// The actions of a random program but graphs.
#include <algorithm>

#include "program.h"

namespace random_programs {

int Program::pick_stream(Rng& rng, bool created_only, int device) {
  const int slots = devices_ > 1 ? kAllStreams : kStreamSlots;
  const int start = static_cast<int>(rng.below(static_cast<uint64_t>(slots)));
  for (int i = 0; i < slots; ++i) {
    const int slot = (start + i) % slots;
    const bool created = slot > 1 && slot < kStreamSlots;
    if (!streams_[slot].live || (created_only && !created)) continue;
    if (device < 0 || device_of(streams_[slot].number) == device) return streams_[slot].number;
  }
  return created_only ? -1 : null_of(std::max(device, 0));
}

void Program::action(int number) {
  Rng rng(options_.seed, static_cast<uint64_t>(number));
  if (number < 8 && devices_ > 1) use_device(number % devices_);
  if (number < 6) return act_allocate(rng, number);
  if (number < 8) return act_stream(rng, number - 4);
  if (on(Feature::arrays)) {
    Rng images(options_.seed, static_cast<uint64_t>(number), 1ull << 20);
    if (number < 10) return act_array(images, number - 8);
    if (number < 12) return act_object(images, number - 10);
    if (images.chance(40)) return act_image(images);
  }
  if (devices_ > 1) {
    Rng devices(options_.seed, static_cast<uint64_t>(number), 1ull << 21);
    act_device(devices);
    if (devices.chance(8)) return act_launch_list(devices);
  }
  const uint32_t kind = rng.below(100);
  // Graphs are the first device's.
  if (kind >= 78) use_device(0);
  if (kind < 40) {
    Work work;
    if (make_work(rng, work, false)) issue(pick_stream(rng), work, rng);
  } else if (kind < 46) {
    act_allocate(rng, static_cast<int>(rng.below(kSlots)));
  } else if (kind < 50) {
    act_free(rng);
  } else if (kind < 54) {
    act_stream(rng, static_cast<int>(2 + rng.below(kStreamSlots - 2)));
  } else if (kind < 58) {
    act_event(rng);
  } else if (kind < 63) {
    act_host_write(rng);
  } else if (kind < 68) {
    act_host_read(rng);
  } else if (kind < 70) {
    act_wait(rng);
  } else if (kind < 73) {
    act_module(rng);
  } else if (kind < 76) {
    if (on(Feature::pointers)) act_table(rng);
  } else if (kind < 78) {
    if (on(Feature::pointers)) act_list(rng);
  } else if (kind < 83) {
    if (on(Feature::graphs)) act_build(rng, number);
  } else if (kind < 87) {
    if (on(Feature::captures)) act_capture(rng, number);
  } else if (kind < 94) {
    act_launch(rng);
  } else if (kind < 97) {
    if (on(Feature::updates)) act_set_node(rng);
  } else if (kind < 98) {
    if (on(Feature::exec_updates)) act_exec_update(rng, number);
  } else {
    act_destroy_graph(rng);
  }
}

void Program::act_allocate(Rng& rng, int slot) {
  const uint32_t choice = rng.below(100);
  Kind kind = choice < 45   ? Kind::kDevice
              : choice < 58 ? Kind::kPinned
              : choice < 68 ? Kind::kManaged
              : choice < 78 ? Kind::kRegistered
                            : Kind::kPageable;
  if ((kind == Kind::kPinned && !on(Feature::pinned)) ||
      (kind == Kind::kManaged && !on(Feature::managed)) ||
      (kind == Kind::kRegistered && !on(Feature::registered)))
    kind = Kind::kDevice;
  if (slots_[slot] >= 0) free_slot(slot, rng);
  static constexpr uint32_t kSizes[] = {64, 256, 256, 1000, 1024, 4096, 4100, 20000};
  const uint64_t size =
      rng.chance(70) ? kSizes[rng.below(std::size(kSizes))] : 4 * rng.between(16, 1200);
  Region& region = memory_.add(kind, size);
  say(text("allocate %s, %u bytes", ref_text(memory_, {region.id, 0}).c_str(),
           static_cast<unsigned>(size)));
  region.on = current_;
  device_.allocate(region, rng.word());
  slots_[slot] = region.id;
}

void Program::free_slot(int slot, Rng& rng) {
  Region& region = memory_.at(slots_[slot]);
  slots_[slot] = -1;
  const bool waits =
      on(Feature::implicit) && (region.kind == Kind::kDevice || region.kind == Kind::kManaged);
  // hipFree waits for the memory's device itself, but not for others that use it.
  if (!waits || rng.chance(50) || devices_ > 1)
    settle(kHost, {{region.id, 0, region.size, true}}, rng);
  say("free " + ref_text(memory_, {region.id, 0}));
  device_.release(region);
  if (waits) order_.host_knows_device(region.on);
  region.live = false;
}

void Program::act_free(Rng& rng) {
  const int start = static_cast<int>(rng.below(kSlots));
  for (int i = 0; i < kSlots; ++i) {
    const int slot = (start + i) % kSlots;
    if (slots_[slot] >= 0) return free_slot(slot, rng);
  }
}

void Program::act_stream(Rng& rng, int slot) {
  Stream& stream = streams_[slot];
  if (stream.live) {
    if (!on(Feature::handles)) return;
    // What is still running on it ends; the host does not know when.
    if (rng.chance(50)) sync_stream(stream.number, Waiting::kSynchronize);
    say(text("destroy %s", stream_name(stream.number).c_str()));
    device_.destroy_stream(stream.number);
    stream.live = false;
    if (rng.chance(30)) return;
  }
  const auto flags = static_cast<Device::StreamFlags>(rng.below(3));
  stream = {true, static_cast<int>(order_.streams.size())};
  order_.streams.emplace_back();
  order_.streams.back().blocking = flags != Device::StreamFlags::kNonBlocking;
  order_.streams.back().device = current_;
  say(text("create %s%s", stream_name(stream.number).c_str(),
           flags == Device::StreamFlags::kBlocking   ? ""
           : flags == Device::StreamFlags::kPriority ? ", priority"
                                                     : ", non-blocking"));
  device_.create_stream(stream.number, flags);
}

void Program::act_event(Rng& rng) {
  const int event = static_cast<int>(rng.below(kEvents));
  const uint32_t what = rng.below(4);
  if (what < 2) return record_event(event, pick_stream(rng));
  if (what == 2 && events_[event].recorded) {
    const int stream = pick_stream(rng);
    enter(stream);
    say(text("%s waits for event %d", stream_name(stream).c_str(), event));
    device_.stream_wait(stream, event);
    return order_.streams[stream].waits.merge(events_[event].snapshot);
  }
  if (what == 3 && events_[event].live && on(Feature::handles)) {
    say(text("destroy event %d", event));
    device_.destroy_event(event);
    events_[event] = {};
  }
}

void Program::act_host_write(Rng& rng) {
  Region* region = pick_region(rng, [](const Region& one) { return one.on_host(); }, 8);
  if (region == nullptr || (region->on_device() && !on(Feature::host_writes))) return;
  const uint64_t bytes = rng.between(1, static_cast<uint32_t>(region->size));
  const Ref place = pick_range(rng, *region, bytes, 1);
  const Access access = {region->id, place.offset, place.offset + bytes, true};
  if (memory_.splits_pointer(access)) return;
  settle(kHost, {access}, rng);
  const uint32_t a = rng.word();
  say("host writes " + ref_text(memory_, place) +
      text(" bytes %u a %#x", static_cast<unsigned>(bytes), a));
  host_function(memory_.bytes(place), nullptr, bytes, a);
  memory_.written(region->id, place.offset, place.offset + bytes);
  if (!device_.dry()) host_function(region->host + place.offset, nullptr, bytes, a);
}

void Program::act_host_read(Rng& rng) {
  Region* region = pick_region(rng, [](const Region& one) { return one.on_host(); }, 8);
  if (region == nullptr) return;
  settle(kHost, {{region->id, 0, region->size, false}}, rng);
  say("host reads " + ref_text(memory_, {region->id, 0}));
  const std::string difference = device_.compare(*region, memory_);
  if (!difference.empty()) throw Failure("read by the host: " + difference);
}

void Program::act_wait(Rng& rng) {
  if (rng.chance(40)) {
    if (devices_ == 1) return sync_device();
    say("hipDeviceSynchronize");
    device_.wait_device();
    return order_.host_knows_device(current_);
  }
  sync_stream(pick_stream(rng),
              on(Feature::queries) && rng.chance(50) ? Waiting::kQuery : Waiting::kSynchronize);
}

void Program::add_globals(int module) {
  struct Row {
    uint64_t size;
    uint8_t initial;
  };
  static constexpr Row kRows[] = {
#define RANDOM_GLOBAL(name, type, elements, initial) {sizeof(type) * (elements), initial},
#include "kernels/globals.inc"
#undef RANDOM_GLOBAL
  };
  for (size_t symbol = 0; symbol < std::size(kRows); ++symbol) {
    Region& region = memory_.add(Kind::kGlobal, kRows[symbol].size);
    region.symbol = static_cast<int>(symbol);
    region.module = module;
    region.on = current_;
    region.bytes.assign(region.size, kRows[symbol].initial);
    region.defined.assign(region.size, 1);
    device_.find_global(region);
  }
}

void Program::unload_module(Rng& rng) {
  Accesses all;
  for (int i = 0; i < memory_.count(); ++i) {
    Region& region = memory_.at(i);
    if (region.module == module_ && region.kind == Kind::kGlobal)
      all.push_back({i, 0, region.size, true});
  }
  settle(kHost, all, rng);
  // Its kernels may run without touching its variables.
  sync_device();
  say(text("unload module %d", module_));
  device_.unload_module(module_);
  for (const Access& access : all) memory_.at(access.region).live = false;
  module_ = -1;
}

void Program::act_module(Rng& rng) {
  if (!on(Feature::modules)) return;
  if (module_ >= 0) return unload_module(rng);
  module_ = device_.load_module();
  module_device_ = current_;
  say(text("load module %d", module_));
  if (on(Feature::globals)) add_globals(module_);
}

// Writes a table of addresses: by the host, where it can, else by a copy or by kernels.
void Program::act_table(Rng& rng) {
  Region* table = pick_region(rng, [](const Region& one) { return one.kind != Kind::kGlobal; }, 64);
  if (table == nullptr) return;
  const uint32_t entries = rng.between(1, 6);
  const Ref place = pick_range(rng, *table, 8 * entries, 8);
  if (memory_.splits_pointer({table->id, place.offset, place.offset + 8 * entries, true})) return;
  if (table->on_host())
    settle(kHost, {{table->id, place.offset, place.offset + 8 * entries, true}}, rng);
  for (uint32_t entry = 0; entry < entries; ++entry) {
    Region* target = pick_region(
        rng, [](const Region& one) { return one.on_device() && one.kind != Kind::kGlobal; }, 64,
        table->id);
    if (target == nullptr) return;
    const Ref to = pick_range(rng, *target, 32, 4);
    const Ref at = {table->id, place.offset + 8 * entry};
    if (table->on_host()) {
      say("host writes the address of " + ref_text(memory_, to) + " to " + ref_text(memory_, at));
      memory_.set_pointer(at, to);
      if (!device_.dry()) std::memcpy(table->host + at.offset, memory_.bytes(at), 8);
    } else {
      Work put;
      put.kind = WorkKind::kKernel;
      put.kernel = Kernel::put_pointer;
      put.refs = {at, to, {}};
      issue(pick_stream(rng), put, rng);
    }
  }
}

// Writes a linked list into memory that the host sees, then perhaps copies it to the device.
void Program::act_list(Rng& rng) {
  Region* list = pick_region(rng, [](const Region& one) { return one.on_host(); }, 128);
  if (list == nullptr) return;
  const uint32_t nodes = rng.between(2, 6);
  // The nodes lie where they will be copied to.
  Region* target =
      list->on_device()
          ? list
          : pick_region(rng, [](const Region& one) { return one.kind == Kind::kDevice; }, 128);
  if (target == nullptr || 16 * nodes > std::min(list->size, target->size)) return;
  const Ref from = pick_range(rng, *list, 16 * nodes, 16);
  const Ref to = target == list ? from : pick_range(rng, *target, 16 * nodes, 16);
  const Access access = {list->id, from.offset, from.offset + 16 * nodes, true};
  if (memory_.splits_pointer(access)) return;
  settle(kHost, {access}, rng);
  for (uint32_t node = 0; node < nodes; ++node) {
    const Ref at = {list->id, from.offset + 16 * node};
    const uint64_t end = 0;
    memory_.written(at.region, at.offset, at.offset + 16);
    std::memcpy(memory_.bytes(at), &end, 8);
    if (node + 1 < nodes) memory_.set_pointer(at, {to.region, to.offset + 16 * (node + 1)});
    host_function(memory_.bytes({at.region, at.offset + 8}), nullptr, 8, rng.word());
    if (!device_.dry()) std::memcpy(list->host + at.offset, memory_.bytes(at), 16);
  }
  say(text("host writes a list of %u nodes to ", nodes) + ref_text(memory_, from));
  if (target == list) return;
  Work copy;
  copy.kind = WorkKind::kCopy;
  copy.to.ref = to;
  copy.from.ref = from;
  copy.shape.width = 16 * nodes;
  copy.api = static_cast<uint32_t>(rng.chance(50) ? CopyApi::kAsync : CopyApi::kSync);
  issue(pick_stream(rng), copy, rng);
}

}  // namespace random_programs
