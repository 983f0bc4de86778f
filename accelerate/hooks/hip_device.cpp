// HIP as the holder sees it: submissions by the runtime's own functions.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "accelerate/hooks/bound_keeper.h"
#include "accelerate/hooks/hooks_internal.h"
#include "base/hip_quirks.h"

namespace gfxgraph::accelerate {
namespace {

// What the unversioned hipGetDeviceProperties fills in every runtime: hipDeviceProp_t of HIP 5's
// headers. That of newer headers is of hipGetDevicePropertiesR0600.
struct DeviceProperties {
  char name[256];
  std::byte numbers[140];
  char gcnArchName[256];
  std::byte more[140];
};
static_assert(sizeof(DeviceProperties) == 792);

// Arguments in the form that HIP takes them.
class Arguments {
 public:
  // Throws std::bad_alloc for kernels with more arguments than most.
  Arguments(const Launches& launches, size_t i) {
    const std::span<const std::byte> bytes = launches.arguments(i);
    auto* const first = const_cast<std::byte*>(bytes.data());
    if (const Layout* const layout = launches[i].layout; layout != nullptr) {
      const size_t count = layout->places.size();
      void** to = few_.data();
      if (count > few_.size()) {
        many_.resize(count);
        to = many_.data();
      }
      for (size_t k = 0; k < count; ++k) to[k] = first + layout->places[k].offset_bytes;
      params_ = to;
      return;
    }
    size_ = bytes.size();
    extra_ = {HIP_LAUNCH_PARAM_BUFFER_POINTER, first, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size_,
              HIP_LAUNCH_PARAM_END};
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void** params() noexcept { return params_; }
  void** extra() noexcept { return params_ == nullptr ? extra_.data() : nullptr; }

 private:
  std::array<void*, 64> few_;
  std::vector<void*> many_;
  void** params_ = nullptr;
  size_t size_ = 0;
  std::array<void*, 5> extra_{};
};

int submit_stub(const KeptLaunch& kept, Arguments& arguments) {
  const Shape& s = kept.shape;
  return real(kCall_hipLaunchKernel, kept.function, dim3(s.grid[0], s.grid[1], s.grid[2]),
              dim3(s.block[0], s.block[1], s.block[2]), arguments.params(),
              static_cast<size_t>(s.shared_bytes), static_cast<hipStream_t>(kept.stream));
}

int submit_function(const KeptLaunch& kept, Arguments& arguments) {
  const Shape& s = kept.shape;
  auto* const function = static_cast<hipFunction_t>(const_cast<void*>(kept.function));
  auto* const stream = static_cast<hipStream_t>(kept.stream);
  if (!counts_items(kept.form)) {
    return real(kCall_hipModuleLaunchKernel, function, s.grid[0], s.grid[1], s.grid[2], s.block[0],
                s.block[1], s.block[2], static_cast<unsigned>(s.shared_bytes), stream,
                arguments.params(), arguments.extra());
  }
  constexpr int kCpp =
      kCall__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j;
  const int index = real_function(kCpp) != nullptr ? kCpp : kCall_hipExtModuleLaunchKernel;
  return real(index, function, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
              static_cast<size_t>(s.shared_bytes), stream, arguments.params(), arguments.extra(),
              static_cast<hipEvent_t>(nullptr), static_cast<hipEvent_t>(nullptr), uint32_t{0});
}

int submit_memory_work(const Launches& launches, size_t i) {
  const auto index =
      static_cast<int>(static_cast<const CallRow*>(launches[i].function) - kCallRows);
  auto* const stream = static_cast<hipStream_t>(launches[i].stream);
  if (launches[i].form == Form::kCopy) {
    const Copy copy = launches.packed<Copy>(i);
    if (index == kCall_hipMemcpyDtoDAsync)
      return real(index, copy.to, const_cast<void*>(copy.from), size_t{copy.size_bytes}, stream);
    return real(index, copy.to, copy.from, size_t{copy.size_bytes},
                static_cast<hipMemcpyKind>(copy.kind), stream);
  }
  const Fill fill = launches.packed<Fill>(i);
  if (index == kCall_hipMemsetD8Async)
    return real(index, fill.to, static_cast<unsigned char>(fill.value), size_t{fill.count}, stream);
  if (index == kCall_hipMemsetD16Async)
    return real(index, fill.to, static_cast<unsigned short>(fill.value), size_t{fill.count},
                stream);
  return real(index, fill.to, static_cast<int>(fill.value), size_t{fill.count}, stream);
}

hipKernelNodeParams kernel_node(const KeptLaunch& kept, Arguments& arguments) {
  const Shape& s = kept.shape;
  const bool items = counts_items(kept.form);
  const auto groups = [&](int axis) { return items ? s.grid[axis] / s.block[axis] : s.grid[axis]; };
  hipKernelNodeParams node = {};
  node.func = const_cast<void*>(kept.function);
  node.gridDim = dim3(groups(0), groups(1), groups(2));
  node.blockDim = dim3(s.block[0], s.block[1], s.block[2]);
  node.sharedMemBytes = static_cast<unsigned>(s.shared_bytes);
  node.kernelParams = arguments.params();
  node.extra = arguments.extra();
  return node;
}

// A chain of nodes as an executable graph. The graph lives as long, which some runtimes need.
class PreparedGraph {
 public:
  PreparedGraph() = default;
  ~PreparedGraph() {
    if (executable_ != nullptr) (void)real(kCall_hipGraphExecDestroy, executable_);
    if (graph_ != nullptr) (void)real(kCall_hipGraphDestroy, graph_);
    if (event_ != nullptr) (void)real(kCall_hipEventDestroy, event_);
  }
  PreparedGraph(const PreparedGraph&) = delete;
  PreparedGraph& operator=(const PreparedGraph&) = delete;

