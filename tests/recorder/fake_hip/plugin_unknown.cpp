// A library that program_unknown opens, linked to fake_hip.
#include <dlfcn.h>

#include <cstddef>

extern "C" {
int hipMalloc(void** pointer, size_t bytes);
int hipFree(void* pointer);

__attribute__((visibility("default"))) int plugin_calls_hip() {
  void* memory = nullptr;
  if (hipMalloc(&memory, 64) != 0) return 1;
  return hipFree(memory);
}

// Opened with RTLD_LOCAL, it is in the scope of its own look-ups only. Not a tail call: dlvsym must
// find this library by its return address.
__attribute__((visibility("default"))) int plugin_finds_itself() {
  void* const found = dlvsym(RTLD_DEFAULT, "plugin_calls_hip", "hip_4.2");
  return found == reinterpret_cast<void*>(&plugin_calls_hip) ? 1 : 0;
}
}
