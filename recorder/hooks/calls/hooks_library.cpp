// Hooks of libraries (HIP 7). A kernel's handle is accepted both as a function and as a host
// function.
#include <algorithm>
#include <optional>
#include <vector>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"

using namespace gfxgraph::recorder;

namespace {

// Makes a call that needs the library's code. The first one makes the runtime read the code from
// the program's memory or file, even if the library has no kernel of the requested name.
template <typename Call>
hipError_t call_reading_code(Library library, bool record, Call&& call) {
  if (!record) return call();
  std::optional<std::vector<std::byte>> code = recorder().code().unread_library(library);
  const hipError_t result = call();
  if (code && (result == hipSuccess || result == hipErrorNotFound)) {
    recorder().code().library_read(library, std::move(*code));
  }
  return result;
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipLibraryLoadData(Library* library, const void* image,
                                            hipJitOption* jit_options, void** jit_values,
                                            unsigned int jit_count, void* options, void** values,
                                            unsigned int count) {
  GFXGRAPH_CALL_THEN(hipLibraryLoadData, recorder().code().library_loaded(*library, image, nullptr),
                     library, image, jit_options, jit_values, jit_count, options, values, count);
}

GFXGRAPH_HOOK hipError_t hipLibraryLoadFromFile(Library* library, const char* path,
                                                hipJitOption* jit_options, void** jit_values,
                                                unsigned int jit_count, void* options,
                                                void** values, unsigned int count) {
  GFXGRAPH_CALL_THEN(hipLibraryLoadFromFile,
                     recorder().code().library_loaded(*library, nullptr, path), library, path,
                     jit_options, jit_values, jit_count, options, values, count);
}

GFXGRAPH_HOOK hipError_t hipLibraryUnload(Library library) {
  const Scope scope;
  if (scope.record) recorder().code().module_unloading(library);
  return real(kCall_hipLibraryUnload, library);
}

GFXGRAPH_HOOK hipError_t hipLibraryGetKernelCount(unsigned int* count, Library library) {
  const Scope scope;
  return call_reading_code(library, scope.record,
                           [&] { return real(kCall_hipLibraryGetKernelCount, count, library); });
}

GFXGRAPH_HOOK hipError_t hipLibraryGetKernel(LibraryKernel* kernel, Library library,
                                             const char* name) {
  const Scope scope;
  const hipError_t result = call_reading_code(library, scope.record, [&] {
    return real(kCall_hipLibraryGetKernel, kernel, library, name);
  });
  if (scope.record && result == hipSuccess)
    recorder().code().function_found(*kernel, library, name);
  return result;
}

GFXGRAPH_HOOK hipError_t hipLibraryEnumerateKernels(LibraryKernel* kernels, unsigned int size,
                                                    Library library) {
  const Scope scope;
  const hipError_t result = call_reading_code(library, scope.record, [&] {
    return real(kCall_hipLibraryEnumerateKernels, kernels, size, library);
  });
  unsigned int count = 0;
  if (!scope.record || result != hipSuccess ||
      real(kCall_hipLibraryGetKernelCount, &count, library) != hipSuccess) {
    return result;
  }
  for (unsigned int i = 0; i < std::min(size, count); ++i) {
    const char* name = nullptr;
    if (real(kCall_hipKernelGetName, &name, kernels[i]) == hipSuccess) {
      recorder().code().function_found(kernels[i], library, name);
    }
  }
  return result;
}
