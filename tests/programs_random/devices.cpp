// Several devices of a random program.
#include <algorithm>

#include "program.h"

namespace random_programs {

void Program::open_devices() {
  Rng rng(options_.seed, 7ull << 40);
  devices_ = device_.open_devices(static_cast<int>(rng.between(2, kMostDevices)));
  for (int device = 1; device < devices_; ++device) {
    const int stream = static_cast<int>(order_.streams.size());
    order_.streams.emplace_back();
    order_.streams.back().null = true;
    order_.streams.back().device = device;
    null_streams_.push_back(stream);
    streams_[static_cast<size_t>(kStreamSlots + device - 1)] = {true, stream};
    device_.add_null_stream(stream);
  }
  say(text("%d devices", devices_));
}

void Program::use_device(int device) {
  if (device == current_) return;
  say(text("hipSetDevice %d", device));
  device_.set_device(device);
  current_ = device;
}

void Program::enter(int stream) {
  if (order_.streams[static_cast<size_t>(stream)].null || stream == kOwnStream)
    use_device(device_of(stream));
}

// Of code, variables, arrays and textures; -1: any device. HIP 5.2.3 crashes when it copies a
// variable of a device that is not the current one.
int Program::required_device(const Work& work) const {
  if (devices_ == 1) return -1;
  if (work.kind == WorkKind::kKernel && is_image_kernel(work.kernel)) {
    const Ref* object = &work.refs[1];
    const Region& region = memory_.at(object->region);
    if (work.kernel == Kernel::fetch_table) {
      const auto found = region.pointers.find(object->offset);
      if (found == region.pointers.end()) return -1;
      object = &found->second;
    }
    return memory_.at(object->region).on;
  }
  if (work.kind == WorkKind::kKernel) return work.module >= 0 ? module_device_ : -1;
  if (work.kind != WorkKind::kCopy) return -1;
  for (const Side* side : {&work.to, &work.from}) {
    const Region& region = memory_.at(side->ref.region);
    if (region.kind == Kind::kArray || region.kind == Kind::kGlobal) return region.on;
  }
  return -1;
}

void Program::act_device(Rng& rng) {
  if (rng.chance(35)) use_device(static_cast<int>(rng.below(static_cast<uint64_t>(devices_))));
}

// A kernel for a stream of each device, by one call.
void Program::act_launch_list(Rng& rng) {
  std::vector<Work> works;
  std::vector<int> streams;
  std::vector<Accesses> accesses;
  for (int device = 0; device < devices_; ++device) {
    const int stream = pick_stream(rng, true, device);
    Work work;
    if (stream < 0 || !make_kernel(rng, work, true)) continue;
    if (required_device(work) >= 0) continue;
    work.device = device;
    define_inputs(work, rng);
    works.push_back(work);
    streams.push_back(stream);
  }
  // What defines the inputs of one may write those of another.
  bool legal = works.size() > 1;
  for (size_t i = 0; i < works.size() && legal; ++i) {
    Accesses mine;
    legal = accesses_of(works[i], memory_, mine);
    for (const Accesses& other : accesses) {
      for (const Access& a : mine) {
        for (const Access& b : other) {
          const bool meet = a.region == b.region && a.begin < b.end && b.begin < a.end;
          if (meet && (a.write || b.write)) legal = false;
        }
      }
    }
    accesses.push_back(std::move(mine));
  }
  if (!legal) return;
  // hipCooperativeLaunchMultiDeviceNoPreSync and NoPostSync
  const unsigned flags = rng.chance(60) ? 0 : rng.between(1, 3);
  const auto host_knows_streams = [&] {
    for (const int stream : streams) {
      host_knows(order_.streams[static_cast<size_t>(stream)].work);
      host_knows(order_.streams[static_cast<size_t>(stream)].waits);
    }
  };
  for (size_t i = 0; i < works.size(); ++i) settle(streams[i], accesses[i], rng);
  say(text("launch a list, flags %u", flags));
  device_.submit_list(works, memory_, streams, flags);
  if ((flags & 1) == 0) host_knows_streams();
  for (size_t i = 0; i < works.size(); ++i) {
    say("  " + work_text(works[i], memory_) + " on " + stream_name(streams[i]));
    const int op = order_.issue(streams[i], order_.before(streams[i]));
    memory_.used(op, accesses[i]);
    apply(works[i], memory_);
  }
  if ((flags & 2) == 0) host_knows_streams();
}

}  // namespace random_programs
