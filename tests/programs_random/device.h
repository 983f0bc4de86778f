// HIP's side of a random program. A dry device makes no call: for --list.
#pragma once

#include <hip/hip_runtime.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "side_threads.h"
#include "work.h"

namespace random_programs {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check(hipError_t result, const char* call);

// The forms of a copy. From kSync on: on the null stream, and the call waits. Array: a side is an
// array; At: the place in memory is a position, not the pointer's.
enum class CopyApi : uint32_t {
  kAsync,
  kAsyncDefault,
  kTypedAsync,
  kWithStream,
  k2DAsync,
  k3DAsync,
  kSymbolAsync,
  kPeerAsync,
  kArray2DAsync,
  kArray3DAsync,
  kArray3DAtAsync,
  kArrayParam2DAsync,
  kSync,
  kTyped,
  k2D,
  k3D,
  kSymbol,
  kPeer,
  kArray2D,
  kArray3D,
  kArray3DAt,
  kArrayParam2D,
  kArrayRow,
  kArrayWhole
};
// The forms of a memset. From kSync on: on the null stream.
enum class SetApi : uint32_t {
  kAsync,
  kD8Async,
  kD16Async,
  kD32Async,
  k2DAsync,
  k3DAsync,
  kSync,
  kD8,
  kD16,
  kD32,
  k2D,
  k3D
};
inline bool on_null_stream(const Work& work) {
  return (work.kind == WorkKind::kCopy && work.api >= static_cast<uint32_t>(CopyApi::kSync)) ||
         (work.kind == WorkKind::kSet && work.api >= static_cast<uint32_t>(SetApi::kSync));
}
bool of_array(const Work& work, const Memory& memory);
hipMemcpyKind direction(const Work& work, const Memory& memory);
uint8_t* side_address(const Side& side, const Memory& memory);
hipMemcpy3DParms parameters_3d(const Work& work, const Memory& memory);
hipMemcpy3DParms array_parameters(const Work& work, const Memory& memory);
hipMemsetParams memset_parameters(const Work& work, const Memory& memory);
// How copies see a region: as the host's memory or the device's.
bool host_side(Kind kind);
void run_host_call(void* host_call);
// kernels.hip
const void* kernel_function(Kernel kernel);

// Makes room for an element of this index.
template <typename T>
void grow(std::vector<T>& list, int index) {
  if (static_cast<size_t>(index) >= list.size()) list.resize(static_cast<size_t>(index) + 1);
}

// A call of HIP in a member of Device, unless it only lists.
#define HIP(call)                \
  do {                           \
    if (!dry_) {                 \
      const auto held = apart(); \
      check((call), #call);      \
    }                            \
  } while (false)

// A host function that the runtime calls.
struct HostCall {
  uint8_t* to = nullptr;
  const uint8_t* from = nullptr;
  uint64_t size = 0;
  uint32_t a = 0;
  std::atomic<bool> done = false;
};

constexpr int kMostDevices = 3;

enum class Waiting { kSynchronize, kQuery };

class Device {
 public:
  Device(bool dry, std::string code_object) : dry_(dry), code_object_(std::move(code_object)) {}
  bool dry() const { return dry_; }
  void use_host_addresses() { host_addresses_ = true; }

  void allocate(Region& region, uint32_t variant);
  void release(Region& region);
  void find_global(Region& region);

  // device_images.cpp: of textures and surfaces; and of arrays.
  void create_object(Region& object, const Memory& memory);
  void destroy_image(Region& image);

  // How many devices there are of `wanted`, which may access each other's memory.
  int open_devices(int wanted);
  void set_device(int device);
  void add_null_stream(int stream);
  // One kernel for each stream, by one call.
  void submit_list(const std::vector<Work>& works, const Memory& memory,
                   const std::vector<int>& streams, unsigned flags);

  enum class StreamFlags { kBlocking, kNonBlocking, kPriority };
  // Streams 0 and 1 are the null stream and the thread's own.
  void create_stream(int stream, StreamFlags flags);
  void destroy_stream(int stream);
  void wait_stream(int stream, Waiting how);
  void wait_device();
  void create_event(int event, unsigned flags);
  void destroy_event(int event);
  void record(int event, int stream);
  void stream_wait(int stream, int event);
  void wait_event(int event, Waiting how);
  void elapsed(int first, int second);
  void free_something(bool host_memory);

  void submit(const Work& work, const Memory& memory, int stream);
  // A callback that only tells: returns when it ran.
  void callback_and_wait(int stream);

  int load_module();  // its number
  void unload_module(int module);

  // Graphs and executable graphs by number; nodes by their place in the graph.
  void create_graph(int graph);
  void add_node(int graph, const Work& work, const Memory& memory, const std::vector<int>& after);
  void clone_graph(int graph, int original);
  void destroy_graph(int graph);
  void begin_capture(int stream);
  void end_capture(int stream, int graph);
  void instantiate(int exec, int graph);
  void set_node(int exec, int graph, int node, const Work& work, const Memory& memory);
  bool update(int exec, int graph);
  void launch(int exec, int stream);
  void destroy_exec(int exec);

  // Compares what HIP gives back with the model; "" or the first difference.
  std::string compare(const Region& region, const Memory& memory);

 private:
  struct Graph {
    hipGraph_t graph = nullptr;
    std::vector<hipGraphNode_t> nodes;
    std::vector<bool> followed;  // by another node
  };
  hipStream_t stream(int number) const { return streams_[static_cast<size_t>(number)]; }
  HostCall* host_call(const Work& work, const Memory& memory);
  void submit_kernel(const Work& work, const Memory& memory, hipStream_t stream);
  void submit_copy(const Work& work, const Memory& memory, hipStream_t stream);
  void submit_array_copy(const Work& work, const Memory& memory, hipStream_t stream);
  void create_array(Region& array, uint32_t variant);
  std::vector<uint8_t> array_bytes(const Region& array);
  void submit_set(const Work& work, const Memory& memory, hipStream_t stream);
  hipFunction_t function(const Work& work);

  bool dry_;
  bool host_addresses_ = false;
  int devices_ = 1;
  std::string code_object_;
  std::vector<char> code_;
  std::vector<hipStream_t> streams_ = {nullptr, hipStreamPerThread};
  std::vector<hipEvent_t> events_;
  std::vector<hipModule_t> modules_;
  std::vector<Graph> graphs_;
  std::vector<hipGraphExec_t> execs_;
  std::vector<std::unique_ptr<HostCall>> calls_;
};

}  // namespace random_programs
