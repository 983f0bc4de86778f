// The code objects and functions that a program launches, loaded into a HIP context.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/live/objects.h"
#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/code/registered.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Owns its HIP modules. Not thread-safe; the program and its trace must outlive it (HIP keeps
// pointers into the image).
class Modules {
 public:
  // Loads the code objects that launches and module globals need, and only those.
  // Of code that the trace has for several targets, that for `architecture` ("gfx90a:xnack-").
  // kUnsupported: it has none for it.
  static Result<std::unique_ptr<Modules>> load(std::shared_ptr<const HipLibrary> library,
                                               const Program& program,
                                               const std::string& architecture);
  // In place: the functions that the recorded process launches, and nothing is loaded. A kernel
  // whose code it does not have any more gets neither function nor stub.
  static std::unique_ptr<Modules> take(std::shared_ptr<const HipLibrary> library,
                                       const Program& program, const live::Objects& objects);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Null: only the stub is known (in place).
  hip::Function function(format::KernelId id) const { return functions_[id - 1]; }
  // For hipLaunchKernel and hipLaunchCooperativeKernel: in place, and where HIP does not launch a
  // module's function cooperatively and the program does so; else null.
  const void* stub(format::KernelId id) const { return stubs_[id - 1]; }
  // Whether it has loaded code of its own: in place it has none.
  bool loads() const { return loads_; }
  struct Global {
    void* address = nullptr;
    size_t size_bytes = 0;
  };
  // Whether a variable is at its recorded address.
  bool at_recorded_address(const Program& program) const;
  // The code of a code object, as this device has it. In place: the recorded one.
  const format::CodeObject& image(const Program& program, format::CodeObjectId id) const;
  // Not in place.
  Result<Global> global(format::CodeObjectId code_object, const std::string& symbol) const;

 private:
  explicit Modules(std::shared_ptr<const HipLibrary> library)
      : library_(library), registered_(std::move(library)) {}
  Result<void> load_module(const Program& program, format::CodeObjectId id);
  Result<void> check_layout(const Program& program, const format::Kernel& kernel) const;
  Result<void> load_function(const Program& program, const format::Kernel& kernel,
                             hip::Function& function);
  Result<void> load_stub(const Program& program, const Operation& operation);
  hip::Function function_of(const void* stub) const;

  std::shared_ptr<const HipLibrary> library_;
  bool loads_ = true;
  std::string architecture_;
  std::vector<const format::CodeObject*> images_;  // index = id - 1, null: not needed
  std::vector<hip::Module> modules_;               // index = id - 1, null: not needed
  std::vector<hip::Function> functions_;           // index = kernel id - 1, null: not launched
  RegisteredKernels registered_;
  std::vector<const void*> stubs_;  // index = kernel id - 1
};

}  // namespace gfxgraph::replayer
