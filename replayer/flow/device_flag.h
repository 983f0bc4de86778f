// A number in memory of the device, as the host reads it from run to run.
#pragma once

#include <atomic>
#include <cstdint>

#include "replayer/flow/flow_device.h"

namespace gfxgraph::replayer {

// Any thread; each read in flight has pinned memory of its own.
class DeviceFlag {
 public:
  explicit DeviceFlag(const HipLibrary& library) : library_(library) {}
  ~DeviceFlag();
  DeviceFlag(const DeviceFlag&) = delete;
  DeviceFlag& operator=(const DeviceFlag&) = delete;

  // Null: the host decides instead.
  Result<void> use(const int32_t* flag);
  bool is_used() const { return flag_ != nullptr; }
  // What the flag holds behind the work of the stream, for which this waits.
  Result<int32_t> read(hip::Stream stream);
  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kPlaces = 64;

  const HipLibrary& library_;
  const int32_t* flag_ = nullptr;
  volatile int32_t* places_ = nullptr;  // pinned
  std::atomic<uint64_t> taken_{0};      // a bit for each place
  std::atomic<uint64_t> reads_{0};
};

}  // namespace gfxgraph::replayer
