// HIP as the holder sees it: submissions by the runtime's own functions.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <time.h>

#include <array>
#include <cstring>
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

// A graph that is being made: it is destroyed if that fails.
class NewGraph {
 public:
  ~NewGraph() {
    if (graph_ != nullptr) (void)real(kCall_hipGraphDestroy, graph_);
  }
  NewGraph() = default;
  NewGraph(const NewGraph&) = delete;
  NewGraph& operator=(const NewGraph&) = delete;

  Result<void*> chain(const Launches& launches) {
    if (const hipError_t e = real(kCall_hipGraphCreate, &graph_, 0u); e != hipSuccess)
      return failed("hipGraphCreate", e);
    hipGraphNode_t last = nullptr;
    for (size_t i = 0; i < launches.size(); ++i) {
      Arguments arguments(launches, i);
      const KeptLaunch& kept = launches[i];
      const Shape& s = kept.shape;
      const bool items = counts_items(kept.form);
      const auto groups = [&](int axis) {
        return items ? s.grid[axis] / s.block[axis] : s.grid[axis];
      };
      hipKernelNodeParams node = {};
      node.func = const_cast<void*>(kept.function);
      node.gridDim = dim3(groups(0), groups(1), groups(2));
      node.blockDim = dim3(s.block[0], s.block[1], s.block[2]);
      node.sharedMemBytes = static_cast<unsigned>(s.shared_bytes);
      node.kernelParams = arguments.params();
      node.extra = arguments.extra();
      hipGraphNode_t next = nullptr;
      const hipError_t e = real(kCall_hipGraphAddKernelNode, &next, graph_,
                                static_cast<const hipGraphNode_t*>(&last),
                                static_cast<size_t>(last != nullptr ? 1 : 0),
                                static_cast<const hipKernelNodeParams*>(&node));
      if (e != hipSuccess) return failed("hipGraphAddKernelNode", e);
      last = next;
    }
    hipGraphExec_t executable = nullptr;
    const hipError_t e =
        real(kCall_hipGraphInstantiate, &executable, graph_, static_cast<hipGraphNode_t*>(nullptr),
             static_cast<char*>(nullptr), size_t{0});
    if (e != hipSuccess) return failed("hipGraphInstantiate", e);
    graph_ = nullptr;  // it lives as long as its executable graph, which some runtimes need
    return static_cast<void*>(executable);
  }

 private:
  static Result<void*> failed(const char* call, hipError_t error) {
    return tl::unexpected<Error>(
        Error{Status::kDevice, fmt::format("{} returned error {}", call, static_cast<int>(error)),
              error});
  }
  hipGraph_t graph_ = nullptr;
};

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
    Arguments arguments(launches, i);
    const KeptLaunch& kept = launches[i];
    return kept.form == Form::kStub ? submit_stub(kept, arguments)
                                    : submit_function(kept, arguments);
  }

  Result<void*> prepare(const Launches& launches) override {
    const Inside here;
    if (hip_quirk_avoided(HipQuirk::kModuleFunctionLostInGraph, runtime_version()))
      return fail(Status::kUnsupported, "this version of HIP loses functions of modules in graphs");
    return NewGraph().chain(launches);
  }

  int launch(void* prepared, void* stream) override {
    const Inside here;
    return real(kCall_hipGraphLaunch, static_cast<hipGraphExec_t>(prepared),
                static_cast<hipStream_t>(stream));
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
