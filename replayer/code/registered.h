// Kernels registered with the HIP runtime the way a compiled program registers its own: the only
// ones that HIP 5 launches cooperatively (it lacks hipModuleLaunchCooperativeKernel).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Owns its registrations and the bytes that HIP keeps pointers to. Not thread-safe.
class RegisteredKernels {
 public:
  // The entry points are there.
  static bool possible(const HipTable& table);

  explicit RegisteredKernels(std::shared_ptr<const HipLibrary> library)
      : library_(std::move(library)) {}
  ~RegisteredKernels();
  RegisteredKernels(const RegisteredKernels&) = delete;
  RegisteredKernels& operator=(const RegisteredKernels&) = delete;

  // The handle of kernel `id` for hipLaunchCooperativeKernel. `elf` is its checked code object, of
  // which HIP makes a second copy beside the module: kUnsupported if it has variables.
  Result<const void*> add(const Program& program, format::KernelId id, const std::string& target,
                          std::span<const std::byte> elf);

 private:
  struct Object {
    format::CodeObjectId id = 0;
    std::vector<std::byte> bundle;
    std::unique_ptr<hip::FatBinary> wrapper;
    void** registration = nullptr;
  };
  struct Stub {
    format::KernelId kernel = 0;
    std::string name;
    std::unique_ptr<char> handle;  // its address is what counts
  };
  Result<void**> registration(const Program& program, format::CodeObjectId id,
                              const std::string& target, std::span<const std::byte> elf);

  std::shared_ptr<const HipLibrary> library_;
  std::vector<Object> objects_;
  std::vector<std::unique_ptr<Stub>> stubs_;
};

}  // namespace gfxgraph::replayer
