#include "fake_hip.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gfxgraph::replayer::testing {
namespace {

thread_local FakeHip* fake = nullptr;

using NodeKind = FakeHip::NodeKind;

constexpr hip::Error kInvalidValue = 1;
constexpr hip::Error kNeverReturns = 999;

void* allocate(size_t size) {
  const size_t rounded = (size + 4095) / 4096 * 4096;
  std::unique_ptr<uint8_t, decltype(&std::free)> memory(
      static_cast<uint8_t*>(std::aligned_alloc(4096, rounded)), std::free);
  std::memset(memory.get(), 0xCD, rounded);
  fake->memory[memory.get()] = size;
  return memory.release();
}

hip::Error release(void* pointer) {
  const std::lock_guard lock(fake->mutex);
  if (fake->memory.erase(static_cast<uint8_t*>(pointer)) == 0) {
    if (pointer != nullptr) ++fake->wrong_frees;
    return kInvalidValue;
  }
  std::free(pointer);
  return 0;
}

// Copies the arguments at once, as HIP does.
std::function<void()> make_launch(void* function, hip::Dim3 grid, hip::Dim3 block, void** extra,
                                  uint64_t work_items) {
  if (extra == nullptr || extra[0] != hip::kLaunchBufferPointer ||
      extra[2] != hip::kLaunchBufferSize || extra[4] != hip::kLaunchEnd) {
    return {};
  }
  const auto* const bytes = static_cast<const uint8_t*>(extra[1]);
  std::vector<uint8_t> kernarg(bytes, bytes + *static_cast<size_t*>(extra[3]));
  const std::string name = static_cast<FakeHip::Function*>(function)->name;
  return [=] {
    FakeLaunch launch;
    launch.kernarg = kernarg.data();
    launch.kernarg_bytes = kernarg.size();
    const hip::Dim3 dims[2] = {grid, block};
    for (int i = 0; i < 2; ++i) {
      uint32_t* const out = i == 0 ? launch.grid : launch.block;
      out[0] = dims[i].x, out[1] = dims[i].y, out[2] = dims[i].z;
    }
    launch.work_items = work_items;
    fake->kernels.at(name)(launch);
  };
}

std::function<void()> make_stub_launch(const void* stub, hip::Dim3 grid, hip::Dim3 block,
                                       void** parameters) {
  const auto found = fake->stubs.find(stub);
  if (found == fake->stubs.end() || parameters == nullptr) return {};
  std::vector<uint8_t> kernarg;
  size_t index = 0;
  for (const auto& [offset, size] : found->second.arguments) {
    kernarg.resize(std::max(kernarg.size(), offset + size));
    std::memcpy(kernarg.data() + offset, parameters[index++], size);
  }
  size_t bytes = kernarg.size();
  void* extra[] = {hip::kLaunchBufferPointer, kernarg.data(), hip::kLaunchBufferSize, &bytes,
                   hip::kLaunchEnd};
  return make_launch(fake->function(found->second.name), grid, block, extra,
                     uint64_t{grid.x} * block.x * grid.y * block.y * grid.z * block.z);
}

// By function or stub, as HIP takes either.
std::function<void()> make_node(const hip::KernelNodeParams& p) {
  if (p.kernel_params != nullptr)
    return make_stub_launch(p.function, p.grid, p.block, p.kernel_params);
  return make_launch(p.function, p.grid, p.block, p.extra,
                     uint64_t{p.grid.x} * p.block.x * p.grid.y * p.block.y * p.grid.z * p.block.z);
}

void fill(uint8_t* destination, unsigned element, unsigned value, size_t count) {
  for (size_t i = 0; i < count; ++i) std::memcpy(destination + i * element, &value, element);
}

void copy_3d(const hip::Memcpy3dParams& p) {
  for (size_t z = 0; z < p.extent.depth; ++z) {
    for (size_t y = 0; y < p.extent.height; ++y) {
      std::memcpy(static_cast<uint8_t*>(p.destination.pointer) +
                      (z * p.destination.height + y) * p.destination.pitch_bytes,
                  static_cast<uint8_t*>(p.source.pointer) +
                      (z * p.source.height + y) * p.source.pitch_bytes,
                  p.extent.width);
    }
  }
}

std::function<void()> make_memset(hip::MemsetParams p) {
  // As HIP 5 does.
  if (fake->version < 60000000 && p.height > 1) p.value = p.element_bytes;
  return [p] {
    for (size_t y = 0; y < p.height; ++y) {
      fill(static_cast<uint8_t*>(p.destination) + y * p.pitch_bytes, p.element_bytes, p.value,
           p.width);
    }
  };
}

hip::Error update_node(void* executable, void* node, NodeKind kind, std::function<void()> run) {
  const auto found = fake->graphs.find(executable);
  const auto index = reinterpret_cast<uintptr_t>(node) - 1;
  if (!run || fake->refuse_updates == kind || found == fake->graphs.end() ||
      index >= found->second.nodes.size() || found->second.nodes[index].kind != kind) {
    return kInvalidValue;
  }
  if (fake->forget_updates != kind) found->second.nodes[index].run = std::move(run);
  return 0;
}

hip::Error add_node(void** node, void* graph, void* const* dependencies, size_t count,
                    NodeKind kind, std::function<void()> run) {
  if (!run || !fake->graphs.contains(graph)) return kInvalidValue;
  FakeHip::Graph& target = fake->graphs[graph];
  FakeHip::Node added;
  added.run = std::move(run);
  added.kind = kind;
  for (size_t i = 0; i < count; ++i) {
    const auto index = reinterpret_cast<uintptr_t>(dependencies[i]) - 1;
    if (index >= target.nodes.size()) return kInvalidValue;
    // HIP 5 drops edges from nodes that have followers to nodes that wait for others, too.
    const bool followed =
        std::any_of(target.nodes.begin(), target.nodes.end(), [&](const FakeHip::Node& one) {
          return std::find(one.dependencies.begin(), one.dependencies.end(), index) !=
                 one.dependencies.end();
        });
    if (fake->version < 60000000 && count > 1 && followed) continue;
    added.dependencies.push_back(index);
  }
  target.nodes.push_back(std::move(added));
  *node = reinterpret_cast<void*>(target.nodes.size());
  return 0;
}

void run_graph(const FakeHip::Graph& graph) {
  const bool again = ++fake->graph_launches >= fake->forget_from_graph_launch &&
                     fake->forget_from_graph_launch != 0;
  std::vector<bool> done(graph.nodes.size(), false);
  for (size_t ran = 0; ran < graph.nodes.size(); ++ran) {
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      bool ready = !done[i];
      for (const size_t dependency : graph.nodes[i].dependencies) ready = ready && done[dependency];
      if (!ready) continue;
      done[i] = true;
      const bool large =
          fake->stale_graph_nodes != 0 && graph.nodes.size() >= fake->stale_graph_nodes;
      const bool forget = (fake->skip_last_graph_kernel || again || large) &&
                          graph.nodes[i].kind == NodeKind::kKernel && i + 1 == graph.nodes.size();
      if (!forget) graph.nodes[i].run();
      break;
    }
  }
}

