#include "footprint/flow.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/analysis/control_flow.h"

namespace gfxgraph::footprint {
namespace {

using emulator::FlowKind;
using emulator::Op;
namespace operand = emulator::operand;

// A longer kernel, or one whose loops take longer, may do anything.
constexpr size_t kMostInstructions = 1 << 16;
constexpr size_t kMostSteps = 1 << 21;
constexpr uint32_t kVisitsBeforeWidening = 3;
constexpr size_t kMostThresholds = 64;

// AMDGPUUsage, "Initial Kernel Execution State": bits of kernel_code_properties in the order of
// their user SGPRs.
struct UserSgprs {
  unsigned bit;
  unsigned count;
  Origins origins;
};
constexpr UserSgprs kUserSgprs[] = {
    {0, 4, origin::kScratch},
    {1, 2, origin::kPacket},
    {2, 2, origin::kAny},
    {3, 2, origin::kKernarg},
    {4, 2, 0},
    {5, 2, origin::kScratch},
    {6, 1, 0},
};

}  // namespace

void Flow::unknown(std::string why, uint64_t pc) {
  if (!result_.unknown.empty()) return;
  result_.unknown = std::move(why);
  result_.unknown_pc = pc;
}

bool Flow::trace() {
  emulator::CodeReader reader(*input_.memory);
  const auto graph = emulator::ControlFlow::trace(
      input_.entry, reader, kMostInstructions, [&](uint32_t n, const Inst& inst) {
        if (nodes_.size() <= n) nodes_.resize(n + 1);
        nodes_[n].inst.copy_fields(inst);
        emulator::describe_operands(nodes_[n].inst, nodes_[n].operands);
      });
  if (!graph) {
    unknown("the kernel has too many instructions", input_.entry);
    return false;
  }
  nodes_.resize(graph->nodes().size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const emulator::ControlFlow::Node& from = graph->nodes()[n];
    FlowNode& node = nodes_[n];
    node.kind = from.kind;
    node.successors = from.successors;
    for (unsigned s = 0; s < from.successors; ++s) node.successor[s] = from.successor[s];
    node.begins = node.begins || n == 0 || from.predecessors > 1;
    if (from.successors > 1)
      for (unsigned s = 0; s < from.successors; ++s) nodes_[from.successor[s]].begins = true;
    switch (from.kind) {
      case FlowKind::kCall:
      case FlowKind::kIndirectCall:
      case FlowKind::kIndirectJump:
        unknown("it calls a function, or jumps to an address in a register", from.pc);
        return false;
      case FlowKind::kLoop: unknown("it has a subvector loop", from.pc); return false;
      case FlowKind::kUndecoded:
        unknown("it has no gfx1030 instruction there", from.pc);
        return false;
      default: break;
    }
  }
  return true;
}

Lanes Flow::beginning() const {
  const codeobj::KernelDescriptor& kernel = *input_.descriptor;
  Lanes lanes(std::clamp(kernel.vgpr_count(kernel.wave32()), 4u, 256u));
  constexpr uint64_t kNames = uint64_t{1} << 62;
  unsigned n = 0;
  for (const UserSgprs& one : kUserSgprs) {
    if ((kernel.kernel_code_properties >> one.bit & 1) == 0) continue;
    for (unsigned d = 0; d < one.count; ++d) {
      Value value = Value::of(kAny32, one.origins);
      value.name = kNames + n;
      if (d == 1) {
        value.lower = kNames + n - 1;
        value.wide = Range::exactly(0);
      }
      lanes.scalar(n++) = value;
    }
  }
  n = kernel.user_sgpr_count();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if ((kernel.compute_pgm_rsrc2 >> (7 + axis) & 1) == 0) continue;
    const uint32_t groups = (input_.grid[axis] + input_.block[axis] - 1) / input_.block[axis];
    lanes.scalar(n) = Value::of({0, int64_t{groups} - 1, 1});
    lanes.scalar(n).name = kNames + n;
    ++n;
  }
  if ((kernel.compute_pgm_rsrc2 >> 10 & 1) != 0) lanes.scalar(n++) = Value::of(kAny32);
  if ((kernel.compute_pgm_rsrc2 & 1) != 0) lanes.scalar(n++) = Value::of(kAny32, origin::kScratch);
  const unsigned ids = std::min(kernel.compute_pgm_rsrc2 >> 11 & 3, 2u) + 1;
  for (unsigned axis = 0; axis < ids; ++axis) {
    lanes.vector(axis) = Value::of({0, int64_t{input_.block[axis]} - 1, 1});
    lanes.vector(axis).name = kNames + 256 + axis;
  }
  return lanes;
}

