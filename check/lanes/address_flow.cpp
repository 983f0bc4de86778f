#include "check/lanes/address_flow.h"

#include <algorithm>
#include <bitset>
#include <optional>

#include "check/lanes/bitwise.h"
#include "check/lanes/shadow_rule.h"
#include "emulator/analysis/control_flow.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {
namespace {

using emulator::Flow;
using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;
namespace operand = emulator::operand;

constexpr unsigned kCodes = 512;
constexpr unsigned kScalars = 256;  // SGPRs, and SCC among the constants
using Registers = std::bitset<kCodes>;
using Scalars = std::bitset<kScalars>;
// In a longer kernel every instruction is watched.
constexpr size_t kMaxInstructions = 1 << 20;

// What is known before an instruction, whatever path led to it.
struct Known {
  bool exec_full = false;  // EXEC includes all lanes that the wave began with
  Scalars full;            // registers that hold such a mask
  Scalars defined;
  bool meet(const Known& other) {
    const Known old = *this;
    exec_full = exec_full && other.exec_full;
    full &= other.full;
    defined &= other.defined;
    return exec_full != old.exec_full || full != old.full || defined != old.defined;
  }
};

struct Node {
  uint64_t pc = 0;
  uint32_t successor[2] = {0, 0};
  uint8_t successors = 0;
  bool reached = false;
  bool needed = false;
  ShadowRule rule = ShadowRule::kNone;
  Format format = Format::kSopp;
  Op op = Op{0};
  uint16_t source[2] = {operand::kNone, operand::kNone};  // as in the instruction
  InstOperands operands;
  Known before;
  Registers live;  // before it
  bool in_run = false;
  bool judged = false;  // of values: its sources are read, or its result differs from them
};

template <typename Visit>
void for_each(const OperandRef* list, unsigned count, const Visit& visit) {
  for (unsigned n = 0; n < count; ++n)
    for (unsigned d = 0; d < list[n].dwords; ++d)
      visit(static_cast<unsigned>(list[n].code + d) & (kCodes - 1), list[n].role);
}
template <typename Visit>
void sources(const Node& node, const Visit& visit) {
  for_each(node.operands.source, node.operands.source_count, visit);
}
template <typename Visit>
void dests(const Node& node, const Visit& visit) {
  for_each(node.operands.dest, node.operands.dest_count, visit);
}

bool may_be_scratch(Format format) {
  return format == Format::kMubuf || format == Format::kMtbuf || format == Format::kFlat ||
         format == Format::kScratch;
}
bool has_address(Format format) {
  return format == Format::kSmem || format == Format::kGlobal || format == Format::kMimg ||
         may_be_scratch(format);
}

class Kernel {
 public:
  Kernel(uint64_t entry, uint32_t sgprs, uint32_t vgprs, const emulator::RegionTable& memory,
         AddressFlow::Of of, size_t most_instructions)
      : reader_(memory),
        most_instructions_(std::min(most_instructions, kMaxInstructions)),
        of_values_(of == AddressFlow::Of::kValues),
        sgprs_(sgprs),
        vgprs_(vgprs),
        traced_(trace(entry)) {
    if (!traced_) return;
    forward();
    find_never_undefined();
    backward();
    find_runs();
  }
  // False: its control flow is not fully known.
  bool traced() const { return traced_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Of a scalar load, a branch, a bitwise scalar instruction: whether no source can be undefined.
  bool sources_defined(const Node& node) const {
    const bool branch = node.judged && node.rule == ShadowRule::kNone;
    return (node.format == Format::kSmem || branch || is_plain_bitwise(node)) && !any_counts(node);
  }
  struct Run {
    std::unique_ptr<const ShadowRun> run;
    uint64_t end = 0;  // the pc after which the shadow is brought up to date; 0: it never needs to
    std::vector<std::pair<uint64_t, uint32_t>> behind;  // accesses, and the steps before them
  };
  std::vector<Run> take_runs() { return std::move(runs_); }
  const std::vector<AddressFlow::Begun>& begun() const { return begun_; }
  std::vector<uint16_t> never_undefined() const {
    std::vector<uint16_t> codes;
    for (unsigned code = 0; code < kScalars; ++code)
      if (constant_[code]) codes.push_back(static_cast<uint16_t>(code));
    return codes;
  }

 private:
  // ---- control flow ----

  // False if the successors are unknown.
  bool trace(uint64_t entry) {
    bool followed = true;
    const auto graph =
        emulator::ControlFlow::trace(entry, reader_, most_instructions_,
                                     [&](uint32_t n, const Inst& inst) { add_node(n, inst); });
    if (!graph) return false;
    nodes_.resize(graph->nodes().size());
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const emulator::ControlFlow::Node& from = graph->nodes()[n];
      Node& node = nodes_[n];
      node.pc = from.pc;
      node.successors = from.successors;
      for (unsigned s = 0; s < from.successors; ++s) node.successor[s] = from.successor[s];
      followed = followed && from.kind != Flow::Kind::kLoop &&
                 !emulator::Flow{from.kind, 0}.leaves_graph();
    }
    return followed;
  }

