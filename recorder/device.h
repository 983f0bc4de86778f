// The recorder's own HIP calls. They must not be visible to the program (its last error, current
// device and capture mode).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::recorder {

struct DeviceFacts {
  std::string gpu_arch;  // "gfx1030", with features if the runtime names them
  std::string device_name;
  int32_t runtime_version = 0;
  int32_t driver_version = 0;
  // Calls hand work to the device themselves, instead of to a thread of the runtime
  // (AMD_DIRECT_DISPATCH).
  bool direct = true;
  // The device is threads of this process (the software agent): the page tables of the process show
  // whatever it writes.
  bool runs_in_process = false;
};

enum class StreamState { kIdle, kBusy, kError };

// Bytes that are read after the work of a stream, while the caller continues. Not thread-safe.
class StreamRead {
 public:
  virtual ~StreamRead() = default;
  // kBusy: not available yet. kError: they never will be.
  virtual StreamState state() = 0;
  // Once it is idle, and until this is destroyed.
  virtual std::span<const std::byte> bytes() const = 0;
};

// All methods are thread-safe and block, unless stated otherwise.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() = 0;
  // Copies device memory to the host, not ordered with the program's streams.
  virtual bool read(void* destination, uint64_t address, size_t size_bytes) = 0;
  // Bytes [offset, offset + size) of an array of the device in linear order; `array` is the
  // runtime's.
  virtual bool read_array(format::DeviceNumber device, void* destination, const void* array,
                          const format::ArrayShape& shape, uint64_t offset, size_t size_bytes) {
    (void)device, (void)destination, (void)array, (void)shape, (void)offset, (void)size_bytes;
    return false;
  }
  // Does not wait for the stream: one of the program's, or this thread's own (per_thread_stream()).
  // nullptr: it cannot be read this way, or too many reads are in progress. `host_memory`:
  // `address` is the device address of host-visible memory.
  virtual std::unique_ptr<StreamRead> read_behind(void* stream, uint64_t address, size_t size_bytes,
                                                  bool host_memory) = 0;
  // Releases the recorder's own streams and device memory: the device is about to be reset, and
  // nothing more is read before that.
  virtual void resetting() {}
  // It was: what the recorder has made meanwhile does not exist any more.
  virtual void was_reset() {}
  // Also false if it takes longer than `timeout_ms`; 0: no limit. Blocks no other method except
  // itself and idle(). While HIP 5.2.3 does this, hipStreamQuery blocks.
  virtual bool synchronize(uint32_t timeout_ms) = 0;
  // The program uses this device, too: its work counts in synchronize(). Returns its architecture,
  // as facts(); empty: unknown.
  virtual std::string use(format::DeviceNumber device) {
    (void)device;
    return {};
  }
  // As read(), symbol() and module_global(), of a device.
  virtual bool read_on(format::DeviceNumber device, void* destination, uint64_t address,
                       size_t size_bytes) {
    (void)device;
    return read(destination, address, size_bytes);
  }
  virtual bool symbol_on(format::DeviceNumber device, const void* host_symbol, uint64_t* address,
                         uint64_t* size_bytes) {
    (void)device;
    return symbol(host_symbol, address, size_bytes);
  }
  virtual bool module_global_on(format::DeviceNumber device, void* module, const char* name,
                                uint64_t* address, uint64_t* size_bytes) {
    (void)device;
    return module_global(module, name, address, size_bytes);
  }
  // Of a library (hipLibrary_t). False also: the runtime has no call for it (before HIP 7.14).
  virtual bool library_global_on(format::DeviceNumber device, void* library, const char* name,
                                 uint64_t* address, uint64_t* size_bytes) {
    (void)device, (void)library, (void)name, (void)address, (void)size_bytes;
    return false;
  }
  virtual StreamState stream_state(void* stream) = 0;
  // Whether these streams of the program, queried in this order, have completed. Also false if the
  // runtime does not answer immediately because another thread waits for the device. Does not wait
  // for work.
  virtual bool idle(const std::vector<void*>& streams) {
    return std::ranges::all_of(
        streams, [&](void* stream) { return stream_state(stream) == StreamState::kIdle; });
  }
  // Whether the runtime puts work of the stream into a graph. False for an invalid stream.
  virtual bool capturing(void* stream) = 0;
  // The device address of host memory; 0 if there is none.
  virtual uint64_t device_address(void* host) = 0;
  // A __device__ or __constant__ variable, by the registered host symbol or by module and name.
  virtual bool symbol(const void* host_symbol, uint64_t* address, uint64_t* size_bytes) = 0;
  virtual bool module_global(void* module, const char* name, uint64_t* address,
                             uint64_t* size_bytes) = 0;
  // Up to `capacity` node handles of a hipGraph in its own order; returns the number of all.
  virtual size_t graph_nodes(void* graph, void** nodes, size_t capacity) = 0;

  // A path by which this process may reach the runtime past the recorder.
  struct Bypass {
    std::string what;  // a function or a library
    std::string why;
  };
  // Takes the dynamic linker's lock: do not call under a lock that a library's constructor may wait
  // for.
  virtual std::vector<Bypass> bypasses() { return {}; }
};

// The HIP runtime of this process, called on a separate thread: last error, current device and
// capture mode are per thread in HIP.
std::unique_ptr<Device> make_hip_device();

}  // namespace gfxgraph::recorder
