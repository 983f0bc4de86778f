// Which device each stream of a trace is of, and which are null streams: a null stream waits for
// the blocking streams of its own device, and they for it. Not thread-safe.
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
      devices_.erase(stream.id);  // of a trace before, whose numbers are given out again
    }
  }

  DeviceNumber device(StreamId stream) const {
    if (devices_.empty()) return 0;
    const auto found = devices_.find(stream);
    return found == devices_.end() ? 0 : found->second;
  }
  // Of the stream's device.
  StreamId null_stream(StreamId stream) const { return null_streams_[device(stream)]; }
  bool is_null(StreamId stream) const { return stream == null_stream(stream); }

 private:
  std::vector<StreamId> null_streams_ = {0};            // by device
  std::unordered_map<StreamId, DeviceNumber> devices_;  // without device 0's
};

}  // namespace gfxgraph::format
