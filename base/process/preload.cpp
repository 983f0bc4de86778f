#include "base/process/preload.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace gfxgraph::preload {
namespace {

struct Search {
  const char* prefix;
  char* path;
};

int compare_library(dl_phdr_info* info, size_t, void* data) {
  const auto* search = static_cast<const Search*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr) return 0;
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  if (std::strncmp(file, search->prefix, std::strlen(search->prefix)) != 0) return 0;
  const size_t size = std::strlen(path) + 1;
  if (size > PATH_MAX) return 0;
  std::memcpy(search->path, path, size);
  return 1;
}

}  // namespace

DlsymFunction system_dlsym() noexcept {
  static std::atomic<DlsymFunction> cached{nullptr};
  DlsymFunction function = cached.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  // dlvsym, because a plain lookup finds this library's own dlsym first. 2.34 moved dlsym into
  // libc.so.6 under a new version; 2.2.5 is the first x86-64 version.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    void* found = dlvsym(RTLD_NEXT, "dlsym", version);
    if (found == nullptr) continue;
    function = reinterpret_cast<DlsymFunction>(found);
    cached.store(function, std::memory_order_relaxed);
    return function;
  }
  return nullptr;
}

void* call_dlsym(DlsymFunction dlsym, void* handle, const char* name) noexcept {
  return dlsym == nullptr ? nullptr : dlsym(handle, name);
}

DlsymFunction next_dlsym() noexcept {
  static std::atomic<DlsymFunction> cached{nullptr};
  DlsymFunction function = cached.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  const DlsymFunction system = system_dlsym();
  void* const next = call_dlsym(system, RTLD_NEXT, "dlsym");
  function = next == nullptr ? system : reinterpret_cast<DlsymFunction>(next);
  cached.store(function, std::memory_order_relaxed);
  return function;
}

bool find_loaded(const char* prefix, char (&path)[PATH_MAX]) noexcept {
  path[0] = '\0';
  Search search{prefix, path};
  dl_iterate_phdr(compare_library, &search);
  return path[0] != '\0';
}

void keep_loaded(void* function) noexcept {
  static std::atomic<bool> kept{false};
  if (kept.exchange(true)) return;
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return;
  (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void* find_hip_function(DlsymFunction dlsym, const char* name) noexcept {
  if (void* found = call_dlsym(dlsym, RTLD_NEXT, name); found != nullptr) {
    keep_loaded(found);
    return found;
  }
  char path[PATH_MAX];
  if (!find_loaded("libamdhip64", path)) return nullptr;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  return call_dlsym(dlsym, handle, name);  // the reference stays: see keep_loaded()
}

bool may_be_hip(const char* name) noexcept {
  return std::strncmp(name, "hip", 3) == 0 || std::strncmp(name, "__hip", 5) == 0 ||
         std::strncmp(name, "_Z", 2) == 0;
}

}  // namespace gfxgraph::preload