  Result<void> build(const Launches& launches) {
    nodes_.reserve(launches.size());
    if (const hipError_t e = real(kCall_hipGraphCreate, &graph_, 0u); e != hipSuccess)
      return failed("hipGraphCreate", e);
    for (size_t i = 0; i < launches.size(); ++i) GFXGRAPH_TRY(add(launches, i));
    const hipError_t e =
        real(kCall_hipGraphInstantiate, &executable_, graph_, static_cast<hipGraphNode_t*>(nullptr),
             static_cast<char*>(nullptr), size_t{0});
    if (e != hipSuccess) {
      executable_ = nullptr;
      return failed("hipGraphInstantiate", e);
    }
    return {};
  }

  hipError_t update(const Launches& launches, size_t i) {
    Arguments arguments(launches, i);
    const hipKernelNodeParams node = kernel_node(launches[i], arguments);
    return real(kCall_hipGraphExecKernelNodeSetParams, executable_, nodes_[i], &node);
  }
  hipError_t launch(hipStream_t stream) const {
    return real(kCall_hipGraphLaunch, executable_, stream);
  }
  bool mark(hipStream_t stream) {
    if (event_ == nullptr && real(kCall_hipEventCreateWithFlags, &event_,
                                  unsigned{hipEventDisableTiming}) != hipSuccess) {
      event_ = nullptr;
      return false;
    }
    return real(kCall_hipEventRecord, event_, stream) == hipSuccess;
  }
  bool done() const { return real(kCall_hipEventQuery, event_) == hipSuccess; }

 private:
  Result<void> add(const Launches& launches, size_t i) {
    hipGraphNode_t node = nullptr;
    const hipGraphNode_t* const before = nodes_.empty() ? nullptr : &nodes_.back();
    const size_t count = nodes_.empty() ? 0 : 1;
    hipError_t e = hipSuccess;
    const char* call = "hipGraphAddKernelNode";
    if (launches[i].form == Form::kCopy) {
      const Copy copy = launches.packed<Copy>(i);
      call = "hipGraphAddMemcpyNode1D";
      e = real(kCall_hipGraphAddMemcpyNode1D, &node, graph_, before, count, copy.to, copy.from,
               size_t{copy.size_bytes}, hipMemcpyDeviceToDevice);
    } else if (launches[i].form == Form::kFill) {
      const Fill fill = launches.packed<Fill>(i);
      hipMemsetParams parameters = {};
      parameters.dst = fill.to;
      parameters.elementSize = fill.element_bytes;
      parameters.value = fill.value;
      parameters.width = fill.count;
      parameters.height = 1;
      call = "hipGraphAddMemsetNode";
      e = real(kCall_hipGraphAddMemsetNode, &node, graph_, before, count,
               static_cast<const hipMemsetParams*>(&parameters));
    } else {
      Arguments arguments(launches, i);
      const hipKernelNodeParams parameters = kernel_node(launches[i], arguments);
      e = real(kCall_hipGraphAddKernelNode, &node, graph_, before, count, &parameters);
    }
    if (e != hipSuccess) return failed(call, e);
    nodes_.push_back(node);
    return {};
  }
  static Result<void> failed(const char* call, hipError_t error) {
    return tl::unexpected<Error>(
        Error{Status::kDevice, fmt::format("{} returned error {}", call, static_cast<int>(error)),
              error});
  }

