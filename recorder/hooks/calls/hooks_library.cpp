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

// HIP returns the kernel's own handle. Another one would be the same kernel.
GFXGRAPH_HOOK hipError_t hipKernelGetFunction(hipFunction_t* function, LibraryKernel kernel) {
  GFXGRAPH_CALL_THEN(hipKernelGetFunction, recorder().code().function_of_kernel(*function, kernel),
                     function, kernel);
}

namespace {

template <int kIndex>
hipError_t library_variable(void** address, size_t* bytes, Library library, const char* name,
                            const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record || (address == nullptr && bytes == nullptr)) {
    return real(kIndex, address, bytes, library, name);
  }
  // The program may want one of the two only.
  void* found = nullptr;
  size_t size = 0;
  const hipError_t result = call_reading_code(library, true, [&] {
    return real(kIndex, address == nullptr ? nullptr : &found, &size, library, name);
  });
  if (result != hipSuccess) return result;
  if (address != nullptr) {
    *address = found;
    recorder().code().global_found(library, name, address_of(found), size,
                                   display_name(kIndex).data());
  }
  if (bytes != nullptr) *bytes = size;
  return result;
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipLibraryGetGlobal(void** address, size_t* bytes, Library library,
                                             const char* name) {
  return library_variable<kCall_hipLibraryGetGlobal>(address, bytes, library, name);
}

GFXGRAPH_HOOK hipError_t hipLibraryGetManaged(void** address, size_t* bytes, Library library,
                                              const char* name) {
  return library_variable<kCall_hipLibraryGetManaged>(address, bytes, library, name);
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
