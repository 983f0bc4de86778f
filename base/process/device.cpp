#include "base/process/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/process/null_device.h"
#include "base/process/own_process.h"

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;

// A KFD topology node with gpu_id 0 is a CPU (Linux kernel, amdkfd sysfs).
bool kernel_driver_lists_gpu() {
  std::error_code error;
  for (const fs::directory_entry& node :
       fs::directory_iterator("/sys/class/kfd/kfd/topology/nodes", error)) {
    std::ifstream file(node.path() / "gpu_id");
    unsigned long gpu_id = 0;
    if (file >> gpu_id && gpu_id != 0) return true;
  }
  return false;
}

}  // namespace

std::string null_target() {
  const char* const value = std::getenv(kNullDeviceVariable);
  const std::string name = value == nullptr ? "" : value;
  return name == "0" || name == "1" ? "" : name;
}

std::string agent_target() {
  const std::string named = null_target();
  return named.empty() ? kEmulatedProcessor : named;
}

std::string describe_agent_device() {
  const std::string named = null_target();
  if (named.empty()) return fmt::format("emulated {} (software agent)", kEmulatedProcessor);
  return fmt::format("null {} (software agent; executes no kernel)", named);
}

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  if (text == "auto") return DeviceChoice::kAuto;
  if (text == "real") return DeviceChoice::kReal;
  if (text == "emulated") return DeviceChoice::kEmulated;
  return fail(Status::kInvalidArgument,
              fmt::format("unknown device '{}': use auto, real or emulated", text));
}

Result<DeviceChoice> resolve_device(DeviceChoice choice) {
  if (choice == DeviceChoice::kEmulated) return choice;
  const bool usable = ::access("/dev/kfd", R_OK | W_OK) == 0 && kernel_driver_lists_gpu();
  if (usable) return DeviceChoice::kReal;
  if (choice == DeviceChoice::kReal) {
    return fail(Status::kDevice,
                "no AMD GPU: /dev/kfd cannot be opened or lists no GPU; load the amdgpu driver and "
                "join the render group, or use --device emulated");
  }
  return DeviceChoice::kEmulated;
}

Result<void> check_devices(unsigned devices, DeviceChoice resolved) {
  if (devices == 0 || resolved == DeviceChoice::kEmulated) return {};
  return fail(
      Status::kInvalidArgument,
      "--devices: a real GPU is not split; use --device emulated, or HIP_VISIBLE_DEVICES to "
      "choose among real ones");
}

Result<fs::path> private_library(std::string_view file_name) {
  std::error_code error;
  std::string tried;
  const auto exists_in = [&](const fs::path& folder) {
    tried += (tried.empty() ? "" : ", ") + folder.string();
    return fs::exists(folder / file_name, error);
  };
  if (const char* folder = std::getenv("GFXGRAPH_LIBDIR"); folder != nullptr) {
    if (exists_in(folder)) return fs::path(folder) / file_name;
  }
  // The program, or a library that this code is linked into.
  if (const fs::path own = file_mapped_at(reinterpret_cast<const void*>(&kernel_driver_lists_gpu));
      !own.empty()) {
    const fs::path root = own.parent_path().parent_path();
    // bin/x -> lib/gfxgraph, and build/<preset>/tests/x -> build/<preset>/lib/gfxgraph.
    if (exists_in(root / "lib/gfxgraph")) return root / "lib/gfxgraph" / file_name;
    // Installations with another library directory, such as lib64 or lib/x86_64-linux-gnu.
    const fs::path installed = root / GFXGRAPH_INSTALL_LIBDIR "/gfxgraph";
    if (installed != root / "lib/gfxgraph" && exists_in(installed)) return installed / file_name;
  }
  return fail(
      Status::kNotFound,
      fmt::format("{} not found in {}: set GFXGRAPH_LIBDIR to its folder", file_name, tried));
}

std::string prepend_search_path(std::string_view folder, const char* current) {
  std::string path(folder);
  if (current != nullptr && *current != '\0') path.append(":").append(current);
  return path;
}

Result<std::string> append_preload(const char* current, const fs::path& library, bool searched) {
  std::string path = library.string();
  constexpr const char* kSeparators = ": ";
  if (searched && path.find_first_of(kSeparators) != std::string::npos) path = library.filename();
  if (path.find_first_of(kSeparators) != std::string::npos) {
    return fail(Status::kUnsupported,
                fmt::format("{} cannot be preloaded, because LD_PRELOAD splits paths at spaces and "
                            "colons: move gfxgraph, or set GFXGRAPH_LIBDIR to a link without them",
                            path));
  }
  std::string list;
  const std::string_view entries = current == nullptr ? "" : current;
  for (size_t begin = 0; begin < entries.size();) {
    const size_t end = std::min(entries.find_first_of(kSeparators, begin), entries.size());
    const std::string_view entry = entries.substr(begin, end - begin);
    if (!entry.empty() && entry != path) list.append(entry).append(":");
    begin = end + 1;
  }
  return list + path;
}

std::string asan_options_for_preload(const char* current) {
  std::string options = current == nullptr ? "" : current;
  if (!options.empty()) options += ':';
  return options + "verify_asan_link_order=0";
}

}  // namespace gfxgraph
