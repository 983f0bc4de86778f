// What the recorder itself asks of the HIP runtime. Apart from the program's own calls: nothing
// that is done here may be visible to the program (its last error, its current device, its capture
// mode).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gfxgraph::recorder {

struct DeviceFacts {
  std::string gpu_arch;  // "gfx1030", with features if the runtime names them
  std::string device_name;
  int32_t runtime_version = 0;
  int32_t driver_version = 0;
};

enum class StreamState { kIdle, kBusy, kError };

// Bytes that are read behind the work that a stream has been given, while the caller goes on. Not
// thread-safe.
class StreamRead {
 public:
  virtual ~StreamRead() = default;
  // kBusy: not there yet. kError: they never will be.
  virtual StreamState state() = 0;
  // Once it is idle, and until this is destroyed.
  virtual std::span<const std::byte> bytes() const = 0;
};

// All methods are thread-safe and block, but for what is said of one.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() = 0;
  // Copies device memory to the host, not ordered against the program's streams.
  virtual bool read(void* destination, uint64_t address, size_t size_bytes) = 0;
  // Does not wait for the stream: one of the program's, or this thread's own
  // (per_thread_stream()). nullptr: it cannot be read this way, or too much is under way.
  // `host_memory`: `address` is the device's of memory that the host sees.
  virtual std::unique_ptr<StreamRead> read_behind(void* stream, uint64_t address, size_t size_bytes,
                                                  bool host_memory) = 0;
  // What the recorder holds on the device itself is given back: it is about to be reset.
  virtual void resetting() {}
  // False also when it takes longer than `timeout_ms`; 0: it may take any time. Holds up no other
  // method but itself and idle(). While HIP 5.2.3 does this, hipStreamQuery blocks.
  virtual bool synchronize(uint32_t timeout_ms) = 0;
  virtual StreamState stream_state(void* stream) = 0;
  // Whether these streams of the program, asked in this order, have done their work. False also
  // where the runtime does not answer at once, as another thread waits for the device. Waits for no
  // work.
  virtual bool idle(const std::vector<void*>& streams) {
    return std::ranges::all_of(
        streams, [&](void* stream) { return stream_state(stream) == StreamState::kIdle; });
  }
  // Whether the runtime puts work given to the stream into a graph. False for what is no stream.
  virtual bool capturing(void* stream) = 0;
  // The device's address of host memory; 0 when there is none.
  virtual uint64_t device_address(void* host) = 0;
  // A __device__ or __constant__ variable, by the registered host symbol or by module and name.
  virtual bool symbol(const void* host_symbol, uint64_t* address, uint64_t* size_bytes) = 0;
  virtual bool module_global(void* module, const char* name, uint64_t* address,
                             uint64_t* size_bytes) = 0;
  // Up to `capacity` node handles of a hipGraph in its own order; the number of all.
  virtual size_t graph_nodes(void* graph, void** nodes, size_t capacity) = 0;

  // A way by which this process may reach the runtime past the recorder.
  struct Bypass {
    std::string what;  // a function or a library
    std::string why;
  };
  // Takes the dynamic linker's lock: not under a lock that a library's constructor may wait for.
  virtual std::vector<Bypass> bypasses() { return {}; }
};

// The HIP runtime of this process, asked on a thread of its own: last error, current device and
// capture mode are per thread in HIP.
std::unique_ptr<Device> make_hip_device();

}  // namespace gfxgraph::recorder
