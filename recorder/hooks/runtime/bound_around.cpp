#include "recorder/hooks/runtime/bound_around.h"

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

#include "base/agent_memory.h"
#include "recorder/hooks/calls/hip_calls.h"
#include "recorder/hooks/runtime/hsa_work.h"
#include "recorder/hooks/runtime/loaded_object.h"
#include "recorder/hooks/runtime/unknown_calls.h"
#include "recorder/lock_order.h"

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
constinit Mutex<LockRank::kLast> looked_up_mutex;

bool begins_with_one_of(std::string_view name, auto& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

std::string program_name() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/thread-self/exe", path, sizeof(path));
  if (size <= 0) return "the program";
  return std::string(file_name({path, static_cast<size_t>(size)}));
}

// A function that a loaded object imports, which may be bound to the runtime or to HSA by its first
// call: what stands there then tells.
struct Import {
  size_t object = 0;
  const void* slot = nullptr;
  const char* name = nullptr;
  bool hsa = false;
};

struct Object {
  std::string name;
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;  // of its code and data

  bool contains(uintptr_t address) const {
    return std::ranges::any_of(ranges, [&](const auto& range) {
      return range.first <= address && address < range.second;
    });
  }
};

// Addresses and names are valid as long as these objects are loaded.
struct Search {
  uint64_t loaded = 0, unloaded = 0;  // how often the dynamic linker did so
  Object runtime;
  std::vector<Object> objects;
  std::vector<Import> imports;
  std::set<std::string> without_row;  // linked; maybe of the runtime
  std::vector<Device::Bypass> fixed;  // found, whatever is called
};

void add_ranges(const dl_phdr_info& info, Object& object) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) object.ranges.emplace_back(begin, begin + segment.p_memsz);
  }
}

int search_object(dl_phdr_info* info, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  search.loaded = info->dlpi_adds;
  search.unloaded = info->dlpi_subs;
  const std::string_view file = file_name(info->dlpi_name);
  if (file.starts_with(kRuntime)) add_ranges(*info, search.runtime);
  if (file.starts_with(kRuntime) || begins_with_one_of(file, kOurs)) return 0;
  const LoadedObject object(*info);
  const bool below = begins_with_one_of(file, kBelowHip);
  const size_t number = search.objects.size();
  const size_t before = search.imports.size();
  object.each_import([&](const LoadedObject::Import& import) {
    const char* const name = import.name;
    const auto watch = [&](bool hsa) {
      if (const void* const slot = import.slot())
        search.imports.push_back({number, slot, name, hsa});
    };
    if (!below && std::strncmp(name, "hsa_", 4) == 0) {
      if (gives_hsa_work(name)) watch(true);
      return;
    }
    if (!preload::may_be_hip(name) || std::strstr(name, "hip") == nullptr) return;
    const int index = find_call(name);
    if (index < 0) {
      search.without_row.insert(name);
    } else if (hook_function(index) != nullptr) {
      watch(false);
    }
  });
  if (search.imports.size() == before) return 0;
  Object& added = search.objects.emplace_back();
  added.name = file.empty() ? program_name() : std::string(file);
  add_ranges(*info, added);
  return 0;
}

// What the imports are bound to by now: one finding of each kind for an object.
void look_at_imports(const Search& search, std::vector<Device::Bypass>& found) {
  size_t told_hip = SIZE_MAX, told_hsa = SIZE_MAX;
  for (const Import& import : search.imports) {
    size_t& told = import.hsa ? told_hsa : told_hip;
    if (told == import.object) continue;
    const Object& object = search.objects[import.object];
    uintptr_t function = 0;
    std::memcpy(&function, import.slot, sizeof(function));
    if (import.hsa) {
      if (function == 0 || object.contains(function)) continue;  // never called
      found.push_back({object.name, std::string("it uses ") + import.name +
                                        ": device work that is given to HSA directly is not "
                                        "recorded"});
    } else {
      if (came_by_table.load(std::memory_order_relaxed)) continue;
      if (!search.runtime.contains(function)) continue;
      // Without the function: functions that are bound by their first calls would make more
      // findings.
      found.push_back({object.name,
                       "its HIP calls are bound past the recorder (RTLD_DEEPBIND?) "
                       "and not recorded"});
    }
    told = import.object;
  }
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
    std::string part = device;
    part.append(" ").append(inode);
    files.insert(part);
    part.append(" ").append(offset);
    code.insert(std::move(part));
  }
  bool twice = files.size() > 1;
  for (const std::string& part : code) twice = twice || code.count(part) > 1;
  return twice;
}

}  // namespace