// The body of a fallible function of the runtime.
struct Inside {
  Inside() {
    if (fake->inside != nullptr) fake->inside(true);
  }
  ~Inside() {
    if (fake->inside != nullptr) fake->inside(false);
  }
  const std::lock_guard<std::recursive_mutex> lock{fake->mutex};
};
#define ENTER(...)      \
  const Inside entered; \
  if (const hip::Error code = fake->enter(__VA_ARGS__); code != 0) return code

hip::Error destroy(void* handle) {
  const std::lock_guard lock(fake->mutex);
  return fake->handles.erase(handle) == 1 ? 0 : kInvalidValue;
}

hip::Error destroy_graph(void* graph) {
  const std::lock_guard lock(fake->mutex);
  fake->graphs.erase(graph);
  return destroy(graph);
}

}  // namespace

FakeHip::FakeHip() {
  fake = this;
  // What replay tries updates of graphs with.
  kernels["gfxgraph_trial"] = [](const FakeLaunch& launch) {
    *launch.argument<uint32_t*>(0) = launch.argument<uint32_t>(8);
  };
}
FakeHip::~FakeHip() {
  for (auto& [pointer, size] : memory) std::free(pointer);
  fake = nullptr;
}

void FakeHip::use_on_this_thread() { fake = this; }