  void add_node(uint32_t n, const Inst& inst) {
    if (nodes_.size() <= n) nodes_.resize(n + 1);
    Node& node = nodes_[n];
    emulator::describe_operands(inst, node.operands);
    node.rule = shadow_rule(inst, node.operands);
    node.format = inst.format;
    node.op = inst.op;
    node.source[0] = inst.src[0];
    node.source[1] = inst.src[1];
    if (!of_values_) return;
    bool exec = false;
    dests(node, [&](unsigned code, uint8_t) { exec = exec || code == operand::kExecLo; });
    node.judged = exec || is_branch(inst) || is_bitwise(inst) || accesses_memory(node);
  }

  static bool accesses_memory(const Node& node) {
    return has_address(node.format) ||
           (node.format == Format::kDs && node.rule != ShadowRule::kCrossLane);
  }

  // ---- forward: EXEC and the definedness of SGPRs ----

  void forward() {
    Known& start = nodes_[0].before;
    start.exec_full = true;
    for (unsigned code = 0; code < std::min(sgprs_, 106u); ++code) start.defined.set(code);
    for (unsigned code = operand::kTtmp0; code < operand::kM0; ++code) start.defined.set(code);
    for (unsigned code = operand::kNull; code < kScalars; ++code) start.defined.set(code);
    start.defined.reset(operand::kScc);
    nodes_[0].reached = true;
    std::vector<uint32_t> work = {0};
    while (!work.empty()) {
      const Node& node = nodes_[work.back()];
      work.pop_back();
      const Known after = step(node);
      for (unsigned s = 0; s < node.successors; ++s) {
        Node& next = nodes_[node.successor[s]];
        const bool changed = next.reached ? next.before.meet(after) : true;
        if (!next.reached) next.before = after;
        next.reached = true;
        if (changed) work.push_back(node.successor[s]);
      }
    }
  }

  static bool is_full(const Known& known, uint16_t code) {
    if (code == operand::kExecLo) return known.exec_full;
    return operand::is_sgpr(code) && known.full[code];
  }

  // Constants do not count as full: EXEC would get lanes that were never launched.
  Known step(const Node& node) const {
    const Known& before = node.before;
    Known after = before;
    const bool first = is_full(before, node.source[0]);
    const bool second = is_full(before, node.source[1]);
    bool defined =
        node.rule == ShadowRule::kScalar || (node.rule == ShadowRule::kDefined && !node.judged);
    if (node.rule == ShadowRule::kScalar)
      sources(node, [&](unsigned code, uint8_t) {
        defined = defined && code < kScalars && before.defined[code];
      });
    uint16_t dest = operand::kNone;
    for (unsigned n = 0; n < node.operands.dest_count; ++n)
      if (dest == operand::kNone && operand::is_sgpr(node.operands.dest[n].code))
        dest = node.operands.dest[n].code;
    dests(node, [&](unsigned code, uint8_t) {
      if (code >= kScalars) return;
      after.defined.set(code, defined);
      after.full.reset(code);
      if (code == operand::kExecLo) after.exec_full = false;
    });
    const auto fill = [&](uint16_t code) {
      if (code == operand::kExecLo)
        after.exec_full = true;
      else if (operand::is_sgpr(code))
        after.full.set(code);
    };
    if (writes_unnamed_register(node)) {
      after.full.reset();
      after.exec_full = false;
      for (unsigned code = 0; code < operand::kVccLo; ++code) after.defined.reset(code);
    }
    switch (node.op) {
      case Op::s_mov_b32:
        if (first) fill(dest);
        break;
      case Op::s_or_b32:
        if (first || second) fill(dest);
        break;
      case Op::s_and_saveexec_b32:
      case Op::s_andn2_saveexec_b32:
      case Op::s_or_saveexec_b32:
      case Op::s_xor_saveexec_b32:
        if (dest != operand::kExecLo && before.exec_full) fill(dest);
        if (node.op == Op::s_or_saveexec_b32 && (before.exec_full || first)) after.exec_full = true;
        break;
      default: break;
    }
    return after;
  }

  // ---- SGPRs that are defined at each read, whichever instruction wrote them ----