bool only_agent_is_loaded() {
  struct Count {
    int all = 0;
    int agents = 0;
  } count;
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    // Wheels of Python contain the runtime under other names.
    if (file_name(info->dlpi_name).find("hsa-runtime64") == std::string_view::npos) return 0;
    ++static_cast<Count*>(data)->all;
    if (LoadedObject(*info).exported_function(kAgentZeroFunction) != nullptr)
      ++static_cast<Count*>(data)->agents;
    return 0;
  };
  dl_iterate_phdr(look, &count);
  return count.all != 0 && count.agents == count.all;
}

bool is_below_hip(const void* code) noexcept {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         begins_with_one_of(file_name(info.dli_fname), kBelowHip);
}

bool called_by_program(const void* site) noexcept {
  const auto object_of = [](const void* code) -> const link_map* {
    dl_find_object found{};
    return _dl_find_object(const_cast<void*>(code), &found) == 0 ? found.dlfo_link_map : nullptr;
  };
  const link_map* const caller = object_of(site);
  if (caller == nullptr) return true;  // code that was made at run time
  // What calls itself most. Its map lives as long as hooks are called from it.
  static thread_local const link_map* known = nullptr;
  if (caller == known) return false;
  const std::string_view file = file_name(caller->l_name);
  // A function of the runtime that ends with a jump to another one returns to its hook.
  if (!begins_with_one_of(file, kBelowHip) && !begins_with_one_of(file, kOurs)) return true;
  known = caller;
  return false;
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

namespace {

// The last search, for as long as no object is loaded or unloaded: a capture of a step asks at its
// end each time (live_captures.h).
struct Known {
  Mutex<LockRank::kLast> mutex;
  Search search;
};
Known& known() {
  static auto* const known = new Known;
  return *known;
}

// False: the objects are others than those of the last search. In a callback, so that they stay.
bool look_again(std::vector<Device::Bypass>& found) {
  struct Again {
    std::vector<Device::Bypass>& found;
    bool same = false;
  } again{found};
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    const std::lock_guard lock(known().mutex);
    const Search& search = known().search;
    if (search.loaded != info->dlpi_adds || search.unloaded != info->dlpi_subs) return 1;
    auto& [into, same] = *static_cast<Again*>(data);
    into = search.fixed;
    look_at_imports(search, into);
    same = true;
    return 1;
  };
  dl_iterate_phdr(look, &again);
  return again.same;
}

void search_anew() {
  Search search;
  dl_iterate_phdr(search_object, &search);
  // Looked up outside of dl_iterate_phdr, which holds the dynamic linker's lock. dladdr looks at
  // each symbol of a library: too slow for names that are LLVM's, with which HIP 5.7 is linked.
  for (const std::string& name : search.without_row) {
    void* const function = preload::find_hip_function(hip_dlsym(), name.c_str());
    if (search.runtime.contains(reinterpret_cast<uintptr_t>(function)) &&
        is_function_of_runtime(function)) {
      search.fixed.push_back({name, "linked; gfxgraph does not know this function"});
    }
  }
  if (several_hip_runtimes()) {
    search.fixed.push_back(
        {"libamdhip64", "loaded more than once; calls of one copy are not recorded"});
  }
  const std::lock_guard lock(known().mutex);
  known().search = std::move(search);
}

}  // namespace

std::vector<Device::Bypass> ways_around() {
  constexpr int kTrials = 8;  // libraries that are loaded meanwhile
  std::vector<Device::Bypass> found;
  for (int i = 0; i < kTrials && !look_again(found); ++i) search_anew();
  const std::lock_guard lock(looked_up_mutex);
  for (int i = 0; i < looked_up_count; ++i) {
    found.push_back({std::string(demangled_call(looked_up[i])),
                     "looked up by dlvsym; its calls are not recorded"});
  }
  return found;
}

}  // namespace gfxgraph::recorder
