#include "base/process/hip_lookup.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace gfxgraph::preload {

DlsymAnswer resolve_hip(const HookTable& table, void* handle, const char* name) {
  const DlsymFunction next = table.next();
  const DlsymAnswer ask_the_next_one{reinterpret_cast<void*>(next), 0};
  if (handle == RTLD_NEXT || !may_be_hip(name)) return ask_the_next_one;
  const int index = table.find(name);
  if (index < 0) {
    if (table.unknown == nullptr || std::strstr(name, "hip") == nullptr) return ask_the_next_one;
    void* const found =
        handle == RTLD_DEFAULT ? find_hip_function(next, name) : call_dlsym(next, handle, name);
    void* const given = table.unknown(name, found);
    return given == found ? ask_the_next_one : DlsymAnswer{given, 1};
  }
  if (table.hook(index) == nullptr) return ask_the_next_one;
  // The hook exists whether or not the runtime has the function: only the runtime's result counts.
  if (handle == RTLD_DEFAULT)
    return {table.real(index) == nullptr ? nullptr : table.hook(index), 1};
  void* const found = call_dlsym(next, handle, name);
  if (found == nullptr) return {nullptr, 1};
  table.learn(index, found);
  return {table.hook(index), 1};
}

void hook_pointer(const HookTable& table, const char* name, void** function, bool per_thread) {
  if (name == nullptr || function == nullptr || *function == nullptr) return;
  int index = table.find(name);
  char variant_name[128];
  const int length = std::snprintf(variant_name, sizeof(variant_name), "%s_spt", name);
  if (per_thread && length > 0 && static_cast<size_t>(length) < sizeof(variant_name)) {
    const int variant = table.find(variant_name);
    if (variant >= 0) index = variant;
  }
  if (index < 0) {
    if (table.unknown != nullptr) *function = table.unknown(name, *function);
    return;
  }
  if (table.hook(index) == nullptr) return;
  table.learn(index, *function);
  *function = table.hook(index);
}

}  // namespace gfxgraph::preload
