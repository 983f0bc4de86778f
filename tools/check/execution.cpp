#include "tools/check/execution.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "check/report/user_line.h"
#include "emulator/analysis/control_flow.h"
#include "emulator/decode/operand_uses.h"
#include "tools/coverage/code_image.h"
#include "tools/coverage/kernel_walk.h"

namespace gfxgraph::tools {
namespace {

using check::ExecutedInstruction;
using check::ExecutedKernel;
using check::ExecutedLine;
using check::ExecutionCounts;
using emulator::Format;

bool has_lanes(Format format) {
  return emulator::is_vector_alu(format) || (format >= Format::kDs && format <= Format::kMimg);
}

// A code object with what is known of its kernels' jumps.
struct ObjectCode {
  CodeImage image;
  std::shared_ptr<const emulator::RegionTable> memory;
  std::map<std::string, KernelWalk> walks;

  static Result<ObjectCode> read(std::shared_ptr<const codeobj::CodeObject> object) {
    GFXGRAPH_ASSIGN_OR_RETURN(CodeImage image, CodeImage::load(std::move(object)));
    ObjectCode code{std::move(image), nullptr, {}};
    for (KernelWalk& walk : walk_kernels(code.image)) {
      std::string name = walk.name;
      code.walks.emplace(std::move(name), std::move(walk));
    }
    return code;
  }
};

void add(ExecutionCounts& counts, const emulator::Inst& inst, const ExecutedInstruction& ran,
         uint64_t launched) {
  ++counts.instructions;
  counts.executed += ran.executions != 0 ? 1 : 0;
  if (emulator::flow_of(inst).kind == emulator::FlowKind::kBranch) {
    counts.ways += 2;
    counts.ways_taken += (ran.jumped ? 1u : 0u) + (ran.passed ? 1u : 0u);
  }
  if (!has_lanes(inst.format)) return;
  counts.lanes += static_cast<uint64_t>(std::popcount(launched));
  counts.lanes_executed += static_cast<uint64_t>(std::popcount(ran.lanes & launched));
}

class KernelExecution {
 public:
  KernelExecution(const ObjectCode& code, const codeobj::Kernel& kernel,
                  const check::ExecutedObject& executed)
      : code_(code), kernel_(kernel), executed_(executed) {}

  ExecutedKernel count() {
    ExecutedKernel result;
    result.kernel = kernel_.name;
    const auto walk = code_.walks.find(kernel_.name);
    const KernelWalk unknown;
    const KernelWalk& known = walk == code_.walks.end() ? unknown : walk->second;
    result.unknown_calls = known.unknown_calls;
    if (known.unknown_jump) result.incomplete = "a jump's target is known only at run time";
    constexpr size_t kMostInstructions = 1 << 20;
    emulator::CodeReader reader(*code_.memory);
    std::deque<emulator::Inst> reached;
    uint64_t launched = 0;
    const auto graph = emulator::ControlFlow::trace(
        kernel_.entry_address, reader, kMostInstructions,
        [&](uint32_t, const emulator::Inst& inst) {
          reached.emplace_back().copy_fields(inst);
          launched |= ran_of(inst.pc).launched;
        },
        &known.jumps);
    if (!graph) result.incomplete = "too much code";
    for (const emulator::Inst& inst : reached) add_instruction(inst, launched, result);
    for (auto& [place, line] : lines_) result.lines.push_back(std::move(line));
    return result;
  }

 private:
  ExecutedInstruction ran_of(uint64_t pc) const {
    const auto found = executed_.instructions.find(pc);
    return found == executed_.instructions.end() ? ExecutedInstruction() : found->second;
  }
  void add_instruction(const emulator::Inst& inst, uint64_t launched, ExecutedKernel& result) {
    const ExecutedInstruction ran = ran_of(inst.pc);
    add(result.counts, inst, ran, launched);
    const auto source = check::user_line(*executed_.object, inst.pc);
    if (!source || source->line == 0 || source->file.empty()) return;
    ExecutedLine& line = lines_[{source->file, source->line}];
    line.file = source->file;
    line.line = source->line;
    line.executions = std::max(line.executions, ran.executions);
    add(line.counts, inst, ran, launched);
    if (emulator::flow_of(inst).kind == emulator::FlowKind::kBranch)
      line.branches.push_back({ran.jumped, ran.passed});
  }

  const ObjectCode& code_;
  const codeobj::Kernel& kernel_;
  const check::ExecutedObject& executed_;
  std::map<std::pair<std::string, uint32_t>, ExecutedLine> lines_;
};

}  // namespace

Result<check::ExecutionTable> execution_of(const format::Trace& trace,
                                           const check::BudgetLimits& limits,
                                           const check::LaunchProgress& progress) {
  GFXGRAPH_ASSIGN_OR_RETURN(const check::ExecutedTrace ran,
                            check::executed_code(trace, limits, progress));
  check::ExecutionTable table;
  table.made = true;
  table.stopped = ran.stopped.empty() ? ran.failure : ran.stopped;
  std::map<format::CodeObjectId, ObjectCode> objects;
  for (const format::Kernel& kernel : trace.kernels()) {
    if (kernel.code_object == 0 || kernel.code_object > ran.objects.size()) continue;
    const check::ExecutedObject& executed = ran.objects[kernel.code_object - 1];
    const codeobj::Kernel* const found =
        executed.object == nullptr ? nullptr : executed.object->find_kernel(kernel.name);
    if (found == nullptr) continue;
    auto at = objects.find(kernel.code_object);
    if (at == objects.end()) {
      GFXGRAPH_ASSIGN_OR_RETURN(ObjectCode code, ObjectCode::read(executed.object));
      at = objects.emplace(kernel.code_object, std::move(code)).first;
      GFXGRAPH_ASSIGN_OR_RETURN(at->second.memory, at->second.image.code_regions());
    }
    ExecutedKernel counted = KernelExecution(at->second, *found, executed).count();
    counted.launches = ran.launches[kernel.id - 1];
    if (counted.launches != 0) table.kernels.push_back(std::move(counted));
  }
  return table;
}

}  // namespace gfxgraph::tools
