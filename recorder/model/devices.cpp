#include "recorder/model/devices.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace gfxgraph::recorder {
namespace {

constinit std::array<char, format::kMostDevices> null_streams{};

struct Streams {
  std::mutex mutex;
  std::unordered_map<Handle, format::DeviceNumber> devices;  // without device 0's
};

// Never destroyed: threads may go on while the process ends.
Streams& streams() {
  static Streams& instance = *new Streams;
  return instance;
}

}  // namespace

constinit thread_local format::DeviceNumber current_device = 0;

Handle null_stream(format::DeviceNumber device) noexcept {
  return device == 0 || device >= format::kMostDevices ? nullptr : &null_streams[device];
}

format::DeviceNumber device_of_null_stream(Handle stream) noexcept {
  const auto offset =
      reinterpret_cast<uintptr_t>(stream) - reinterpret_cast<uintptr_t>(null_streams.data());
  return offset < null_streams.size() ? static_cast<format::DeviceNumber>(offset) : 0;
}

void DeviceStreams::created(Handle stream, format::DeviceNumber device) noexcept {
  if (!several()) return;
  const std::lock_guard lock(streams().mutex);
  if (device == 0) {
    streams().devices.erase(stream);
  } else {
    streams().devices[stream] = device;
  }
}

format::DeviceNumber DeviceStreams::look_up(Handle stream) noexcept {
  if (const format::DeviceNumber device = device_of_null_stream(stream)) return device;
  const std::lock_guard lock(streams().mutex);
  const auto found = streams().devices.find(stream);
  return found == streams().devices.end() ? 0 : found->second;
}

}  // namespace gfxgraph::recorder
