#include "replayer/packets/packet_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <span>

#include "replayer/code/elf_check.h"
#include "replayer/code/own_code.h"

namespace gfxgraph::replayer {
namespace {

// Another thread may load the same code at the same time.
constexpr int kAttempts = 5;

std::mutex& load_mutex() {
  static auto* const mutex = new std::mutex();
  return *mutex;
}

}  // namespace

PacketCode::~PacketCode() {
  if (own_.module != nullptr) copies_.push_back(own_);
  for (const Copy& copy : copies_) hip_->table().hipModuleUnload(copy.module);
}

Result<PacketCode::Copy> PacketCode::load_alone(std::span<const std::byte> elf,
                                                const std::string& kernel) const {
  const std::lock_guard lock(load_mutex());
  const HipTable& hip = hip_->table();
  const std::string symbol = kernel + ".kd";
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::vector<uint64_t> before = hsa_->executables();
    Copy copy;
    GFXGRAPH_TRY(hip_->check(hip.hipModuleLoadData(&copy.module, elf.data()),
                             "mode packets: code of kernel " + kernel));
    hip::Function function = nullptr;
    const hip::Error code = hip.hipModuleGetFunction(&function, copy.module, kernel.c_str());
    size_t found = 0;
    for (const uint64_t executable : hsa_->executables()) {
      uint64_t handle = 0;
      if (std::ranges::find(before, executable) != before.end() ||
          hsa_->table().hsa_executable_get_symbol_by_name(executable, symbol.c_str(), &agent_,
                                                          &handle) != hsa_abi::kSuccess)
        continue;
      copy.executable = executable;
      ++found;
    }
    if (code == hip::kSuccess && found == 1) return copy;
    hip.hipModuleUnload(copy.module);
    GFXGRAPH_TRY(hip_->check(code, "mode packets: kernel " + kernel));
    if (found == 0) {
      return fail(Status::kUnsupported,
                  fmt::format("mode packets: kernel {}: HIP has loaded it, but no executable of "
                              "the HSA runtime contains it",
                              kernel));
    }
  }
  return fail(
      Status::kUnsupported,
      fmt::format("mode packets: kernel {}: other threads keep loading the same code; try again",
                  kernel));
}

Result<uint64_t> PacketCode::executable_of(const Program& program, const Modules& modules,
                                           const format::Kernel& kernel) {
  const auto known = executables_.find(kernel.code_object);
  if (known != executables_.end()) return known->second;
  const format::CodeObject& object = modules.image(program, kernel.code_object);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  uint64_t executable = 0;
  for (const std::string& name : variable_names(elf)) {
    const Result<Modules::Global> global = modules.global(kernel.code_object, name);
    if (global &&
        hsa_->loader().query_executable(global->address, &executable) == hsa_abi::kSuccess) {
      return executables_[kernel.code_object] = executable;
    }
  }
  if (has_variables(elf)) {
    return fail(Status::kUnsupported,
                fmt::format("code object {} has variables, none of which HIP finds by its name: "
                            "its executable is not known, and a second copy would have its own",
                            kernel.code_object));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const Copy copy, load_alone(elf, kernel.name));
  copies_.push_back(copy);
  return executables_[kernel.code_object] = copy.executable;
}

Result<PacketKernel> PacketCode::describe(uint64_t executable, const std::string& kernel) const {
  const hsa_abi::Table& hsa = hsa_->table();
  const std::string name = kernel + ".kd";
  uint64_t symbol = 0;
  GFXGRAPH_TRY(hsa_->check(
      hsa.hsa_executable_get_symbol_by_name(executable, name.c_str(), &agent_, &symbol), name));
  PacketKernel found;
  const auto get = [&](uint32_t attribute, void* value) {
    return hsa_->check(hsa.hsa_executable_symbol_get_info(symbol, attribute, value), name);
  };
  GFXGRAPH_TRY(get(hsa_abi::kSymbolKernelObject, &found.object));
  GFXGRAPH_TRY(get(hsa_abi::kSymbolKernargBytes, &found.kernarg_bytes));
  GFXGRAPH_TRY(get(hsa_abi::kSymbolGroupBytes, &found.group_bytes));
  GFXGRAPH_TRY(get(hsa_abi::kSymbolPrivateBytes, &found.private_bytes));
  GFXGRAPH_TRY(get(hsa_abi::kSymbolDynamicCallStack, &found.dynamic_stack));
  return found;
}

// Another kernel of the name, of which the process has loaded this one only, is told by its sizes.
Result<PacketKernel> PacketCode::find_only(const format::Kernel& kernel) const {
  const std::string symbol = kernel.name + ".kd";
  uint64_t executable = 0;
  size_t found = 0;
  for (const uint64_t one : hsa_->executables()) {
    uint64_t handle = 0;
    if (one == own_.executable || hsa_->table().hsa_executable_get_symbol_by_name(
                                      one, symbol.c_str(), &agent_, &handle) != hsa_abi::kSuccess) {
      continue;
    }
    executable = one;
    ++found;
  }
  if (found != 1) {
    return fail(Status::kUnsupported,
                fmt::format("in place: {} of the process's executables have kernel {}: its code is "
                            "not known",
                            found == 0 ? "none" : std::to_string(found), kernel.name));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const PacketKernel described, describe(executable, kernel.name));
  if (described.kernarg_bytes == kernel.kernarg_size_bytes &&
      described.group_bytes == kernel.group_segment_bytes &&
      described.private_bytes == kernel.private_segment_bytes) {
    return described;
  }
  return fail(Status::kUnsupported,
              fmt::format("in place: the executable with kernel {} has another one of this name",
                          kernel.name));
}

Result<PacketKernel> PacketCode::find(const Program& program, const Modules& modules,
                                      const format::Kernel& kernel) {
  if (!modules.loads()) return find_only(kernel);
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t executable, executable_of(program, modules, kernel));
  return describe(executable, kernel.name);
}

Result<void> PacketCode::load_own(const std::string& architecture) {
  if (own_.module != nullptr) return {};
  own_elf_ = own_code(architecture);
  if (own_elf_.empty()) {
    return fail(Status::kUnsupported,
                fmt::format("mode packets: the library has no kernels of its own for {}, which "
                            "fences, copies and fills need (scripts/make-own-code)",
                            architecture));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(own_, load_alone(own_elf_, "gfxgraph_store"));
  return {};
}

Result<PacketKernel> PacketCode::own(const std::string& architecture, const char* kernel) {
  GFXGRAPH_TRY(load_own(architecture));
  return describe(own_.executable, kernel);
}

Result<hip::Function> PacketCode::own_function(const std::string& architecture,
                                               const char* kernel) {
  GFXGRAPH_TRY(load_own(architecture));
  hip::Function function = nullptr;
  GFXGRAPH_TRY(
      hip_->check(hip_->table().hipModuleGetFunction(&function, own_.module, kernel), kernel));
  return function;
}

}  // namespace gfxgraph::replayer
