// The devices of streams, code and memory. Every trace has device 0; code runs only on the device
// that it was loaded for.
#include <fmt/format.h>

#include <algorithm>

#include "format/check.h"

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

DeviceNumber Checker::device_of(const Graph& graph) const {
  for (const GraphNode& node : graph.nodes) {
    if (const auto* launch = std::get_if<Launch>(&node.action))
      return kernel_devices_[launch->kernel - 1];
  }
  return kAnyDevice;
}

Result<void> Checker::check_device(const Graph& graph) const {
  const DeviceNumber device = device_of(graph);
  const auto differs = [&](const GraphNode& node) {
    const auto* const launch = std::get_if<Launch>(&node.action);
    return launch != nullptr && kernel_devices_[launch->kernel - 1] != device;
  };
  if (std::ranges::none_of(graph.nodes, differs)) return {};
  return fail(Status::kCorrupt, fmt::format("graph {}: kernels of several devices", graph.id));
}

Result<void> Checker::check_device(const GraphLaunch& launch) const {
  const DeviceNumber device = graph_devices_[launch.graph - 1];
  if (device == kAnyDevice || device == device_of(launch.stream)) return {};
  return fail(Status::kCorrupt,
              fmt::format("graph launch: graph {} of device {} on stream {} of device {}",
                          launch.graph, device, launch.stream, device_of(launch.stream)));
}

}  // namespace gfxgraph::format