void FakeHip::fail_call(int n, hip::Error code) {
  calls = 0;
  failed = false;
  fail_at_ = n;
  fail_code_ = code;
}

hip::Error FakeHip::enter(const char* name, bool logged) {
  if (++calls == fail_at_) {
    failed = true;
    return fail_code_;
  }
  if (logged && keep_log) log.emplace_back(name);
  return 0;
}

void* FakeHip::new_handle() {
  void* const handle = reinterpret_cast<void*>(next_handle += 16);
  handles.insert(handle);
  return handle;
}

size_t FakeHip::alive() const { return memory.size() + handles.size(); }

bool FakeHip::is_device_memory(const void* pointer, size_t size) const {
  const auto* const bytes = static_cast<const uint8_t*>(pointer);
  for (const auto& [base, length] : memory) {
    if (bytes >= base && bytes + size <= base + length) return true;
  }
  return false;
}

// As in a program: the bundle's magic and whatever follows it.
void add_registration(HipTable& t) {
  t.__hipRegisterFatBinary = [](const void* wrapper) -> void** {
    const auto& binary = *static_cast<const hip::FatBinary*>(wrapper);
    fake->registered_bundle.assign(static_cast<const char*>(binary.binary), 4096 + 64);
    if (binary.magic != 0x48495046 || binary.version != 1) return nullptr;
    return static_cast<void**>(fake->new_handle());
  };
  t.__hipUnregisterFatBinary = [](void** registration) { destroy(registration); };
  t.__hipRegisterFunction = [](void**, const void* stub, char*, const char* name, unsigned, void*,
                               void*, void*, void*, int*) { fake->registered[stub] = name; };
  t.hipLaunchCooperativeKernel = [](const void* stub, hip::Dim3 grid, hip::Dim3 block,
                                    void** parameters, unsigned, void*) {
    ENTER("cooperative launch", true);
    FakeLaunch launch;
    launch.kernarg = static_cast<const uint8_t*>(parameters[0]);
    launch.work_items = uint64_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
    fake->kernels.at(fake->registered.at(stub))(launch);
    return 0;
  };
}