KernelFootprint Flow::run() {
  for (const uint32_t axis : {0, 1, 2}) {
    if (input_.block[axis] != 0 && input_.grid[axis] != 0) continue;
    unknown("the grid is empty", input_.entry);
    return std::move(result_);
  }
  if (input_.pointers.size() > kMostPointers) {
    unknown("it has too many pointers among its arguments", input_.entry);
    return std::move(result_);
  }
  if (!trace()) return std::move(result_);
  // A second round if the first one finds that LDS or scratch may hold pointers.
  for (bool kept = true; kept;) {
    const bool before = keeps_pointers_;
    if (!iterate()) return std::move(result_);
    kept = keeps_pointers_ != before;
  }
  recording_ = true;
  for (uint32_t n = 0; n < nodes_.size() && result_.unknown.empty(); ++n)
    if (states_[n]) walk(n, *states_[n]);
  if (!result_.unknown.empty()) result_.uses.clear();
  std::ranges::sort(result_.uses, {}, [](const PointerUse& use) {
    return std::pair(use.pointer, static_cast<int>(use.kind));
  });
  return std::move(result_);
}

bool Flow::iterate() {
  states_.assign(nodes_.size(), std::nullopt);
  visits_.assign(nodes_.size(), 0);
  states_[0] = beginning();
  open_ = {0};
  while (!open_.empty() && result_.unknown.empty()) {
    const uint32_t next = *open_.begin();
    open_.erase(open_.begin());
    walk(next, *states_[next]);
    if (steps_ > kMostSteps) unknown("its loops take too long to follow", input_.entry);
  }
  return result_.unknown.empty();
}

// From a node that begins to the next ones that do.
void Flow::walk(uint32_t first, Lanes lanes) {
  for (uint32_t n = first;;) {
    const FlowNode& node = nodes_[n];
    ++steps_;
    step(n, lanes);
    if (!result_.unknown.empty() || node.successors == 0) return;
    if (node.successors == 1) {
      if (nodes_[node.successor[0]].begins) return go_on(node.successor[0], std::move(lanes));
      n = node.successor[0];
      continue;
    }
    // The first successor is the branch's target.
    const Op op = node.inst.op;
    const auto to = [&](unsigned way, bool no_lanes, const std::vector<Condition>& held,
                        bool not_held) {
      Lanes copy = lanes;
      if (no_lanes) copy.empty();
      for (const Condition& one : held) {
        Condition condition = one;
        using Is = Condition::Is;
        if (not_held) {
          switch (one.is) {
            case Is::kLess: condition.is = Is::kAtLeast; break;
            case Is::kLessSigned: condition.is = Is::kAtLeastSigned; break;
            case Is::kAtLeast: condition.is = Is::kLess; break;
            case Is::kAtLeastSigned: condition.is = Is::kLessSigned; break;
            case Is::kEqual: continue;
          }
        }
        copy.apply(condition, true);
      }
      go_on(node.successor[way], std::move(copy));
    };
    std::vector<Condition> held;
    if (op == Op::s_cbranch_scc0 || op == Op::s_cbranch_scc1) held = lanes.mask(kScc).conditions;
    to(0, op == Op::s_cbranch_execz, held, op == Op::s_cbranch_scc0);
    to(1, op == Op::s_cbranch_execnz, held, op == Op::s_cbranch_scc1);
    return;
  }
}

void Flow::go_on(uint32_t to, Lanes lanes) {
  if (recording_) return;
  const Level level = to + kFirstLevel + 1 + static_cast<Level>(nodes_.size());
  lanes.arrive(level, name_of_join(to, false));
  std::optional<Lanes>& state = states_[to];
  if (!state) {
    state = std::move(lanes);
  } else {
    const bool widen = ++visits_[to] > kVisitsBeforeWidening;
    std::ranges::sort(thresholds_);
    thresholds_.erase(std::ranges::unique(thresholds_).begin(), thresholds_.end());
    if (thresholds_.size() > kMostThresholds) thresholds_.resize(kMostThresholds);
    if (!state->join(std::move(lanes), level, name_of_join(to, false),
                     widen ? &thresholds_ : nullptr))
      return;
  }
  open_.insert(to);
}

KernelFootprint kernel_footprint(const KernelInput& input) { return Flow(input).run(); }

}  // namespace gfxgraph::footprint
