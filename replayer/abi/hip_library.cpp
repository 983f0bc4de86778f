#include "replayer/abi/hip_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <cstring>
#include <mutex>
#include <string_view>

namespace gfxgraph::replayer {
namespace {

enum class Requirement { REQUIRED, OPTIONAL };

constexpr std::array<const char*, 3> kLibraryNames = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                      "libamdhip64.so.5"};

// Wheels carry the runtime under a changed file name ("libamdhip64-3f2a.so.6"), often loaded
// RTLD_LOCAL: only the list of loaded objects shows it.
int find_loaded_runtime(dl_phdr_info* info, size_t, void* path) {
  const std::string_view name(info->dlpi_name == nullptr ? "" : info->dlpi_name);
  const size_t slash = name.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (file.find("amdhip64") == std::string_view::npos) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
}

struct Opened {
  void* handle = nullptr;
  std::string name;
};

Result<Opened> open_runtime(int recorded_version) {
  for (const char* name : kLibraryNames) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD); handle != nullptr)
      return Opened{handle, name};
  }
  std::string loaded;
  if (dl_iterate_phdr(find_loaded_runtime, &loaded) == 1) {
    if (void* handle = dlopen(loaded.c_str(), RTLD_NOW | RTLD_NOLOAD); handle != nullptr) {
      return Opened{handle, loaded};
    }
  }
  std::string reasons;
  for (const char* name : kLibraryNames) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL); handle != nullptr)
      return Opened{handle, name};
    const char* reason = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason == nullptr ? name : reason);
  }
  return fail(
      Status::kNotFound,
      fmt::format("no HIP runtime: libamdhip64.so.7, .6 and .5 cannot be loaded ({}); install "
                  "{} or add the runtime's folder to LD_LIBRARY_PATH",
                  reasons, hip_package(recorded_version)));
}

std::string library_path(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr)
    return map->l_name;
  return fallback;
}

}  // namespace

std::string hip_package(int recorded_version) {
  const int major = recorded_version / 10'000'000;
  if (major >= 5 && major <= 7) return fmt::format("libamdhip64-{}", major);
  return "libamdhip64-7, libamdhip64-6 or libamdhip64-5";
}

Result<std::shared_ptr<const HipLibrary>> HipLibrary::load(int recorded_version, Lookup find) {
  // The handle is never closed: HIP runs threads and static destructors of its own.
  GFXGRAPH_ASSIGN_OR_RETURN(const Opened opened, open_runtime(recorded_version));
  HipTable table;
#define GFXGRAPH_HIP_SYMBOL(requirement, result, name, arguments) \
  table.name = reinterpret_cast<result(*) arguments>(find(opened.handle, #name));
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
  if (table.hipExtModuleLaunchKernel == nullptr) {
    table.hipExtModuleLaunchKernel = reinterpret_cast<decltype(table.hipExtModuleLaunchKernel)>(
        find(opened.handle,
             "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_"
             "P11ihipEvent_tS6_j"));
  }
  if (table.hipCreateSurfaceObject == nullptr) {
    table.hipCreateSurfaceObject = reinterpret_cast<decltype(table.hipCreateSurfaceObject)>(
        find(opened.handle, "_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc"));
    table.hipDestroySurfaceObject = reinterpret_cast<decltype(table.hipDestroySurfaceObject)>(
        find(opened.handle, "_Z23hipDestroySurfaceObjectP13__hip_surface"));
  }
  // The process's own, if it has one: the capture layer knows of captures that the runtime does
  // not.
  if (void* const asked = dlsym(RTLD_DEFAULT, "hipStreamIsCapturing"))
    table.hipStreamIsCapturing = reinterpret_cast<decltype(table.hipStreamIsCapturing)>(asked);
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<HipLibrary> library,
                            make(table, library_path(opened.handle, opened.name)));
  library->lookup_ = find;
  // A process has one runtime, however often it is asked for.
  static auto* const trials = new std::shared_ptr<UpdateTrials>(library->update_trials_);
  library->update_trials_ = *trials;
  return std::shared_ptr<const HipLibrary>(std::move(library));
}

Result<std::shared_ptr<const HipLibrary>> HipLibrary::from_table(const HipTable& table,
                                                                 std::string path, Lookup find) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<HipLibrary> library, make(table, std::move(path)));
  library->lookup_ = find;
  return std::shared_ptr<const HipLibrary>(std::move(library));
}