  void find_never_undefined() {
    for (unsigned code = 0; code < 128; ++code) constant_.set(code);
    constant_.set(operand::kScc);
    for (const Node& node : nodes_) {
      if (!node.reached) continue;
      sources(node, [&](unsigned code, uint8_t) {
        if (code < kScalars && !node.before.defined[code]) constant_.reset(code);
      });
      const Known after = step(node);
      dests(node, [&](unsigned code, uint8_t) {
        if (code < kScalars && !after.defined[code]) constant_.reset(code);
      });
    }
  }

  // ---- backward: registers whose shadow may reach an address ----

  void backward() {
    // Most branches go forward, so a few rounds from the last address backward are enough.
    std::vector<uint32_t> order(nodes_.size());
    for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return nodes_[a].pc > nodes_[b].pc; });
    bool changed = true;
    while (changed) {
      changed = false;
      for (const uint32_t n : order) changed = update(nodes_[n]) || changed;
    }
  }

  bool counts(unsigned code) const { return code >= kScalars || !constant_[code]; }

  bool update(Node& node) const {
    Registers live;
    for (unsigned s = 0; s < node.successors; ++s) live |= nodes_[node.successor[s]].live;
    if (node.rule == ShadowRule::kRelative) return update_relative(node, live);
    bool needed = node.rule == ShadowRule::kLoad ||  // records the shadow of scratch
                  (node.judged && !is_plain_bitwise(node));
    dests(node, [&](unsigned code, uint8_t) { needed = needed || (counts(code) && live[code]); });
    dests(node, [&](unsigned code, uint8_t) {
      if (replaces(node, code)) live.reset(code);
    });
    const bool address = has_address(node.format);
    sources(node, [&](unsigned code, uint8_t role) {
      const bool root = address && ((role & OperandRef::kAddress) != 0 ||
                                    node.format == Format::kSmem || may_be_scratch(node.format));
      if ((needed || root) && counts(code)) live.set(code);
    });
    const bool changed = live != node.live || needed != node.needed;
    node.live = live;
    node.needed = needed;
    return changed;
  }

  bool any_counts(const Node& node) const {
    bool any = false;
    sources(node, [&](unsigned code, uint8_t) { any = any || counts(code); });
    return any;
  }
  // A bitwise scalar instruction whose sources are never undefined is like any other.
  bool is_plain_bitwise(const Node& node) const {
    bool exec = false;
    dests(node, [&](unsigned code, uint8_t) { exec = exec || code == operand::kExecLo; });
    return node.judged && node.rule == ShadowRule::kScalar && !exec && !any_counts(node);
  }

  // Reads and writes registers that M0 selects: all of their kind.
  bool update_relative(Node& node, Registers live) const {
    const bool needed = live.any();
    const bool vector = node.format != Format::kSop1;
    const unsigned first = vector ? operand::kVgpr0 : 0;
    const unsigned end = vector ? kCodes : operand::kVccLo;
    if (needed) {
      for (unsigned code = first; code < end; ++code)
        if (counts(code)) live.set(code);
      sources(node, [&](unsigned code, uint8_t) {
        if (counts(code)) live.set(code);
      });
    }
    const bool changed = live != node.live || needed != node.needed;
    node.live = live;
    node.needed = needed;
    return changed;
  }

  // Whether the whole shadow of the destination is replaced.
  static bool replaces(const Node& node, unsigned code) {
    if (node.rule == ShadowRule::kWriteLane) return false;
    if (node.rule == ShadowRule::kCrossLane && code >= kScalars) return false;
    return code < kScalars || node.before.exec_full;
  }

  // ---- runs ----

  void find_runs() {
    std::vector<uint32_t> order(nodes_.size());
    for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return nodes_[a].pc < nodes_[b].pc; });
    std::vector<uint32_t> ways(nodes_.size(), 0);
    ways[0] = 1;
    for (const Node& node : nodes_)
      for (unsigned s = 0; s < node.successors; ++s) ++ways[node.successor[s]];
    Straight straight;
    for (const uint32_t n : order) {
      const bool goes_on = !straight.nodes.empty() && ways[n] == 1 &&
                           nodes_[straight.nodes.back()].successors == 1 &&
                           nodes_[straight.nodes.back()].successor[0] == n;
      if (!goes_on || !extend(straight, n)) {
        close(straight);
        straight.first = n == 0 && ways[n] == 1;
        if (!extend(straight, n)) straight = {};
      }
    }
    close(straight);
  }

  // A path without branches, and the SGPRs that nothing later on it writes.
  struct Straight {
    std::vector<uint32_t> nodes;
    Scalars kept;
    bool first = false;  // each wave takes it once, when it begins
  };

  bool extend(Straight& straight, uint32_t n) {
    const Node& node = nodes_[n];
    bool may = of_values_ ? !node.judged || is_plain_bitwise(node)
                          : !looks_at_shadow(node) || only_judged(node);
    dests(node, [&](unsigned code, uint8_t) {
      may = may && code != operand::kExecLo && (code >= kScalars || !straight.kept[code]);
    });
    if (!may) return false;
    if (node.needed) {
      ShadowStep step;
      if (!fill_step(node, step) || !may_be_in_run(step)) return false;
      const uint16_t value = value_of(step);
      if (value == operand::kExecLo) return false;
      if (value != operand::kNone) straight.kept.set(value);
    } else if (writes_unnamed_register(node)) {
      return false;
    }
    straight.nodes.push_back(n);
    return true;
  }

  // Only findings read the shadow here; the access itself does not change it.
  bool only_judged(const Node& node) const { return !of_values_ && node.format == Format::kGlobal; }

  // An access makes use of its address registers' shadow, and scratch of more.
  bool looks_at_shadow(const Node& node) const {
    if (node.rule == ShadowRule::kLoad) return true;
    if (!has_address(node.format)) return false;
    return node.format != Format::kSmem || any_counts(node);
  }

  // An SGPR that M0 selects.
  static bool writes_unnamed_register(const Node& node) {
    return node.format < Format::kVop1 && has_relative_dest(emulator::op_info(node.op).dataflow);
  }

  bool fill_step(const Node& node, ShadowStep& step) {
    if (!reader_.decode_at(node.pc, step.inst)) return false;
    step.operands = node.operands;
    step.rule = node.rule;
    if (has_packed_sources(step.rule)) step.operands.user = packed_sources(step.operands);
    return true;
  }

  void close(Straight& straight) {
    std::vector<uint32_t> involved;
    for (const uint32_t n : straight.nodes)
      if (nodes_[n].needed || only_judged(nodes_[n])) involved.push_back(n);
    if (!straight.nodes.empty())
      make_runs(involved, live_after(straight.nodes.back()), straight.first);
    straight = {};
  }

  Registers live_after(uint32_t n) const {
    Registers live;
    for (unsigned s = 0; s < nodes_[n].successors; ++s) live |= nodes_[nodes_[n].successor[s]].live;
    return live;
  }

  // One run of these nodes, or several where one would have too many registers.
  void make_runs(const std::vector<uint32_t>& involved, const Registers& live, bool first) {
    Run made;
    ShadowSteps steps;
    bool accesses = false;
    for (const uint32_t n : involved) {
      const bool judged = only_judged(nodes_[n]);
      accesses = accesses || judged;
      if (judged && !steps.empty())
        made.behind.emplace_back(nodes_[n].pc, static_cast<uint32_t>(steps.size()));
      if (!nodes_[n].needed) continue;
      auto step = std::make_unique<ShadowStep>();
      if (!fill_step(nodes_[n], *step)) return;
      steps.push_back(std::move(step));
    }
    if (steps.empty()) return;
    const bool single = steps.size() == 1;
    const uint64_t last = made.behind.empty()
                              ? steps.back()->inst.pc
                              : std::max(steps.back()->inst.pc, made.behind.back().first);
    auto run = make_run(
        std::move(steps), [&](uint16_t code) { return counts(code) && live[code]; },
        [&](uint16_t code) { return !counts(code); });
    if (run == nullptr) {
      if (single) return;
      const auto middle = involved.begin() + static_cast<std::ptrdiff_t>(involved.size() / 2);
      make_runs({involved.begin(), middle}, nodes_[*middle].live, first);
      make_runs({middle, involved.end()}, live, false);
      return;
    }
    const bool lasting = run->vector_dests + run->scalar_dests != 0;
    const bool begins = first && !accesses && begin_with(*run);
    if (single && lasting && !begins) return;  // as cheap alone
    for (const uint32_t n : involved) nodes_[n].in_run = nodes_[n].in_run || nodes_[n].needed;
    made.end = lasting && !begins ? last : 0;
    made.run = std::move(run);
    runs_.push_back(std::move(made));
  }

  // The shadow that the run leaves in every wave that begins with it. False: it depends on the
  // wave.
  bool begin_with(const ShadowRun& run) {
    const auto defined = [&](const std::vector<uint16_t>& codes) {
      return std::all_of(codes.begin(), codes.end(), [&](uint16_t code) {
        if (code >= kScalars) return code - kScalars < vgprs_;
        return !counts(code) || nodes_[0].before.defined[code];
      });
    };
    RunRegisters registers;
    bool selects = false;
    for (const auto& step : run.steps) {
      registers.take(*step);
      selects = selects || step->rule == ShadowRule::kSelect;  // by a value
    }
    std::vector<AddressFlow::Begun> begun;
    for (const RunRegisters::Register& one : registers.written()) {
      const uint16_t* const end = run.dest + run.vector_dests + run.scalar_dests;
      if (std::find(run.dest, end, one.code) == end) continue;
      begun.push_back({one.code, defined(one.from), one.writer});
      if (!begun.back().defined && (selects || one.code < kScalars)) return false;
    }
    begun_.insert(begun_.end(), begun.begin(), begun.end());
    return true;
  }

  emulator::CodeReader reader_;
  const size_t most_instructions_;
  std::vector<Run> runs_;
  std::vector<AddressFlow::Begun> begun_;
  std::vector<Node> nodes_;
  Scalars constant_;
  const bool of_values_;
  const uint32_t sgprs_;
  const uint32_t vgprs_;
  const bool traced_;
};

}  // namespace

