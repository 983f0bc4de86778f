#include "replayer/code/modules.h"

#include <fmt/format.h>

#include "replayer/code/code_version.h"
#include "replayer/code/elf_check.h"

namespace gfxgraph::replayer {

Modules::~Modules() {
  for (hip::Module module : modules_) {
    if (module != nullptr) library_->table().hipModuleUnload(module);
  }
}

Result<void> Modules::load_module(const Program& program, format::CodeObjectId id) {
  if (modules_[id - 1] != nullptr) return {};
  const format::CodeObject& object = program.trace().code_objects()[id - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  if (const Result<void> checked = check_code_object(elf); !checked) {
    return with_context(checked.error(), fmt::format("code object {}", id));
  }
  if (const Result<void> fits = check_code_version(elf, library_->runtime_version()); !fits) {
    return with_context(fits.error(), fmt::format("code object {} for {}", id, object.target));
  }
  hip::Module module = nullptr;
  const hip::Error code = library_->table().hipModuleLoadData(&module, elf.data());
  if (code != hip::kSuccess) {
    return tl::unexpected<Error>(library_->error(
        code, fmt::format("code object {} for {} cannot be loaded", id, object.target)));
  }
  modules_[id - 1] = module;
  return {};
}

Result<void> Modules::load_function(const format::Kernel& kernel, hip::Function& function) {
  const hip::Error code = library_->table().hipModuleGetFunction(
      &function, modules_[kernel.code_object - 1], kernel.name.c_str());
  if (code == hip::kSuccess) return {};
  function = nullptr;
  Error error = library_->error(code, fmt::format("kernel {} is not found in code object {}",
                                                  kernel.name, kernel.code_object));
  if (error.status == Status::kDevice) error.status = Status::kNotFound;
  return tl::unexpected<Error>(std::move(error));
}

Result<void> Modules::load_stub(const Program& program, const Operation& operation) {
  const HipTable& table = library_->table();
  const format::KernelId id = operation.launch->kernel;
  if (!operation.launch->cooperative || stubs_[id - 1] != nullptr ||
      table.hipModuleLaunchCooperativeKernel != nullptr || !RegisteredKernels::possible(table))
    return {};
  const format::Kernel& kernel = program.kernel(*operation.launch);
  const format::CodeObject& object = program.trace().code_objects()[kernel.code_object - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  const Result<const void*> stub = registered_.add(program, id, elf);
  if (!stub) {
    return with_context(stub.error(),
                        fmt::format("launch {} kernel {}", operation.launch_index, kernel.name));
  }
  stubs_[id - 1] = *stub;
  return {};
}

Result<std::unique_ptr<Modules>> Modules::load(std::shared_ptr<const HipLibrary> library,
                                               const Program& program) {
  std::unique_ptr<Modules> modules(new Modules(std::move(library)));
  modules->modules_.resize(program.trace().code_objects().size());
  modules->functions_.resize(program.trace().kernels().size());
  modules->stubs_.resize(program.trace().kernels().size());
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kLaunch) continue;
    const format::Kernel& kernel = program.kernel(*operation.launch);
    hip::Function& function = modules->functions_[operation.launch->kernel - 1];
    if (function == nullptr) {
      GFXGRAPH_TRY(modules->load_module(program, kernel.code_object));
      GFXGRAPH_TRY(modules->load_function(kernel, function));
    }
    GFXGRAPH_TRY(modules->load_stub(program, operation));
  }
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || info.begin->kind != format::AllocationKind::kModuleGlobal)
      continue;
    GFXGRAPH_TRY(modules->load_module(program, info.begin->code_object));
  }
  return modules;
}

// Null: this runtime cannot say. HIP 6.2 and newer.
hip::Function Modules::function_of(const void* stub) const {
  const HipTable& hip = library_->table();
  hip::Function function = nullptr;
  if (stub == nullptr || hip.hipGetFuncBySymbol == nullptr) return nullptr;
  if (hip.hipGetFuncBySymbol(&function, stub) == hip::kSuccess) return function;
  hip.hipGetLastError();
  return nullptr;
}

std::unique_ptr<Modules> Modules::take(std::shared_ptr<const HipLibrary> library,
                                       const Program& program, const live::Objects& objects) {
  std::unique_ptr<Modules> modules(new Modules(std::move(library)));
  modules->loads_ = false;
  modules->functions_.resize(program.trace().kernels().size());
  modules->stubs_.resize(program.trace().kernels().size());
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kLaunch) continue;
    const format::KernelId id = operation.launch->kernel;
    hip::Function& function = modules->functions_[id - 1];
    const void*& stub = modules->stubs_[id - 1];
    if (function != nullptr || stub != nullptr) continue;
    const live::Code code = objects.code(objects.self, id);
    function = code.function != nullptr ? code.function : modules->function_of(code.stub);
    stub = code.stub;
  }
  return modules;
}

Result<Modules::Global> Modules::global(format::CodeObjectId code_object,
                                        const std::string& symbol) const {
  Global global;
  GFXGRAPH_TRY(library_->check(
      library_->table().hipModuleGetGlobal(&global.address, &global.size_bytes,
                                           modules_[code_object - 1], symbol.c_str()),
      fmt::format("variable {} of code object {}", symbol, code_object)));
  return global;
}

bool Modules::at_recorded_address(const Program& program) const {
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || info.begin->kind != format::AllocationKind::kModuleGlobal)
      continue;
    const Result<Global> found = global(info.begin->code_object, info.begin->symbol);
    if (found && reinterpret_cast<uint64_t>(found->address) == info.begin->recorded_address)
      return true;
  }
  return false;
}

}  // namespace gfxgraph::replayer
