// A HIP runtime made of host memory: it simulates allocations, copies, module kernels (C++
// functions by name) and graphs, counts what is alive, and fails the N-th call on demand. Each
// thread calls the one that it made last; the table of any of them is the table of all.
//
// Streams run at once, in order of the calls. Graph nodes run in the order most hostile to a
// missing dependency: always the latest added node whose dependencies are done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "replayer/abi/hip_library.h"

namespace gfxgraph::replayer::testing {

struct FakeLaunch {
  const uint8_t* kernarg = nullptr;
  size_t kernarg_bytes = 0;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint64_t work_items = 0;
  template <typename Value>
  Value argument(size_t offset) const {
    Value value{};
    __builtin_memcpy(&value, kernarg + offset, sizeof(value));
    return value;
  }
};

using FakeKernel = std::function<void(const FakeLaunch&)>;

// A kernel by the handle of hipLaunchKernel: HIP knows from the code what its parameters point to.
struct FakeStub {
  std::string name;
  std::vector<std::pair<size_t, size_t>> arguments;  // offset and size of each
};

class FakeHip {
 public:
  FakeHip();
  ~FakeHip();
  FakeHip(const FakeHip&) = delete;
  FakeHip& operator=(const FakeHip&) = delete;

  // For a thread that shares the one of another thread. Calls are made one at a time.
  void use_on_this_thread();

  HipTable table() const;
  std::shared_ptr<const HipLibrary> library() const;

  std::map<std::string, FakeKernel> kernels;
  std::map<std::string, std::vector<uint8_t>> globals;  // module variables by name
  std::map<const void*, FakeStub> stubs;                // of the program
  bool functions_of_stubs = false;                      // hipGetFuncBySymbol is there; set early
  int wrong_frees = 0;                                  // of what it has not allocated
  int modules_loaded = 0;                               // so far
  std::string arch = "gfx1030";
  int version = 50221153;
  bool lose_graph_node = false;         // hipGraphGetNodes says one too few
  bool registers_kernels = false;       // what a program needs to launch cooperatively; set early
  bool skip_last_graph_kernel = false;  // a graph launch forgets its last kernel
  size_t stale_graph_nodes = 0;         // so do graphs of as many nodes; 0: none

  int devices = 1;
  int current_device = 0;
  std::set<void*> busy;  // streams that hipStreamQuery says hold work
  // A blocking stream of somebody else has work that never ends: what would wait for it fails.
  bool others_never_end = false;
  std::set<void*> destroyed;  // streams whose work cannot be waited for any more
  enum class NodeKind { kNone, kKernel, kCopy, kMemset, kOther };
  NodeKind refuse_updates = NodeKind::kNone;  // updates of such nodes fail
  NodeKind forget_updates = NodeKind::kNone;  // or report success and do nothing

  int forget_from_graph_launch = 0;  // from this graph launch on; 0: never
  int graph_launches = 0;

  // The N-th fallible call from now on fails, counted from 1; 0: none. `failed` says whether it
  // did.
  void fail_call(int n, hip::Error code = 1);
  bool failed = false;
  int calls = 0;
  // Called at the beginning and the end of each of them.
  void (*inside)(bool begins) = nullptr;

  std::vector<std::string> log;  // launches, copies, memsets, events and synchronisations by name
  bool keep_log = true;

  // Everything that create calls made and destroy calls did not take back.
  size_t alive() const;
  bool is_device_memory(const void* pointer, size_t size) const;

  // Used by the table's functions.
  struct Node {
    std::function<void()> run;
    std::vector<size_t> dependencies;
    NodeKind kind = NodeKind::kOther;
  };
  struct Graph {
    std::vector<Node> nodes;
  };
  hip::Error enter(const char* name, bool logged = false);
  std::recursive_mutex mutex;
  struct Function {
    std::string name;
  };
  std::map<std::string, std::unique_ptr<Function>> functions;
  // The handle of a kernel.
  Function* function(const std::string& name) {
    auto& slot = functions[name];
    if (!slot) slot = std::make_unique<Function>(Function{name});
    return slot.get();
  }
  std::map<uint8_t*, size_t> memory;
  std::map<const uint8_t*, int> device_of;        // as hipMalloc saw it
  std::map<const void*, std::string> registered;  // kernels by stub
  std::string registered_bundle;                  // of the last registration
  std::set<void*> handles;
  std::map<void*, Graph> graphs;
  uintptr_t next_handle = 0x1000;
  void* new_handle();

 private:
  int fail_at_ = 0;
  hip::Error fail_code_ = 1;
};

}  // namespace gfxgraph::replayer::testing
