#include "recorder/preload/unknown_calls.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "recorder/preload/hip_calls.h"

// trampolines.S
extern "C" __attribute__((visibility("hidden"))) void gfxgraph_unknown_hooks();

namespace gfxgraph::recorder {
namespace {

constexpr size_t kHookBytes = 16;
constexpr std::string_view kRuntime = "libamdhip64";

struct Slot {
  std::atomic<void*> function{nullptr};
  char name[120] = {};
};
constinit Slot slots[GFXGRAPH_UNKNOWN_CALLS];
constinit std::mutex slots_mutex;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// By its address: many libraries of ROCm have names that begin with "hip".
bool is_function_of_runtime(void* address) noexcept {
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) return false;
  if (info.dli_fname == nullptr || !file_name(info.dli_fname).starts_with(kRuntime)) return false;
  return symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

// Calls `visit` with the name of each symbol that relocations of this object refer to.
template <typename Visit>
void each_import(const dl_phdr_info& object, Visit&& visit) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
  }
  if (dynamic == nullptr) return;
  // The dynamic linker has made addresses of most of these, but not in the vdso's.
  const auto address = [&](uint64_t value) {
    return value < object.dlpi_addr ? value + object.dlpi_addr : value;
  };
  const char* strings = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  struct Table {
    const ElfW(Rela) * begin = nullptr;
    size_t bytes = 0;
  } tables[2];
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uint64_t value = dynamic->d_un.d_val;
    switch (dynamic->d_tag) {
      case DT_STRTAB: strings = reinterpret_cast<const char*>(address(value)); break;
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(address(value)); break;
      case DT_RELA: tables[0].begin = reinterpret_cast<const ElfW(Rela)*>(address(value)); break;
      case DT_RELASZ: tables[0].bytes = value; break;
      case DT_JMPREL: tables[1].begin = reinterpret_cast<const ElfW(Rela)*>(address(value)); break;
      case DT_PLTRELSZ: tables[1].bytes = value; break;
      default: break;
    }
  }
  if (strings == nullptr || symbols == nullptr) return;
  for (const Table& table : tables) {
    if (table.begin == nullptr) continue;
    for (size_t i = 0; i < table.bytes / sizeof(ElfW(Rela)); ++i) {
      const uint64_t symbol = ELF64_R_SYM(table.begin[i].r_info);
      if (symbol != 0) visit(strings + symbols[symbol].st_name);
    }
  }
}

}  // namespace

void* hook_unknown_call(const char* name, void* function, bool* full) noexcept {
  *full = false;
  if (function == nullptr || !is_function_of_runtime(function)) return function;
  const auto hooks = reinterpret_cast<uintptr_t>(&gfxgraph_unknown_hooks);
  const std::lock_guard lock(slots_mutex);
  for (size_t i = 0; i < GFXGRAPH_UNKNOWN_CALLS; ++i) {
    Slot& slot = slots[i];
    void* const known = slot.function.load(std::memory_order_relaxed);
    if (known == nullptr) {
      std::strncpy(slot.name, name, sizeof(slot.name) - 1);
      slot.function.store(function, std::memory_order_release);
    }
    if (known == nullptr || known == function) {
      return reinterpret_cast<void*>(hooks + i * kHookBytes);
    }
  }
  *full = true;
  return function;
}

void* unknown_call_function(int slot) noexcept {
  return slots[slot].function.load(std::memory_order_acquire);
}

const char* unknown_call_name(int slot) noexcept { return slots[slot].name; }

std::vector<std::string> linked_unknown_calls() {
  struct Linked {
    std::set<std::string> names;
    std::vector<std::pair<uintptr_t, uintptr_t>> runtime;  // where its code and data are
  } linked;
  const auto collect = [](dl_phdr_info* object, size_t, void* data) {
    Linked& found = *static_cast<Linked*>(data);
    if (file_name(object->dlpi_name).starts_with(kRuntime)) {  // what it imports is its own affair
      for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD) found.runtime.emplace_back(begin, begin + segment.p_memsz);
      }
      return 0;
    }
    each_import(*object, [&](const char* name) {
      if (std::strstr(name, "hip") == nullptr || !preload::may_be_hip(name)) return;
      if (find_call(name) < 0) found.names.insert(name);
    });
    return 0;
  };
  dl_iterate_phdr(collect, &linked);
  // dladdr looks at each symbol of a library: too slow for names that are LLVM's, with which
  // HIP 5.7 is linked.
  const auto in_runtime = [&](const void* function) {
    const auto address = reinterpret_cast<uintptr_t>(function);
    return std::any_of(linked.runtime.begin(), linked.runtime.end(), [&](const auto& range) {
      return range.first <= address && address < range.second;
    });
  };
  // Looked up outside of dl_iterate_phdr, which holds the dynamic linker's lock.
  std::vector<std::string> unknown;
  for (const std::string& name : linked.names) {
    void* const function = preload::find_hip_function(hip_dlsym(), name.c_str());
    if (in_runtime(function) && is_function_of_runtime(function)) unknown.push_back(name);
  }
  return unknown;
}

bool several_hip_runtimes() {
  // Other namespaces are not in dl_iterate_phdr. A loaded copy has its code mapped once; a file
  // that is only read is not executable.
  std::multiset<std::string> code;  // offset, device, inode
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
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

}  // namespace gfxgraph::recorder
