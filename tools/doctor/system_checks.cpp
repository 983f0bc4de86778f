#include "tools/doctor/system_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <thread>

#include "base/amount.h"
#include "base/file/file.h"
#include "base/process/device.h"
#include "base/process/null_device.h"
#include "base/process/own_process.h"
#include "base/process/program.h"
#include "base/sanitized.h"
#include "codeobj/code_object.h"

namespace gfxgraph::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMib = uint64_t{1} << 20;

std::string amount_of(rlim_t limit, bool bytes) {
  if (limit == RLIM_INFINITY) return "unlimited";
  return bytes ? format_bytes(limit) : fmt::format("{}", limit);
}

// "PRETTY_NAME" of os-release(5), without its quotes.
std::string system_name() {
  constexpr std::string_view kName = "PRETTY_NAME=";
  std::ifstream lines("/etc/os-release");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kName)) continue;
    line.erase(0, kName.size());
    std::erase(line, '"');
    return line;
  }
  return "unknown";
}

bool kernel_asks_parents() {
  const uint32_t action = SECCOMP_RET_USER_NOTIF;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

// Bits or a file capability by which the loader ignores LD_PRELOAD; empty: none.
std::string privilege_of(const fs::path& program) {
  struct stat status{};
  if (::stat(program.c_str(), &status) != 0) return {};
  if ((status.st_mode & S_ISUID) != 0) return "set-user-ID";
  if ((status.st_mode & S_ISGID) != 0) return "set-group-ID";
  if (::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "file capabilities";
  return {};
}

}  // namespace

Limits limits() {
  Limits limits;
  ::getrlimit(RLIMIT_NOFILE, &limits.files);
  ::getrlimit(RLIMIT_MEMLOCK, &limits.locked);
  ::getrlimit(RLIMIT_AS, &limits.addresses);
  ::getrlimit(RLIMIT_DATA, &limits.data);
  return limits;
}

Check check_limits(const Limits& limits) {
  // HIP's runtime and the software agent reserve addresses far beyond what they use, and open a
  // few dozen files each.
  constexpr rlim_t kFewestFiles = 256;
  constexpr rlim_t kFewestAddresses = rlim_t{16} << 30;
  Check check{"limits", State::kOk,
              fmt::format("open files {} (at most {}), locked memory {}, addresses {}, data {}",
                          limits.files.rlim_cur, amount_of(limits.files.rlim_max, false),
                          amount_of(limits.locked.rlim_cur, true),
                          amount_of(limits.addresses.rlim_cur, true),
                          amount_of(limits.data.rlim_cur, true))};
  if (limits.files.rlim_cur < kFewestFiles) {
    check.state = State::kFailed;
    check.remedy = fmt::format("allow {} open files: ulimit -n {}", kFewestFiles, kFewestFiles);
  } else if (limits.addresses.rlim_cur < kFewestAddresses) {
    check.state = State::kFailed;
    check.remedy = "HIP reserves more addresses than that: ulimit -v unlimited";
  }
  return check;
}

Check check_temporary_folder(const fs::path& folder) {
  constexpr uint64_t kFewest = 64 * kMib;
  constexpr const char* kOther = "name another folder: export TMPDIR=FOLDER";
  Check check{"temporary-folder", State::kFailed, "", kOther};
  std::string name = (folder / "gfxgraph-doctor-XXXXXX").string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    check.detail =
        fmt::format("{}: no file can be made: {}", folder.string(), errno_message(errno));
    return check;
  }
  struct statvfs space{};
  const bool known = ::fstatvfs(fd, &space) == 0;
  ::close(fd);
  ::unlink(name.c_str());
  const uint64_t free_bytes = known ? uint64_t{space.f_bavail} * space.f_frsize : 0;
  check.detail = fmt::format("{}: {} free", folder.string(), format_bytes(free_bytes));
  if (free_bytes < kFewest) {
    check.detail += fmt::format(", {} are needed", format_bytes(kFewest));
    return check;
  }
  check.state = State::kOk;
  check.remedy.clear();
  return check;
}