void AddressFlow::add_kernel(uint64_t entry, uint32_t sgprs, uint32_t vgprs,
                             const emulator::RegionTable& memory, Of of, size_t most_instructions) {
  Kernel kernel(entry, sgprs, vgprs, memory, of, most_instructions);
  Beginning beginning;
  if (kernel.traced()) beginning = {kernel.never_undefined(), kernel.begun()};
  const auto [at, added] = beginnings_.try_emplace(entry, beginning);
  if (!added && at->second != beginning) watch_all_ = true;
  std::unordered_map<uint64_t, uint32_t> ends;
  std::unordered_map<uint64_t, Behind> behind;
  for (Kernel::Run& run : kernel.take_runs()) {
    const auto index = static_cast<uint32_t>(runs_.size());
    if (run.end != 0) ends.emplace(run.end, index);
    runs_.push_back(std::move(run.run));
    for (const auto& [pc, steps] : run.behind) behind.emplace(pc, Behind{index, steps});
  }
  for (const Node& node : kernel.nodes()) {
    const auto steps = behind.find(node.pc);
    add_behind(node.pc, steps == behind.end() ? Behind() : steps->second);
    const auto end = ends.find(node.pc);
    Watch watch;
    if (end != ends.end())
      watch = {Watch::How::kRun, end->second, false};
    else if (kernel.traced() && (!node.needed || node.in_run))
      watch.how = Watch::How::kNot;
    watch.sources_defined = kernel.traced() && kernel.sources_defined(node);
    add_watch(node.pc, watch);
  }
}

