// Locates the code of kernels that packets name. HIP has loaded it: a second copy would silently
// have its own variables. A code object is found in HIP's executable by the address of one of its
// variables; one without variables may exist twice and is loaded again through HIP, whose new
// executable is then used. In place, where the code is the program's, it is the only executable
// with a kernel of this name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/abi/hsa_library.h"
#include "replayer/code/modules.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

struct PacketKernel {
  uint64_t object = 0;  // address of the descriptor
  uint32_t kernarg_bytes = 0;
  uint32_t group_bytes = 0;
  uint32_t private_bytes = 0;
  bool dynamic_stack = false;
};

// Not thread-safe. The trace outlives it.
class PacketCode {
 public:
  PacketCode(std::shared_ptr<const HipLibrary> hip, std::shared_ptr<const HsaLibrary> hsa,
             uint64_t agent)
      : hip_(std::move(hip)), hsa_(std::move(hsa)), agent_(agent) {}
  ~PacketCode();
  PacketCode(const PacketCode&) = delete;
  PacketCode& operator=(const PacketCode&) = delete;

  Result<PacketKernel> find(const Program& program, const Modules& modules,
                            const format::Kernel& kernel);
  // A kernel of the library itself; kUnsupported: none was compiled for this architecture.
  Result<PacketKernel> own(const std::string& architecture, const char* kernel);
  // The same for HIP's streams.
  Result<hip::Function> own_function(const std::string& architecture, const char* kernel);

 private:
  struct Copy {
    hip::Module module = nullptr;
    uint64_t executable = 0;
  };
  Result<Copy> load_alone(std::span<const std::byte> elf, const std::string& kernel) const;
  Result<uint64_t> executable_of(const Program& program, const Modules& modules,
                                 const format::Kernel& kernel);
  // Of those that the process has loaded.
  Result<PacketKernel> find_only(const format::Kernel& kernel) const;
  Result<void> load_own(const std::string& architecture);
  Result<PacketKernel> describe(uint64_t executable, const std::string& kernel) const;

  std::shared_ptr<const HipLibrary> hip_;
  std::shared_ptr<const HsaLibrary> hsa_;
  uint64_t agent_;
  std::map<format::CodeObjectId, uint64_t> executables_;
  std::vector<Copy> copies_;
  std::vector<std::byte> own_elf_;  // HIP reads it as long as the module lives
  Copy own_;
};

}  // namespace gfxgraph::replayer
