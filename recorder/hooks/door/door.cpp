// libgfxgraph-door.so: what rocprofiler-register loads for a tool, by ROCPROFILER_REGISTER_LIBRARY
// or when a tool attaches to a running process. HIP 6.2 and newer hand it their tables of functions
// at their first call, where they were built with rocprofiler-register. It loads the recorder,
// beside it, for itself alone: with names in the global scope the recorder would come in front of
// libraries that are loaded later, and under these names in front of profilers.
// Source: rocprofiler-register.h and how rocprofiler-register finds a tool.
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

// The library beside this one; nullptr, and a line on stderr: there is none that can be used.
void* recorder() {
  static void* const handle = [] {
    Dl_info own{};
    char path[PATH_MAX];
    if (dladdr(reinterpret_cast<void*>(&recorder), &own) == 0 || own.dli_fname == nullptr)
      return static_cast<void*>(nullptr);
    const char* const file = std::strrchr(own.dli_fname, '/');
    const int folder = file == nullptr ? 0 : static_cast<int>(file - own.dli_fname + 1);
    std::snprintf(path, sizeof(path), "%.*slibgfxgraph-recorder.so", folder, own.dli_fname);
    void* const loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr) dprintf(STDERR_FILENO, "gfxgraph: not recorded: %s\n", dlerror());
    return loaded;
  }();
  return handle;
}

template <typename Function>
Function find(const char* name) {
  void* const from = recorder();
  return from == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(from, name));
}

}  // namespace

#define GFXGRAPH_DOOR extern "C" __attribute__((visibility("default")))

// 0: taken. Otherwise HIP runs as if there were no tool.
GFXGRAPH_DOOR int rocprofiler_set_api_table(const char* name, uint64_t version, uint64_t instance,
                                            void** tables, uint64_t table_count) {
  const auto set = find<int (*)(const char*, uint64_t, uint64_t, void**, uint64_t)>(
      "gfxgraph_recorder_api_table");
  return set == nullptr ? 1 : set(name, version, instance, tables, table_count);
}

// A tool that attaches to a running process: its tables came by the function above.
GFXGRAPH_DOOR int rocprofiler_attach() { return recorder() == nullptr ? 1 : 0; }
GFXGRAPH_DOOR int rocprofiler_detach() {
  const auto detach = find<void (*)()>("gfxgraph_recorder_detach");
  if (detach == nullptr) return 1;
  detach();
  return 0;
}

// What a program finds by gfxgraph/record.h in the global scope.
GFXGRAPH_DOOR void gfxgraph_recorder_range_begin(const char* name) {
  if (const auto begin = find<void (*)(const char*)>("gfxgraph_recorder_range_begin")) begin(name);
}
GFXGRAPH_DOOR void gfxgraph_recorder_range_end(const char* name) {
  if (const auto end = find<void (*)(const char*)>("gfxgraph_recorder_range_end")) end(name);
}
GFXGRAPH_DOOR void gfxgraph_recorder_mark(const char* text) {
  if (const auto mark = find<void (*)(const char*)>("gfxgraph_recorder_mark")) mark(text);
}
GFXGRAPH_DOOR void gfxgraph_recorder_name(const void* pointer, const char* name) {
  if (const auto call = find<void (*)(const void*, const char*)>("gfxgraph_recorder_name"))
    call(pointer, name);
}