Result<std::shared_ptr<HipLibrary>> HipLibrary::make(const HipTable& table, std::string path) {
#define GFXGRAPH_HIP_SYMBOL(requirement, result, name, arguments)                   \
  if (Requirement::requirement == Requirement::REQUIRED && table.name == nullptr) { \
    return fail(Status::kUnsupported,                                               \
                fmt::format("{} lacks " #name ": not a usable HIP runtime", path)); \
  }
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
  if (table.hipGetDeviceProperties == nullptr && table.hipGetDevicePropertiesR0600 == nullptr) {
    return fail(Status::kUnsupported, fmt::format("{} lacks hipGetDeviceProperties", path));
  }
  auto library = std::make_shared<HipLibrary>();
  library->table_ = table;
  library->path_ = std::move(path);
  GFXGRAPH_TRY(library->check(table.hipRuntimeGetVersion(&library->runtime_version_),
                              "hipRuntimeGetVersion"));
  return library;
}

bool HipLibrary::has_graphs() const {
  return table_.hipGraphCreate != nullptr && table_.hipGraphDestroy != nullptr &&
         table_.hipGraphAddKernelNode != nullptr && table_.hipGraphAddMemcpyNode != nullptr &&
         table_.hipGraphAddMemcpyNode1D != nullptr && table_.hipGraphAddMemsetNode != nullptr &&
         table_.hipGraphAddEmptyNode != nullptr && table_.hipGraphGetNodes != nullptr &&
         table_.hipGraphInstantiate != nullptr && table_.hipGraphLaunch != nullptr &&
         table_.hipGraphExecDestroy != nullptr;
}

Result<HipDevice> HipLibrary::select_device(int ordinal) const {
  GFXGRAPH_TRY(check(table_.hipInit(0), "hipInit (no usable GPU, or no permission for /dev/kfd)"));
  int count = 0;
  GFXGRAPH_TRY(check(table_.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  HipDevice device;
  device.ordinal = ordinal;
  if (ordinal < 0) {
    GFXGRAPH_TRY(check(table_.hipGetDevice(&device.ordinal), "hipGetDevice"));
  }
  if (device.ordinal >= count) {
    return fail(Status::kDevice, fmt::format("no HIP device {}: the runtime {} has {}",
                                             device.ordinal, path_, count));
  }
  GFXGRAPH_TRY(check(table_.hipSetDevice(device.ordinal), "hipSetDevice"));

  // hipDeviceProp_t differs between HIP 5 and 6 in all but its beginning, name[256]. gcnArchName is
  // the only text behind it that begins with "gfx", so it is searched, not indexed. The largest
  // layout known has 1,472 bytes.
  std::array<char, 8192> properties{};
  const hip::Error code =
      table_.hipGetDevicePropertiesR0600 != nullptr
          ? table_.hipGetDevicePropertiesR0600(properties.data(), device.ordinal)
          : table_.hipGetDeviceProperties(properties.data(), device.ordinal);
  GFXGRAPH_TRY(check(code, "hipGetDeviceProperties"));
  properties.back() = '\0';
  device.name.assign(properties.data(), strnlen(properties.data(), 255));
  const std::string_view rest(properties.data() + 256, properties.size() - 256);
  const size_t found = rest.find("gfx");
  if (found == std::string_view::npos) {
    return fail(Status::kDevice, fmt::format("device '{}' reports no architecture", device.name));
  }
  const std::string_view text = rest.substr(found, rest.find('\0', found) - found);
  device.arch = text.substr(0, text.find(':'));
  device.target = text;
  return device;
}

Result<void> HipLibrary::wait_for(hip::Stream stream) const {
  const hip::Error code = table_.hipStreamSynchronize(stream);
  if (code == hip::kSuccess) [[likely]]
    return {};
  if (code != hip::kErrorContextIsDestroyed) return check(code, "hipStreamSynchronize");
  table_.hipGetLastError();
  return check(table_.hipDeviceSynchronize(), "hipDeviceSynchronize, as the stream was destroyed");
}

Result<bool> HipLibrary::is_idle(hip::Stream stream) const {
  const hip::Error code = table_.hipStreamQuery(stream);
  if (code == hip::kSuccess) return true;
  if (code == hip::kErrorContextIsDestroyed) {
    GFXGRAPH_TRY(wait_for(stream));
    return true;
  }
  if (code != hip::kErrorNotReady) return tl::unexpected<Error>(error(code, "hipStreamQuery"));
  table_.hipGetLastError();
  return false;
}

Error HipLibrary::error(hip::Error code, std::string_view what) const {
  const char* name = table_.hipGetErrorName(code);
  // HIP keeps the error for the thread; what the host program asks next must not see ours.
  table_.hipGetLastError();
  Status status = Status::kDevice;
  if (code == hip::kErrorOutOfMemory) status = Status::kOutOfMemory;
  if (code == hip::kErrorNotFound) status = Status::kNotFound;
  if (code == hip::kErrorNoBinaryForGpu) status = Status::kUnsupported;
  return Error{status, fmt::format("{}: {} ({})", what, name == nullptr ? "HIP error" : name, code),
               code};
}

Result<void> HipLibrary::check(hip::Error code, std::string_view what) const {
  if (code == hip::kSuccess) [[likely]]
    return {};
  return tl::unexpected<Error>(error(code, what));
}

}  // namespace gfxgraph::replayer
