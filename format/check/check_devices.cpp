// The devices of streams, code and memory. Every trace has device 0; code runs only on the device
// that it was loaded for.
#include <fmt/format.h>

#include "format/check/check.h"

namespace gfxgraph::format {

Result<void> Checker::add(const Device& device) {
  if (device.number == 0 || device.number >= kMostDevices) {
    return fail(Status::kCorrupt, fmt::format("device: number {} is out of range", device.number));
  }
  if (device.number < null_streams_.size() && null_streams_[device.number] != 0) {
    return fail(Status::kCorrupt, fmt::format("device: number {} is already used", device.number));
  }
  constexpr uint64_t kSlack = 1u << 20;  // as EventChecker::check_dense
  if (device.null_stream > events_ + kSlack) {
    return fail(Status::kCorrupt,
                fmt::format("device: stream {} is out of range", device.null_stream));
  }
  if (device.null_stream == 0 || streams_.contains(device.null_stream)) {
    return fail(Status::kCorrupt,
                fmt::format("device: stream {} already exists", device.null_stream));
  }
  if (null_streams_.size() <= device.number) null_streams_.resize(device.number + 1);
  streams_.emplace(device.null_stream, false);
  stream_devices_[device.null_stream] = device.number;
  null_streams_[device.number] = device.null_stream;
  return {};
}

Result<void> Checker::check_device(DeviceNumber device, const char* what) const {
  if (device == 0 || (device < null_streams_.size() && null_streams_[device] != 0)) return {};
  return fail(Status::kCorrupt, fmt::format("{}: device {} does not exist", what, device));
}

DeviceNumber Checker::device_of(StreamId stream) const {
  const auto found = stream_devices_.find(stream);
  return found == stream_devices_.end() ? 0 : found->second;
}

bool Checker::is_null_stream(StreamId id) const {
  return id == 0 || null_streams_[device_of(id)] == id;
}

Result<void> Checker::check_device(const Launch& launch) const {
  const DeviceNumber device = kernel_devices_[launch.kernel - 1];
  if (device == device_of(launch.stream)) return {};
  return fail(Status::kCorrupt,
              fmt::format("launch: kernel {} of device {} on stream {} of device {}", launch.kernel,
                          device, launch.stream, device_of(launch.stream)));
}

}  // namespace gfxgraph::format