  hipGraph_t graph_ = nullptr;
  hipGraphExec_t executable_ = nullptr;
  hipEvent_t event_ = nullptr;
  std::vector<hipGraphNode_t> nodes_;
};

// Own calls that fail leave no error for the program's hipGetLastError. Where there is one of the
// program's, none is made that may fail.
class OwnErrors {
 public:
  OwnErrors() : clean_(real(kCall_hipPeekAtLastError) == hipSuccess) {}
  ~OwnErrors() {
    if (clean_ && real(kCall_hipPeekAtLastError) != hipSuccess) (void)real(kCall_hipGetLastError);
  }
  OwnErrors(const OwnErrors&) = delete;
  OwnErrors& operator=(const OwnErrors&) = delete;
  bool clean() const noexcept { return clean_; }

 private:
  const bool clean_;
};

// Versions on which graphs were seen to run with the values that they were given, on the software
// agent: from, until. Of GPUs there are reports of others for the last two (kExecUpdateUnreliable).
constexpr int kUpdatesSeen[][2] = {
    {50200000, 50300000}, {50700000, 50800000}, {60400000, 60500000}, {70200000, 70300000}};

// Of a pointer, as both headers have it: the values of the first member differ.
struct PointerAttributes {
  int kind;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
  void* newer[8];
};
bool is_device_memory(const void* pointer) {
  PointerAttributes attributes{};
  if (real(kCall_hipPointerGetAttributes, &attributes, pointer) != hipSuccess) return false;
  const int device_kind = runtime_version() >= 60000000 ? 2 : 1;  // hipMemoryTypeDevice
  return attributes.kind == device_kind && attributes.is_managed == 0 && attributes.device == 0;
}

// Names of HSA's functions that give a device work, for a library below which HIP is not.
bool uses_hsa(const dl_phdr_info& info) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  }
  if (dynamic == nullptr) return false;
  const char* strings = nullptr;
  const auto place = [&](ElfW(Addr) address) {
    return address < info.dlpi_addr ? address + info.dlpi_addr : address;
  };
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(place(d->d_un.d_ptr));
  }
  if (strings == nullptr) return false;
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_NEEDED &&
        std::string_view(strings + d->d_un.d_val).starts_with("libhsa-runtime64"))
      return true;
  }
  return false;
}

// Libraries that call HSA for HIP, or observe it.
constexpr std::string_view kBelowHip[] = {"libamdhip64",    "libhsa-",  "libroctracer",
                                          "librocprofiler", "librocm_", "libgfxgraph-"};

class HipDevice final : public Device {
 public:
  int submit(const Launches& launches, size_t i) override {
    const Inside here;
    const KeptLaunch& kept = launches[i];
    if (is_memory_work(kept.form)) return submit_memory_work(launches, i);
    Arguments arguments(launches, i);
    return kept.form == Form::kStub ? submit_stub(kept, arguments)
                                    : submit_function(kept, arguments);
  }

  Result<void*> prepare(const Launches& launches) override {
    const Inside here;
    if (hip_quirk_avoided(HipQuirk::kModuleFunctionLostInGraph, runtime_version()))
      return fail(Status::kUnsupported, "this version of HIP loses functions of modules in graphs");
    const OwnErrors errors;
    auto graph = std::make_unique<PreparedGraph>();
    GFXGRAPH_TRY(graph->build(launches));
    return static_cast<void*>(graph.release());
  }

  int update(void* prepared, const Launches& launches, size_t i) override {
    const Inside here;
    const OwnErrors errors;
    return graph(prepared).update(launches, i);
  }

  int launch(void* prepared, void* stream) override {
    const Inside here;
    const OwnErrors errors;
    return graph(prepared).launch(static_cast<hipStream_t>(stream));
  }

