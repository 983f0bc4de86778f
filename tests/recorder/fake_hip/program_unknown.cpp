// Calls of functions that the recorder does not know or does not record, on fake_hip. Says what
// each returned.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

using Function = int (*)(int);
struct Extent {
  size_t width, height, depth;
};

extern "C" {
int hipMalloc(void** pointer, size_t bytes);
int hipFree(void* pointer);
int hipGetProcAddress(const char* name, void** function, int version, uint64_t flags, void* status);
int hipBindTexture2D(size_t offset, size_t reference, size_t memory, size_t format, size_t width,
                     size_t height, size_t pitch);
int hipMallocArray(void** array, const void* format, size_t width, size_t height, unsigned flags);
int hipFreeArray(void* array);
int hipMallocMipmappedArray(void** array, const void* format, Extent extent, unsigned levels,
                            unsigned flags);
int hipMipmappedArrayCreate(void** array, void* description, unsigned levels);
#ifdef LINKED
int hipFutureLinked(int value);
#endif
#ifdef HSA
int hsa_init();
int hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void* callback, void* data,
                     uint32_t private_bytes, uint32_t group_bytes, void** queue);
#endif
}

// What a function of the plugin returns; -1 when there is none.
static int call_plugin(const char* function, int flags) {
  void* const plugin = dlopen("libplugin_unknown.so", RTLD_LAZY | RTLD_LOCAL | flags);
  void* const found = plugin == nullptr ? nullptr : dlsym(plugin, function);
  return found == nullptr ? -1 : reinterpret_cast<int (*)()>(found)();
}

// Makes an HSA queue of `slots` by functions that it looks up. -1: there is no HSA.
static int make_hsa_queue(uint32_t slots, bool by_version, bool call) {
  void* const hsa = dlopen("libhsa-runtime64.so.1", RTLD_LAZY);
  if (hsa == nullptr) return -1;
  const auto init = reinterpret_cast<int (*)()>(dlsym(hsa, "hsa_init"));
  using Visit = int (*)(uint64_t, void*);
  const auto agents = reinterpret_cast<int (*)(Visit, void*)>(dlsym(hsa, "hsa_iterate_agents"));
  using Create = int (*)(uint64_t, uint32_t, uint32_t, void*, void*, uint32_t, uint32_t, void**);
  const auto create = reinterpret_cast<Create>(
      by_version ? dlvsym(hsa, "hsa_queue_create", "ROCR_1") : dlsym(hsa, "hsa_queue_create"));
  if (init == nullptr || agents == nullptr || create == nullptr || init() != 0) return -1;
  if (!call) return 0;
  uint64_t last = 0;
  const Visit keep = [](uint64_t agent, void* kept) {
    *static_cast<uint64_t*>(kept) = agent;
    return 0;
  };
  agents(keep, &last);
  void* queue = nullptr;
  return create(last, slots, 0, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* mode) { return std::strcmp(how, mode) == 0; };
  const auto versioned = [](void* handle, const char* name) {
    return dlvsym(handle, name, "hip_4.2");
  };
  if (is("versioned_first")) (void)versioned(RTLD_DEFAULT, "hipFree");
  void* memory = nullptr;
  if (hipMalloc(&memory, 64) != 0) return 1;
  void* found = nullptr;
  if (is("looked_up")) found = dlsym(RTLD_DEFAULT, "hipFutureCall");
  if (is("by_handle") || is("not_called")) {
    void* handle = dlopen("libamdhip64.so.5", RTLD_LAZY);
    if (handle != nullptr) found = dlsym(handle, "hipFutureCall");
  }
  if (is("namespaces") && dlmopen(LM_ID_NEWLM, "libamdhip64.so.5", RTLD_LAZY) == nullptr) return 2;
  if (is("versioned")) {
    found = versioned(RTLD_NEXT, "hipFutureCall");
    void* handle = dlopen("libamdhip64.so.5", RTLD_LAZY);
    std::printf("%d ", versioned(handle, "hipMemset") != dlsym(handle, "hipMemset"));
  }
  if (is("versioned_other")) {
    // One that is not recorded either way, one that is not there, and one that HIP has no part in.
    std::printf("%d", versioned(RTLD_DEFAULT, "hipDriverGetVersion") != nullptr);
    std::printf("%d", versioned(RTLD_DEFAULT, "hipMemcpyDtoD") != nullptr);
    std::printf("%d", dlvsym(RTLD_DEFAULT, "hipMalloc", "hip_0") != nullptr);
    std::printf("%d\n", call_plugin("plugin_finds_itself", 0));
  }
  if (is("hsa_looked_up")) std::printf("%d\n", make_hsa_queue(64, false, true));
  if (is("hsa_refused")) std::printf("%d\n", make_hsa_queue(0, false, true));
  if (is("hsa_only_looked_up")) std::printf("%d\n", make_hsa_queue(64, false, false));
  if (is("hsa_versioned")) std::printf("%d\n", make_hsa_queue(64, true, false));
  if (is("plugin")) std::printf("%d\n", call_plugin("plugin_calls_hip", 0));
  if (is("plugin_deep")) std::printf("%d\n", call_plugin("plugin_calls_hip", RTLD_DEEPBIND));
  if (is("plugin_deep_idle")) {
    std::printf("%d\n", call_plugin("plugin_finds_itself", RTLD_DEEPBIND));
  }
  if (is("by_runtime")) (void)hipGetProcAddress("hipFutureCall", &found, 0, 0, nullptr);
  if (found != nullptr && !is("not_called")) {
    const auto function = reinterpret_cast<Function>(found);
    std::printf("%d", function(7));
    std::printf(" %d\n", function(8));
  }
  const auto bind = [](size_t pitch) { return hipBindTexture2D(1, 2, 3, 4, 5, 6, pitch); };
  if (is("unsupported")) std::printf("%d\n", bind(7));
  if (is("refused")) std::printf("%d\n", bind(8));
  if (is("array")) {
    const int format[5] = {32, 0, 0, 0, 2};
    void* array = nullptr;
    std::printf("%d", hipMallocArray(&array, format, 4, 4, 0));
    std::printf(" %d\n", hipFreeArray(array));
  }
  if (is("mipmapped")) {
    void* array = nullptr;
    std::printf("%d", hipMallocMipmappedArray(&array, nullptr, {8, 8, 0}, 2, 0));
    std::printf(" %d\n", hipMipmappedArrayCreate(&array, nullptr, 2));
  }
#ifdef LINKED
  if (is("linked")) std::printf("%d\n", hipFutureLinked(7));
#endif
#ifdef HSA
  if (is("hsa")) {
    void* queue = nullptr;
    std::printf("%d", hsa_init());
    std::printf(" %d\n", hsa_queue_create(0, 64, 0, nullptr, nullptr, 0, 0, &queue) != 0);
  }
#endif
  return hipFree(memory);
}
