#include "recorder/objects/devices.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "recorder/lock_order.h"

namespace gfxgraph::recorder {
namespace {

constinit std::array<char, format::kMostDevices> null_streams{};

struct Streams {
  Mutex<LockRank::kLast> mutex;
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

namespace {

// One for each device. Aligned: those of a later thread stand where all of an earlier one's did.
alignas(format::kMostDevices) thread_local std::array<bool, format::kMostDevices> own_streams;

constexpr uint64_t kNever = UINT64_MAX;
constinit std::atomic<uint64_t> resets{0};
constinit thread_local uint64_t first_used_after = kNever;  // of `resets`

}  // namespace

Handle per_thread_stream() noexcept {
  bool& stream = own_streams[current_device % format::kMostDevices];
  if (current_device != 0 && !std::exchange(stream, true)) [[unlikely]]
    DeviceStreams::created(&stream, current_device);
  if (first_used_after == kNever) [[unlikely]]
    first_used_after = resets.load(std::memory_order_relaxed);
  return &stream;
}

void threads_lose_their_streams() noexcept { resets.fetch_add(1, std::memory_order_relaxed); }

bool is_freed_stream_of_thread(Handle stream) noexcept {
  return stream == &own_streams[current_device % format::kMostDevices] &&
         first_used_after < resets.load(std::memory_order_relaxed);
}

}  // namespace gfxgraph::recorder