HipTable FakeHip::table() const {
  HipTable t;
  t.hipInit = [](unsigned) {
    ENTER("hipInit");
    return 0;
  };
  t.hipGetDeviceCount = [](int* count) {
    ENTER("hipGetDeviceCount");
    *count = fake->devices;
    return 0;
  };
  t.hipGetDevice = [](int* device) {
    ENTER("hipGetDevice");
    *device = fake->current_device;
    return 0;
  };
  t.hipSetDevice = [](int device) {
    ENTER("hipSetDevice");
    fake->current_device = device;
    return 0;
  };
  t.hipRuntimeGetVersion = [](int* out) {
    ENTER("hipRuntimeGetVersion");
    *out = fake->version;
    return 0;
  };
  t.hipGetErrorName = [](int code) -> const char* {
    return code == 2 ? "hipErrorOutOfMemory" : "hipErrorInvalidValue";
  };
  t.hipGetLastError = [] { return 0; };
  t.hipGetDeviceProperties = [](void* properties, int) {
    ENTER("hipGetDeviceProperties");
    std::strcpy(static_cast<char*>(properties), "gfx fake device");
    std::strcpy(static_cast<char*>(properties) + 396, (fake->arch + ":xnack-").c_str());
    return 0;
  };
  t.hipMalloc = [](void** pointer, size_t size) {
    ENTER("hipMalloc");
    *pointer = allocate(size);
    fake->device_of[static_cast<const uint8_t*>(*pointer)] = fake->current_device;
    return 0;
  };
  t.hipFree = [](void* pointer) { return release(pointer); };
  t.hipPointerGetAttribute = [](void* data, int attribute, void* pointer) {
    if (attribute != hip::kPointerDeviceOrdinal) return kInvalidValue;
    const std::lock_guard lock(fake->mutex);
    const auto found = fake->device_of.find(static_cast<const uint8_t*>(pointer));
    if (found == fake->device_of.end()) return kInvalidValue;
    *static_cast<int*>(data) = found->second;
    return hip::kSuccess;
  };
  t.hipHostMalloc = [](void** pointer, size_t size, unsigned) {
    ENTER("hipHostMalloc");
    *pointer = allocate(size);
    return 0;
  };
  t.hipHostFree = [](void* pointer) { return release(pointer); };
  t.hipMallocManaged = [](void** pointer, size_t size, unsigned) {
    ENTER("hipMallocManaged");
    *pointer = allocate(size);
    return 0;
  };
  t.hipHostRegister = [](void* pointer, size_t, unsigned) {
    ENTER("hipHostRegister");
    fake->handles.insert(pointer);
    return 0;
  };
  t.hipHostUnregister = [](void* pointer) { return destroy(pointer); };
  t.hipHostGetDevicePointer = [](void** device, void* host, unsigned) {
    ENTER("hipHostGetDevicePointer");
    *device = host;
    return 0;
  };
  t.hipModuleLoadData = [](void** module, const void*) {
    ENTER("hipModuleLoadData");
    ++fake->modules_loaded;
    *module = fake->new_handle();
    return 0;
  };
  t.hipModuleUnload = [](void* module) { return destroy(module); };
  t.hipModuleGetFunction = [](void** function, void*, const char* name) {
    ENTER("hipModuleGetFunction");
    if (!fake->kernels.contains(name)) return hip::kErrorNotFound;
    *function = fake->function(name);
    return 0;
  };
  t.hipModuleGetGlobal = [](void** pointer, size_t* size, void*, const char* name) {
    ENTER("hipModuleGetGlobal");
    if (!fake->globals.contains(name)) return hip::kErrorNotFound;
    *pointer = fake->globals[name].data();
    *size = fake->globals[name].size();
    return 0;
  };
  t.hipModuleLaunchKernel = [](void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned, void*, void**, void** extra) {
    ENTER("launch", true);
    const auto run = make_launch(function, {gx, gy, gz}, {bx, by, bz}, extra,
                                 uint64_t{gx} * bx * gy * by * gz * bz);
    if (!run) return kInvalidValue;
    run();
    return 0;
  };
  t.hipLaunchKernel = [](const void* stub, hip::Dim3 grid, hip::Dim3 block, void** parameters,
                         size_t, void*) {
    ENTER("stub launch", true);
    const auto run = make_stub_launch(stub, grid, block, parameters);
    if (!run) return kInvalidValue;
    run();
    return 0;
  };
  if (functions_of_stubs) {
    t.hipGetFuncBySymbol = [](void** function, const void* stub) {
      ENTER("hipGetFuncBySymbol");
      const auto found = fake->stubs.find(stub);
      if (found == fake->stubs.end()) return hip::kErrorNotFound;
      *function = fake->function(found->second.name);
      return 0;
    };
  }
  t.hipExtModuleLaunchKernel = [](void* function, uint32_t gx, uint32_t gy, uint32_t gz,
                                  uint32_t bx, uint32_t by, uint32_t bz, size_t, void*, void**,
                                  void** extra, void*, void*, uint32_t) {
    ENTER("partial launch", true);
    const auto run = make_launch(function, {(gx + bx - 1) / bx, gy, gz}, {bx, by, bz}, extra,
                                 uint64_t{gx} * gy * gz);
    if (!run) return kInvalidValue;
    run();
    return 0;
  };
  t.hipMemcpy = [](void* to, const void* from, size_t size, int) {
    ENTER("hipMemcpy");
    if (fake->others_never_end) return kNeverReturns;
    std::memcpy(to, from, size);
    return 0;
  };
  t.hipMemcpyAsync = [](void* to, const void* from, size_t size, int, void*) {
    ENTER("copy", true);
    std::memmove(to, from, size);
    return 0;
  };
  t.hipMemcpy2DAsync = [](void* to, size_t to_pitch, const void* from, size_t from_pitch,
                          size_t width, size_t height, int, void*) {
    ENTER("copy2d", true);
    for (size_t y = 0; y < height; ++y) {
      std::memcpy(static_cast<uint8_t*>(to) + y * to_pitch,
                  static_cast<const uint8_t*>(from) + y * from_pitch, width);
    }
    return 0;
  };
  t.hipMemcpy3DAsync = [](const hip::Memcpy3dParams* parameters, void*) {
    ENTER("copy3d", true);
    copy_3d(*parameters);
    return 0;
  };
  t.hipMemset = [](void* to, int value, size_t size) {
    ENTER("hipMemset");
    if (fake->others_never_end) return kNeverReturns;
    std::memset(to, value, size);
    return 0;
  };
  t.hipMemsetAsync = [](void* to, int value, size_t size, void*) {
    ENTER("memset", true);
    std::memset(to, value, size);
    return 0;
  };
  t.hipMemsetD16Async = [](void* to, unsigned short value, size_t count, void*) {
    ENTER("memset16", true);
    fill(static_cast<uint8_t*>(to), 2, value, count);
    return 0;
  };
  t.hipMemsetD32Async = [](void* to, int value, size_t count, void*) {
    ENTER("memset32", true);
    fill(static_cast<uint8_t*>(to), 4, static_cast<unsigned>(value), count);
    return 0;
  };
  t.hipMemset2DAsync = [](void* to, size_t pitch, int value, size_t width, size_t height, void*) {
    ENTER("memset2d", true);
    for (size_t y = 0; y < height; ++y)
      std::memset(static_cast<uint8_t*>(to) + y * pitch, value, width);
    return 0;
  };
  t.hipStreamCreateWithFlags = [](void** stream, unsigned) {
    ENTER("hipStreamCreate");
    *stream = fake->new_handle();
    return 0;
  };
  t.hipStreamCreateWithPriority = [](void** stream, unsigned, int) {
    ENTER("hipStreamCreate");
    *stream = fake->new_handle();
    return 0;
  };
  t.hipStreamDestroy = [](void* stream) { return destroy(stream); };
  t.hipStreamSynchronize = [](void* stream) -> int {
    ENTER("stream sync", true);
    if (fake->destroyed.contains(stream)) return hip::kErrorContextIsDestroyed;
    return fake->others_never_end && stream == nullptr ? kNeverReturns : 0;
  };
  t.hipStreamWaitEvent = [](void*, void*, unsigned) {
    ENTER("wait", true);
    return 0;
  };
  t.hipEventCreateWithFlags = [](void** event, unsigned) {
    ENTER("hipEventCreate");
    *event = fake->new_handle();
    return 0;
  };
  t.hipEventDestroy = [](void* event) { return destroy(event); };
  t.hipStreamQuery = [](void* stream) -> int {
    ENTER("stream query");
    if (fake->destroyed.contains(stream)) return hip::kErrorContextIsDestroyed;
    return fake->busy.contains(stream) ? hip::kErrorNotReady : hip::kSuccess;
  };
  t.hipEventRecord = [](void*, void*) {
    ENTER("record", true);
    return 0;
  };
  t.hipEventSynchronize = [](void*) {
    ENTER("event sync", true);
    return 0;
  };
  t.hipDeviceSynchronize = [] {
    ENTER("device sync");
    if (fake->others_never_end) return kNeverReturns;
    return 0;
  };
  t.hipGraphCreate = [](void** graph, unsigned) {
    ENTER("hipGraphCreate");
    *graph = fake->new_handle();
    fake->graphs[*graph] = {};
    return 0;
  };
  t.hipGraphDestroy = [](void* graph) { return destroy_graph(graph); };
  t.hipGraphAddKernelNode = [](void** node, void* graph, void* const* dependencies, size_t count,
                               const hip::KernelNodeParams* p) {
    ENTER("kernel node", true);
    return add_node(node, graph, dependencies, count, NodeKind::kKernel, make_node(*p));
  };
  t.hipGraphAddMemcpyNode = [](void** node, void* graph, void* const* dependencies, size_t count,
                               const hip::Memcpy3dParams* p) {
    ENTER("copy3d node", true);
    return add_node(node, graph, dependencies, count, NodeKind::kOther,
                    [parameters = *p] { copy_3d(parameters); });
  };
  t.hipGraphAddMemcpyNode1D = [](void** node, void* graph, void* const* dependencies, size_t count,
                                 void* to, const void* from, size_t size, int) {
    ENTER("copy node", true);
    return add_node(node, graph, dependencies, count, NodeKind::kCopy,
                    [=] { std::memmove(to, from, size); });
  };
  t.hipGraphAddMemsetNode = [](void** node, void* graph, void* const* dependencies, size_t count,
                               const hip::MemsetParams* p) {
    ENTER("memset node", true);
    return add_node(node, graph, dependencies, count, NodeKind::kMemset, make_memset(*p));
  };
  t.hipGraphAddEmptyNode = [](void** node, void* graph, void* const* dependencies, size_t count) {
    ENTER("empty node", true);
    return add_node(node, graph, dependencies, count, NodeKind::kOther, [] {});
  };
  t.hipGraphGetNodes = [](void* graph, void**, size_t* count) {
    ENTER("hipGraphGetNodes");
    *count = fake->graphs[graph].nodes.size() - (fake->lose_graph_node ? 1 : 0);
    return 0;
  };
  t.hipGraphInstantiate = [](void** executable, void* graph, void**, char*, size_t) {
    ENTER("instantiate", true);
    *executable = fake->new_handle();
    fake->graphs[*executable] = fake->graphs[graph];
    return 0;
  };
  t.hipGraphLaunch = [](void* executable, void*) {
    ENTER("graph launch", true);
    run_graph(fake->graphs.at(executable));
    return 0;
  };
  t.hipGraphExecDestroy = [](void* executable) { return destroy_graph(executable); };
  t.hipGraphExecKernelNodeSetParams = [](void* executable, void* node,
                                         const hip::KernelNodeParams* p) {
    ENTER("kernel update", true);
    return update_node(executable, node, NodeKind::kKernel, make_node(*p));
  };
  t.hipGraphExecMemcpyNodeSetParams1D = [](void* executable, void* node, void* to, const void* from,
                                           size_t size, int) {
    ENTER("copy update", true);
    return update_node(executable, node, NodeKind::kCopy, [=] { std::memmove(to, from, size); });
  };
  t.hipGraphExecMemsetNodeSetParams = [](void* executable, void* node, const hip::MemsetParams* p) {
    ENTER("memset update", true);
    return update_node(executable, node, NodeKind::kMemset, make_memset(*p));
  };
  if (registers_kernels) add_registration(t);
  return t;
}

std::shared_ptr<const HipLibrary> FakeHip::library() const {
  auto library = HipLibrary::from_table(table(), "the fake HIP runtime");
  return library ? *library : nullptr;
}

}  // namespace gfxgraph::replayer::testing
