// The kernel driver's files: who may open them, and which GPUs they are for.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/file/file.h"
#include "tools/doctor/system_checks.h"

namespace gfxgraph::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoadDriver =
    "load the amdgpu driver; a container needs --device=/dev/kfd --device=/dev/dri";

State state_of_missing(Gpu gpu) { return gpu == Gpu::kNeeded ? State::kFailed : State::kOff; }
State state_of_refused(Gpu gpu) { return gpu == Gpu::kUnneeded ? State::kOff : State::kFailed; }

std::string group_name(gid_t group) {
  const struct group* const entry = ::getgrgid(group);
  return entry == nullptr ? fmt::format("group {}", group) : entry->gr_name;
}

// Why this user may not open it, and which group would let it.
Check refused(std::string id, const Surroundings& system, const std::string& path, int error,
              Gpu gpu) {
  Check check{std::move(id), state_of_refused(gpu)};
  struct stat status{};
  if (::stat((system.root + path).c_str(), &status) != 0) status = {};
  const std::string group = group_name(status.st_gid);
  const bool member = std::ranges::find(system.groups, group) != system.groups.end();
  check.detail = fmt::format(
      "{} (group {}, mode {:04o}) cannot be opened: {}; {} is in {}", path, group,
      status.st_mode & 07777, errno_message(error), system.user,
      system.groups.empty() ? "no group" : fmt::format("{}", fmt::join(system.groups, ", ")));
  if (error == EACCES && !member) {
    check.remedy = fmt::format("join the group: sudo usermod -a -G {} {}, then log in again", group,
                               system.user);
  } else if (error == EACCES) {
    check.remedy = fmt::format("give the group access: sudo chmod g+rw {}", path);
  } else if (error == EPERM) {
    check.remedy = "the container does not allow the device: start it with --device=" + path;
  } else {
    check.remedy = "look for the reason in the kernel's log: sudo dmesg | grep amdgpu";
  }
  return check;
}

std::vector<std::string> render_nodes(const Surroundings& system) {
  std::vector<std::string> nodes;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(system.root + "/dev/dri", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("renderD")) nodes.push_back("/dev/dri/" + name);
  }
  std::ranges::sort(nodes);
  return nodes;
}

// A line "name number" of a file of the kernel.
std::optional<uint64_t> number_in(const fs::path& file, std::string_view name) {
  std::ifstream lines(file);
  std::string word;
  uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

// 100300 is gfx1030: two decimal digits each for version, minor version and stepping, of which the
// last is shown in hexadecimal (Linux kernel, amdkfd).
std::string target_name(uint64_t version) {
  return fmt::format("gfx{}{}{:x}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

Surroundings surroundings() {
  Surroundings system;
  const uid_t user = ::geteuid();
  const passwd* const entry = ::getpwuid(user);
  system.user = entry == nullptr ? fmt::format("user {}", user) : entry->pw_name;
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(0, count)));
  if (std::ranges::find(groups, ::getegid()) == groups.end()) groups.push_back(::getegid());
  for (const gid_t group : groups) system.groups.push_back(group_name(group));
  system.open = [](const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno;
    ::close(fd);
    return 0;
  };
  return system;
}

Check check_kfd(const Surroundings& system, Gpu gpu) {
  constexpr const char* kPath = "/dev/kfd";
  const int error = system.open(system.root + kPath);
  if (error == 0) return {"kfd", State::kOk, "/dev/kfd can be opened"};
  if (error != ENOENT) return refused("kfd", system, kPath, error, gpu);
  return {"kfd", state_of_missing(gpu), "no /dev/kfd: this system has no ROCm device", kLoadDriver};
}

Check check_render_nodes(const Surroundings& system, Gpu gpu) {
  const std::vector<std::string> nodes = render_nodes(system);
  if (nodes.empty())
    return {"render-nodes", state_of_missing(gpu), "no /dev/dri/renderD*", kLoadDriver};
  for (const std::string& node : nodes) {
    if (const int error = system.open(system.root + node); error != 0)
      return refused("render-nodes", system, node, error, gpu);
  }
  return {"render-nodes", State::kOk, fmt::format("{} can be opened", fmt::join(nodes, ", "))};
}

Check check_driver(const Surroundings& system, Gpu gpu) {
  std::vector<std::string> gpus;
  std::error_code error;
  for (const fs::directory_entry& node :
       fs::directory_iterator(system.root + "/sys/class/kfd/kfd/topology/nodes", error)) {
    // A node with version 0 is a processor.
    const auto version = number_in(node.path() / "properties", "gfx_target_version");
    if (version && *version != 0)
      gpus.push_back(
          fmt::format("{} (node {})", target_name(*version), node.path().filename().string()));
  }
  if (gpus.empty())
    return {"driver", state_of_missing(gpu), "the kernel driver lists no GPU", kLoadDriver};
  std::ranges::sort(gpus);
  std::string version;
  std::ifstream(system.root + "/sys/module/amdgpu/version") >> version;
  return {"driver", State::kOk,
          fmt::format("amdgpu {}: {}", version.empty() ? "of the kernel" : version,
                      fmt::join(gpus, ", "))};
}

}  // namespace gfxgraph::tools::doctor