  bool mark(void* prepared, void* stream) override {
    const Inside here;
    const OwnErrors errors;
    return errors.clean() && graph(prepared).mark(static_cast<hipStream_t>(stream));
  }

  bool done(void* prepared) override {
    const Inside here;
    const OwnErrors errors;
    return errors.clean() && graph(prepared).done();
  }

  void destroy(void* prepared) override {
    const Inside here;
    const OwnErrors errors;
    delete &graph(prepared);
  }

  const char* refuses_updates() override {
    const Inside here;
    const int version = runtime_version();
    if (std::ranges::none_of(kUpdatesSeen, [&](const auto& range) {
          return version >= range[0] && version < range[1];
        }))
      return "its arguments change, and graphs of this version of HIP were not seen to follow";
    const char* const asked = std::getenv("GFXGRAPH_ACCELERATE_UPDATES");
    if (version < 60000000 || (asked != nullptr && std::string_view(asked) == "1")) return nullptr;
    DeviceProperties properties{};
    if (real(kCall_hipGetDeviceProperties, &properties, 0) == hipSuccess &&
        std::string_view(properties.name).starts_with("gfxgraph emulated"))
      return nullptr;
    return "its arguments change, which graphs of HIP 6 and 7 are reported to miss on GPUs; "
           "GFXGRAPH_ACCELERATE_UPDATES=1 holds it all the same";
  }

  int last_error() override { return real(kCall_hipPeekAtLastError); }

  uint64_t now_ns() override { return bound_clock_ns(); }

  const Layout* layout(const Launch& launch) override {
    const Inside here;
    if (gpu_arch_.empty()) {
      DeviceProperties properties{};
      if (real(kCall_hipGetDeviceProperties, &properties, 0) != hipSuccess) return nullptr;
      gpu_arch_ = properties.gcnArchName;
    }
    return code().layout(launch.function, launch.form == Form::kStub, gpu_arch_);
  }

  const char* refuses(const Launch& memory_work) override {
    const Inside here;
    const OwnErrors errors;
    if (!errors.clean()) return "copies and fills behind an error";
    if (memory_work.form == Form::kCopy) {
      Copy copy;
      std::memcpy(&copy, memory_work.packed.data(), sizeof(copy));
      return is_device_memory(copy.to) && is_device_memory(copy.from)
                 ? nullptr
                 : "copies of memory that is not only the device's";
    }
    Fill fill;
    std::memcpy(&fill, memory_work.packed.data(), sizeof(fill));
    if (hip_quirk_avoided(HipQuirk::kMemsetNodeOverwritten, runtime_version()))
      return "fills: this version of HIP loses their values in graphs";
    // kSmallFillOverruns
    if ((reinterpret_cast<uintptr_t>(fill.to) + fill.count * fill.element_bytes) % 8 != 0)
      return "fills that end between words of 8 bytes";
    return is_device_memory(fill.to) ? nullptr : "fills of memory that is not only the device's";
  }

  std::string other_ways() override {
    std::string found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
          const std::string_view file = path.substr(path.rfind('/') + 1);
          for (const std::string_view below : kBelowHip) {
            if (file.starts_with(below)) return 0;
          }
          if (!uses_hsa(*info)) return 0;
          *static_cast<std::string*>(data) =
              fmt::format("{} is linked to HSA, which can reach the device past HIP",
                          file.empty() ? "the program" : file);
          return 1;
        },
        &found);
    return found;
  }

  void watch(uint64_t since_ns) override { bound_keeper().begins(since_ns); }

 private:
  static PreparedGraph& graph(void* prepared) noexcept {
    return *static_cast<PreparedGraph*>(prepared);
  }

  std::string gpu_arch_;  // of the first device, the only one on which launches are held
};

}  // namespace

Device& hip_device() noexcept {
  alignas(HipDevice) static std::byte storage[sizeof(HipDevice)];
  static HipDevice* const made = new (storage) HipDevice;
  return *made;
}

int runtime_version() noexcept {
  static std::atomic<int> known{-1};
  int version = known.load(std::memory_order_relaxed);
  if (version >= 0) return version;
  if (real(kCall_hipRuntimeGetVersion, &version) != hipSuccess) version = 0;
  known.store(version, std::memory_order_relaxed);
  return version;
}

}  // namespace gfxgraph::accelerate