Check check_sandbox(const Surroundings& system) {
  Check check{"sandbox", State::kOff};
  unsigned ptrace_scope = 0;
  std::ifstream(system.root + "/proc/sys/kernel/yama/ptrace_scope") >> ptrace_scope;
  if (kSanitized) {
    check.detail = "builds with sanitizers read traces without a sandbox";
  } else if (!kernel_asks_parents()) {
    check.detail = "the kernel or the container has no seccomp notifications";
    check.remedy = "Linux 5.14 or newer with seccomp has them; read no traces of strangers here";
  } else if (ptrace_scope > 1) {
    check.detail = fmt::format("kernel.yama.ptrace_scope is {}: a parent may not read its child",
                               ptrace_scope);
    check.remedy = "set it to 1; read no traces of strangers here";
  } else {
    const long landlock =
        ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    check.state = State::kOk;
    check.detail = "traces are read in a worker process: seccomp, " +
                   (landlock > 0 ? fmt::format("Landlock {}", landlock) : "no Landlock");
  }
  return check;
}

Check check_preload() {
  const Result<fs::path> recorder = private_library(kRecorderLibrary);
  if (!recorder) return check_of("preload", State::kFailed, recorder.error().message);
  if (::getauxval(AT_SECURE) != 0) {
    return {"preload", State::kFailed,
            "this process has more rights than its user: the loader ignores LD_PRELOAD",
            "start gfxgraph without set-user-ID and file capabilities"};
  }
  const char* const before = std::getenv("LD_PRELOAD");
  const Result<std::string> list = append_preload(before, *recorder, true);
  if (!list) return check_of("preload", State::kFailed, list.error().message);
  return {"preload", State::kOk, "LD_PRELOAD: " + *list};
}

Check check_program(const std::string& program, bool emulated) {
  const auto failed = [&](const std::string& message) {
    return check_of("program", State::kFailed, message);
  };
  const Result<fs::path> found = find_program(program);
  if (!found) return failed(found.error().message);
  const std::string name = found->string();
  const ProgramFile file = inspect_program(*found);
  if (!file.elf) {
    return {"program", State::kOff, name + " is a script: the program that it starts is recorded",
            "check that program, too"};
  }
  if (!file.x86_64) return failed(name + " is not an x86-64 program");
  if (file.interpreter.empty()) {
    return failed(name +
                  " is statically linked: nothing can be preloaded into it; link it dynamically");
  }
  if (const std::string privilege = privilege_of(*found); !privilege.empty()) {
    return failed(fmt::format("{} has {}: the loader ignores LD_PRELOAD; record a copy without",
                              name, privilege));
  }
  if (own_loader().empty()) {
    if (const std::optional<std::string> library = missing_hip_runtime(*found))
      return check_of("program", State::kFailed, explain_missing_hip_runtime(name, *library));
  }
  if (emulated) {
    const std::string message = codeobj::explain_other_targets(*found, agent_target());
    if (!message.empty()) return failed(message);
  }
  return {"program", State::kOk, name + " can be recorded"};
}

Host describe_host() {
  Host host;
  utsname name{};
  ::uname(&name);
  host.system = system_name();
  host.kernel = fmt::format("{} {}", name.sysname, name.release);
  host.c_library = std::string("glibc ") + ::gnu_get_libc_version();
  host.processors = std::max(1u, std::thread::hardware_concurrency());
  host.memory_bytes = physical_memory_bytes();
  return host;
}

std::map<std::string, std::string> environment_of_runtime() {
  constexpr std::array kPrefixes = {"GFXGRAPH_",
                                    "HIP_",
                                    "HSA_",
                                    "ROCR_",
                                    "ROCM_",
                                    "AMD_",
                                    "GPU_",
                                    "LD_PRELOAD=",
                                    "LD_LIBRARY_PATH=",
                                    "LD_AUDIT=",
                                    "CUDA_VISIBLE_DEVICES="};
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != text.npos &&
        std::ranges::any_of(kPrefixes, [&](const char* one) { return text.starts_with(one); }))
      found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

}  // namespace gfxgraph::tools::doctor
