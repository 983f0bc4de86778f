// Maps the streams of a trace to devices, and devices to null streams. A null stream and the
// blocking streams of its device wait for each other. Concurrent reads are safe.
#pragma once

#include <unordered_map>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::format {

class StreamDevices {
 public:
  StreamDevices() = default;
  explicit StreamDevices(const std::vector<Device>& devices) {
    for (const Device& device : devices) add(device);
  }
  void add(const Device& device) {
    if (null_streams_.size() <= device.number) null_streams_.resize(device.number + 1);
    null_streams_[device.number] = device.null_stream;
    devices_[device.null_stream] = device.number;
  }
  void add(const StreamCreate& stream) {
    if (stream.device != 0) {
      devices_[stream.id] = stream.device;
    } else if (!devices_.empty()) {
      devices_.erase(stream.id);  // left from an earlier trace: ids are reused
    }
  }

  DeviceNumber device(StreamId stream) const {
    if (devices_.empty()) return 0;
    const auto found = devices_.find(stream);
    return found == devices_.end() ? 0 : found->second;
  }
  // The null stream of the stream's device.
  StreamId null_stream(StreamId stream) const { return null_streams_[device(stream)]; }
  bool is_null(StreamId stream) const { return stream == null_stream(stream); }

 private:
  std::vector<StreamId> null_streams_ = {0};            // by device
  std::unordered_map<StreamId, DeviceNumber> devices_;  // without those of device 0
};

}  // namespace gfxgraph::format
