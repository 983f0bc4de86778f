#include "replayer/code/modules.h"

#include <fmt/format.h>

#include "base/process/gpu_target.h"
#include "replayer/code/code_version.h"
#include "replayer/code/elf_check.h"

namespace gfxgraph::replayer {
namespace {

std::string_view processor(std::string_view target) {
  target = short_target(target);
  return target.substr(0, target.find(':'));
}

// Of code object `id` and its images for other targets, the one that suits the device best.
Result<const format::CodeObject*> image_for(const format::Trace& trace, format::CodeObjectId id,
                                            const std::string& architecture) {
  const format::CodeObject& recorded = trace.code_objects()[id - 1];
  const format::CodeObject* best = nullptr;
  int best_score = 0;
  bool images = false;
  std::string there;
  for (const format::CodeObject& one : trace.code_objects()) {
    images = images || one.image_of != 0;
    if (one.id != id && one.image_of != id) continue;
    if (!there.empty()) there += ", ";
    there += short_target(one.target);
    const int score = code_suitability(one.target, architecture);
    if (score <= best_score) continue;
    best = &one;
    best_score = score;
  }
  if (best != nullptr) return best;
  // HIP knows best which features it takes; other processors check_architecture() has refused.
  if (!images || processor(recorded.target) == processor(architecture)) return &recorded;
  std::string kernels;
  for (const format::Kernel& kernel : trace.kernels()) {
    if (kernel.code_object != id) continue;
    if (!kernels.empty()) kernels += ", ";
    kernels += kernel.name;
  }
  return fail(Status::kUnsupported,
              fmt::format("code object {} ({}) is in the trace for {} only, the device is {}: "
                          "record it compiled for both, with --all-targets",
                          id, kernels.empty() ? "variables" : kernels, there, architecture));
}

}  // namespace

Modules::~Modules() {
  for (hip::Module module : modules_) {
    if (module != nullptr) library_->table().hipModuleUnload(module);
  }
}

Result<void> Modules::load_module(const Program& program, format::CodeObjectId id) {
  if (modules_[id - 1] != nullptr) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(images_[id - 1], image_for(program.trace(), id, architecture_));
  const format::CodeObject& object = *images_[id - 1];
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

const format::CodeObject& Modules::image(const Program& program, format::CodeObjectId id) const {
  if (id <= images_.size() && images_[id - 1] != nullptr) return *images_[id - 1];
  return program.trace().code_objects()[id - 1];
}

// The arguments of the trace are laid out as in the code that was loaded when it was recorded.
Result<void> Modules::check_layout(const Program& program, const format::Kernel& kernel) const {
  const format::CodeObject& object = image(program, kernel.code_object);
  if (object.image_of == 0) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  const std::optional<KernelDescriptor> found = find_descriptor(elf, kernel.name);
  if (!found) {
    return fail(Status::kUnsupported, fmt::format("the code for {} has no kernel {}",
                                                  short_target(object.target), kernel.name));
  }
  // Hand-written code may leave it to the metadata.
  if (found->kernarg_bytes() == 0 || found->kernarg_bytes() == kernel.kernarg_size_bytes) return {};
  return fail(
      Status::kUnsupported,
      fmt::format("kernel {} takes {} bytes of arguments in the code for {}, not {} as in the "
                  "recorded one",
                  kernel.name, found->kernarg_bytes(), short_target(object.target),
                  kernel.kernarg_size_bytes));
}

Result<void> Modules::load_function(const Program& program, const format::Kernel& kernel,
                                    hip::Function& function) {
  GFXGRAPH_TRY(check_layout(program, kernel));
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
  const format::CodeObject& object = image(program, kernel.code_object);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  const Result<const void*> stub = registered_.add(program, id, object.target, elf);
  if (!stub) {
    return with_context(stub.error(),
                        fmt::format("launch {} kernel {}", operation.launch_index, kernel.name));
  }
  stubs_[id - 1] = *stub;
  return {};
}

Result<std::unique_ptr<Modules>> Modules::load(std::shared_ptr<const HipLibrary> library,
                                               const Program& program,
                                               const std::string& architecture) {
  std::unique_ptr<Modules> modules(new Modules(std::move(library)));
  modules->architecture_ = architecture;
  modules->modules_.resize(program.trace().code_objects().size());
  modules->images_.resize(program.trace().code_objects().size());
  modules->functions_.resize(program.trace().kernels().size());
  modules->stubs_.resize(program.trace().kernels().size());
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kLaunch) continue;
    const format::Kernel& kernel = program.kernel(*operation.launch);
    hip::Function& function = modules->functions_[operation.launch->kernel - 1];
    if (function == nullptr) {
      GFXGRAPH_TRY(modules->load_module(program, kernel.code_object));
      GFXGRAPH_TRY(modules->load_function(program, kernel, function));
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
