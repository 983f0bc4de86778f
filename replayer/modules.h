// The code objects and functions that a program launches, loaded into a HIP context.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/hip_library.h"
#include "replayer/program.h"
#include "replayer/registered.h"

namespace gfxgraph::replayer {

// Owns its HIP modules. Not thread-safe; the program and its trace must outlive it (HIP keeps
// pointers into the image).
class Modules {
 public:
  // Loads the code objects that launches and module globals need, and only those.
  static Result<std::unique_ptr<Modules>> load(std::shared_ptr<const HipLibrary> library,
                                               const Program& program);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  hip::Function function(format::KernelId id) const { return functions_[id - 1]; }
  // For hipLaunchCooperativeKernel, where HIP does not launch a module's function cooperatively and
  // the program does so; else null.
  const void* stub(format::KernelId id) const { return stubs_[id - 1]; }
  struct Global {
    void* address = nullptr;
    size_t size_bytes = 0;
  };
  // Whether a variable is at its recorded address.
  bool at_recorded_address(const Program& program) const;
  Result<Global> global(format::CodeObjectId code_object, const std::string& symbol) const;

 private:
  explicit Modules(std::shared_ptr<const HipLibrary> library)
      : library_(library), registered_(std::move(library)) {}
  Result<void> load_module(const Program& program, format::CodeObjectId id);
  Result<void> load_function(const format::Kernel& kernel, hip::Function& function);
  Result<void> load_stub(const Program& program, const Operation& operation);

  std::shared_ptr<const HipLibrary> library_;
  std::vector<hip::Module> modules_;      // index = id - 1, null: not needed
  std::vector<hip::Function> functions_;  // index = kernel id - 1, null: not launched
  RegisteredKernels registered_;
  std::vector<const void*> stubs_;  // index = kernel id - 1
};

}  // namespace gfxgraph::replayer
