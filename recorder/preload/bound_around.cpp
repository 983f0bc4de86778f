#include "recorder/preload/bound_around.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/preload/hip_calls.h"
#include "recorder/preload/hsa_work.h"
#include "recorder/preload/loaded_object.h"
#include "recorder/preload/unknown_calls.h"

namespace gfxgraph::recorder {
namespace {

constexpr std::string_view kRuntime = "libamdhip64";
// Our own libraries between the program and the runtime, which call the runtime.
constexpr std::string_view kOurs[] = {"libgfxgraph-recorder", "libgfxgraph-hip-errors"};
// Libraries below HIP that submit work to HSA for it, or observe it.
constexpr std::string_view kBelowHip[] = {
    kRuntime,       "libhsa-runtime64", "libhsa-amd-aqlprofile",
    "libroctracer", "librocprofiler",   "librocm_"};
// Once some are known the trace is incomplete: more add no information.
constexpr int kMostLookUps = 32;
constinit char looked_up[kMostLookUps][120] = {};
constinit int looked_up_count = 0;
constinit std::mutex looked_up_mutex;

bool begins_with_one_of(std::string_view name, auto& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

std::string program_name() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/thread-self/exe", path, sizeof(path));
  if (size <= 0) return "the program";
  return std::string(file_name({path, static_cast<size_t>(size)}));
}

struct Search {
  std::vector<std::pair<uintptr_t, uintptr_t>> runtime;  // ranges of its code and data
  std::set<std::string> without_row;                     // linked; maybe of the runtime
  std::vector<Device::Bypass> found;

  bool in_runtime(uintptr_t address) const {
    return std::ranges::any_of(runtime, [&](const auto& range) {
      return range.first <= address && address < range.second;
    });
  }
};

int collect_runtime(dl_phdr_info* info, size_t, void* data) {
  if (!file_name(info->dlpi_name).starts_with(kRuntime)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD) continue;
    static_cast<Search*>(data)->runtime.emplace_back(begin, begin + segment.p_memsz);
  }
  return 0;
}

int search_object(dl_phdr_info* info, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  const std::string_view file = file_name(info->dlpi_name);
  if (file.starts_with(kRuntime) || begins_with_one_of(file, kOurs)) return 0;
  const LoadedObject object(*info);
  bool search_hsa = !begins_with_one_of(file, kBelowHip);
  bool search_hip = true;
  const auto report = [&](const std::string& why) {
    search.found.push_back({file.empty() ? program_name() : std::string(file), why});
  };
  object.each_import([&](const LoadedObject::Import& import) {
    const char* const name = import.name;
    if (search_hsa && std::strncmp(name, "hsa_", 4) == 0) {
      if (!gives_hsa_work(name)) return;
      const uintptr_t function = import.bound_to();
      if (function == 0 || object.contains(function)) return;  // never called
      report(std::string("it uses ") + name +
             ": device work that is given to HSA directly is not recorded");
      search_hsa = false;
      return;
    }
    if (!preload::may_be_hip(name) || std::strstr(name, "hip") == nullptr) return;
    const int index = find_call(name);
    if (index < 0) {
      search.without_row.insert(name);
    } else if (search_hip && hook_function(index) != nullptr &&
               search.in_runtime(import.bound_to())) {
      // Without the function: functions that are bound by their first calls would make more
      // findings.
      report("its HIP calls are bound past the recorder (RTLD_DEEPBIND?) and not recorded");
      search_hip = false;
    }
  });
  return 0;
}

bool several_hip_runtimes() {
  // Other namespaces are not in dl_iterate_phdr. A loaded copy has its code mapped once; a file
  // that is only read is not executable.
  std::multiset<std::string> code;  // offset, device, inode
  std::set<std::string> files;
  std::ifstream maps("/proc/thread-self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!file_name(line).starts_with(kRuntime) || line.find('/') == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, access, offset, device, inode;
    words >> range >> access >> offset >> device >> inode;
    if (access != "r-xp") continue;
    const std::string file = device + " " + inode;
    files.insert(file);
    code.insert(file + " " + offset);
  }
  bool twice = files.size() > 1;
  for (const std::string& part : code) twice = twice || code.count(part) > 1;
  return twice;
}

}  // namespace

bool is_below_hip(const void* code) noexcept {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         begins_with_one_of(file_name(info.dli_fname), kBelowHip);
}

void looked_up_around(const char* name) noexcept {
  const std::lock_guard lock(looked_up_mutex);
  for (int i = 0; i < looked_up_count; ++i) {
    if (std::strncmp(looked_up[i], name, sizeof(looked_up[i]) - 1) == 0) return;
  }
  if (looked_up_count == kMostLookUps) return;
  char* const place = looked_up[looked_up_count++];
  std::strncpy(place, name, sizeof(looked_up[0]) - 1);
}

std::vector<Device::Bypass> ways_around() {
  Search search;
  dl_iterate_phdr(collect_runtime, &search);
  dl_iterate_phdr(search_object, &search);
  // Looked up outside of dl_iterate_phdr, which holds the dynamic linker's lock. dladdr looks at
  // each symbol of a library: too slow for names that are LLVM's, with which HIP 5.7 is linked.
  for (const std::string& name : search.without_row) {
    void* const function = preload::find_hip_function(hip_dlsym(), name.c_str());
    if (search.in_runtime(reinterpret_cast<uintptr_t>(function)) &&
        is_function_of_runtime(function)) {
      search.found.push_back({name, "linked; gfxgraph does not know this function"});
    }
  }
  {
    const std::lock_guard lock(looked_up_mutex);
    for (int i = 0; i < looked_up_count; ++i) {
      search.found.push_back({std::string(demangled_call(looked_up[i])),
                              "looked up by dlvsym; its calls are not recorded"});
    }
  }
  if (several_hip_runtimes()) {
    search.found.push_back(
        {"libamdhip64", "loaded more than once; calls of one copy are not recorded"});
  }
  return std::move(search.found);
}

}  // namespace gfxgraph::recorder