uint64_t AddressFlow::kept_bytes() const {
  constexpr uint64_t kEntryBytes = 96;  // a node and a bucket of a hash table
  constexpr uint64_t kRunBytes = 1024;
  return (watches_.size() + behind_.size() + beginnings_.size()) * kEntryBytes +
         runs_.size() * kRunBytes;
}

void AddressFlow::add_watch(uint64_t pc, const Watch& watch) {
  const auto [at, added] = watches_.try_emplace(pc, watch);
  if (added) return;
  const bool same = at->second.how == watch.how &&
                    (watch.how != Watch::How::kRun || run(watch.run) == run(at->second.run));
  if (!same) watch_all_ = true;
  at->second.sources_defined = at->second.sources_defined && watch.sources_defined;
}

void AddressFlow::add_behind(uint64_t pc, const Behind& behind) {
  const auto [at, added] = behind_.try_emplace(pc, behind);
  if (added) return;
  const Behind& other = at->second;
  const bool same =
      other.steps == behind.steps && (behind.steps == 0 || run(other.run) == run(behind.run));
  if (!same) watch_all_ = true;
}

AddressFlow::Watch AddressFlow::watch(uint64_t pc) const {
  const auto found = watches_.find(pc);
  return watch_all_ || found == watches_.end() ? Watch() : found->second;
}

AddressFlow::Behind AddressFlow::behind(uint64_t pc) const {
  const auto found = behind_.find(pc);
  return watch_all_ || found == behind_.end() ? Behind() : found->second;
}

const AddressFlow::Beginning& AddressFlow::beginning(uint64_t entry) const {
  static const Beginning kNone;
  const auto found = beginnings_.find(entry);
  return watch_all_ || found == beginnings_.end() ? kNone : found->second;
}

const std::vector<uint16_t>& AddressFlow::never_undefined(uint64_t entry) const {
  return beginning(entry).never_undefined;
}

const std::vector<AddressFlow::Begun>& AddressFlow::begun(uint64_t entry) const {
  return beginning(entry).begun;
}

}  // namespace gfxgraph::check
