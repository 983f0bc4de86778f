#include "tools/coverage/kernel_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "emulator/analysis/control_flow.h"
#include "emulator/engine/executable.h"
#include "tools/coverage/scalar_values.h"

namespace gfxgraph::tools {
namespace {

using emulator::DecodeStatus;
using emulator::Inst;
using emulator::Op;

// A damaged object could give one message per dword.
constexpr size_t kMaxProblems = 8;
constexpr int kFatalTrap = 2;  // AMDGPUUsage "Trap Handler ABI": llvm.trap ends the wave

std::string form_of(const Inst& inst) {
  const char* form = "";
  if (inst.format <= emulator::Format::kVopc && inst.format >= emulator::Format::kVop1) {
    switch (inst.extra()) {
      case emulator::VopExtra::kSdwa: form = " (SDWA)"; break;
      case emulator::VopExtra::kDpp16: form = " (DPP16)"; break;
      case emulator::VopExtra::kDpp8: form = " (DPP8)"; break;
      case emulator::VopExtra::kNone: break;
    }
  } else if (inst.format == emulator::Format::kVop3) {
    form = " (VOP3)";
  }
  if (inst.op == Op::s_getreg_b32 || inst.op == Op::s_setreg_b32 ||
      inst.op == Op::s_setreg_imm32_b32 || inst.op == Op::s_sendmsg ||
      inst.op == Op::s_round_mode || inst.op == Op::s_denorm_mode) {
    return fmt::format("{} {:#x}", op_name(inst.op), inst.imm & 0xffff);
  }
  return std::string(op_name(inst.op)) + form;
}

class Walk {
 public:
  explicit Walk(CodeImage& image) : image_(image) {}

  void from_entry(uint64_t address) {
    arrive({kKernel, address}, ScalarValues());
    while (!waiting_.empty()) {
      const Place next = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      walk_block(next);
    }
  }

  // All code of the object, from one end to the other. Bytes that are no instruction lie between
  // functions; inside of one with a known size they are a problem.
  void sweep() {
    std::set<uint64_t> starts;
    std::vector<std::pair<uint64_t, uint64_t>> functions;
    for (const codeobj::Symbol& symbol : image_.object().symbols()) {
      if (symbol.undefined || symbol.type != codeobj::Symbol::Type::kFunction) continue;
      starts.insert(symbol.address);
      functions.emplace_back(symbol.address, symbol.address + symbol.size_bytes);
    }
    std::ranges::sort(functions);
    for (const codeobj::Segment& segment : image_.object().segments()) {
      if (!segment.executable) continue;
      const uint64_t end = segment.address + segment.memory_bytes;
      for (uint64_t pc = segment.address; pc < end;) {
        Inst inst;
        uint64_t size = 4;
        if (image_.decode(pc, inst) == DecodeStatus::kOk) {
          size = inst.size_bytes();
          if (inst.op != Op::s_code_end) note(inst, std::nullopt);
        } else if (inside(functions, pc)) {
          problem(fmt::format("{:#x}: not a gfx1030 instruction", pc));
        }
        const auto start = starts.upper_bound(pc);
        pc = start != starts.end() ? std::min(pc + size, *start) : pc + size;
      }
    }
  }

  KernelWalk take() {
    result_.instructions = seen_.size();
    result_.unknown_calls = unknown_calls_.size();
    for (const auto& [pc, target] : targets_)
      if (target) result_.jumps.targets[pc] = *target;
    return std::move(result_);
  }

 private:
  // Code is walked once per function that it is reached in, so that what follows a call is reached
  // only if the function returns: nothing sensible stands behind a call of one that does not.
  struct Place {
    uint64_t function = 0;  // address of its first instruction; kKernel
    uint64_t address = 0;
    auto operator<=>(const Place&) const = default;
  };
  static constexpr uint64_t kKernel = UINT64_MAX;
  struct Function {
    bool returns = false;
    std::map<Place, ScalarValues> callers;  // where they go on, and what is known there
  };

  static bool inside(const std::vector<std::pair<uint64_t, uint64_t>>& functions, uint64_t pc) {
    const auto after =
        std::ranges::upper_bound(functions, pc, {}, [](const auto& f) { return f.first; });
    return after != functions.begin() && pc < std::prev(after)->second;
  }

  void problem(std::string text) {
    if (result_.problems.size() < kMaxProblems &&
        std::ranges::find(result_.problems, text) == result_.problems.end()) {
      result_.problems.push_back(std::move(text));
    }
  }

  void bad_code(std::string text) {
    if (result_.bad_code.empty()) result_.bad_code = text;
    problem(std::move(text));
  }

  // `written`: what s_setreg writes, when known.
  void note(const Inst& inst, std::optional<uint32_t> written) {
    if (emulator::is_refused_value(inst, written))
      problem(fmt::format("{:#x}: s_setreg_b32 {} bits of MODE that the emulator does not support",
                          inst.pc, written ? "sets" : "may set"));
    if (!seen_.insert(inst.pc).second) return;
    if (!image_.is_executable(inst)) ++result_.missing[form_of(inst)];
  }

  void arrive(const Place& place, const ScalarValues& values) {
    const auto [start, added] = starts_.try_emplace(place, values);
    if (added || start->second.meet(values)) waiting_.insert(place);
  }

  void unknown_target(const Inst& inst) {
    if (!result_.swept_because) result_.swept_because = inst.pc;
    lose_target(inst);
  }
  // It is not known, or has several values.
  void lose_target(const Inst& inst) {
    targets_[inst.pc] = std::nullopt;
    if (emulator::flow_of(inst).kind == emulator::FlowKind::kIndirectCall)
      unknown_calls_.insert(inst.pc);
    else
      result_.unknown_jump = inst.pc;
  }
  void known_target(const Inst& inst, uint64_t target) {
    const auto [known, added] = targets_.try_emplace(inst.pc, target);
    if (!added && known->second != target) lose_target(inst);
  }

  void call(uint64_t target, const Inst& inst, const Place& here, ScalarValues values) {
    values.return_from_call(inst.dst);
    const Place back = {here.function, inst.next_pc()};
    Function& function = functions_[target];
    const auto [caller, added] = function.callers.try_emplace(back, values);
    if (!added) caller->second.meet(values);
    if (function.returns) arrive(back, values);
    arrive({target, target}, ScalarValues::function_entry(inst.dst));
  }

  void return_from(uint64_t address) {
    Function& function = functions_[address];
    if (std::exchange(function.returns, true)) return;
    for (const auto& [back, values] : function.callers) arrive(back, values);
  }

  void walk_block(const Place& start) {
    ScalarValues values = starts_.at(start);
    for (uint64_t pc = start.address;;) {
      const Place here = {start.function, pc};
      if (here != start && starts_.contains(here)) return arrive(here, values);
      Inst inst;
      const DecodeStatus status = image_.decode(pc, inst);
      if (status != DecodeStatus::kOk) {
        return bad_code(fmt::format("{:#x}: {}", pc,
                                    status == DecodeStatus::kIllegal ? "not a gfx1030 instruction"
                                    : image_.has_code(pc) ? "the instruction reaches past the code"
                                    : pc == start.address
                                        ? "a jump leads outside of the code"
                                        : "execution runs off the end of the code"));
      }
      note(inst, values.source(inst, 0));
      if (!step(inst, here, values)) return;
      pc = inst.next_pc();
    }
  }

  // Whether execution goes on behind `inst`.
  bool step(const Inst& inst, const Place& here, ScalarValues& values) {
    using Kind = emulator::Flow::Kind;
    const emulator::Flow flow = emulator::flow_of(inst);
    const auto jump = [&](uint64_t target) { arrive({here.function, target}, values); };
    switch (flow.kind) {
      case Kind::kEnd:
        if (inst.op == Op::s_code_end)
          bad_code(fmt::format("{:#x}: execution runs off the end of the code", inst.pc));
        return false;
      case Kind::kJump: jump(flow.target); return false;
      case Kind::kBranch: return branch(inst, flow.target, here, values);
      case Kind::kLoop: jump(flow.target); return true;
      case Kind::kCall: call(flow.target, inst, here, values); return false;
      case Kind::kIndirectCall:
        if (const std::optional<uint64_t> target = values.pair(inst, 0)) {
          known_target(inst, *target);
          call(*target, inst, here, values);
          return false;
        }
        unknown_target(inst);
        values.return_from_call(inst.dst);
        return true;
      case Kind::kIndirectJump:
        if (const std::optional<uint64_t> target = values.pair(inst, 0)) {
          known_target(inst, *target);
          jump(*target);
          return false;
        }
        if (values.is_return_address(inst.src[0]))
          result_.jumps.returns.insert(inst.pc);
        else
          unknown_target(inst);
        if (here.function != kKernel) return_from(here.function);
        return false;
      case Kind::kUndecoded:
      case Kind::kNext: break;
    }
    if (inst.op == Op::s_trap) return inst.imm != kFatalTrap;
    values.apply(inst, image_);
    return true;
  }

  bool branch(const Inst& inst, uint64_t target, const Place& here, const ScalarValues& values) {
    const bool by_scc = inst.op == Op::s_cbranch_scc0 || inst.op == Op::s_cbranch_scc1;
    const std::optional<bool> scc = by_scc ? values.scc() : std::nullopt;
    const bool on = inst.op == Op::s_cbranch_scc1;
    if (!scc || *scc == on) arrive({here.function, target}, values);
    return !scc || *scc != on;
  }

  CodeImage& image_;
  KernelWalk result_;
  std::map<Place, ScalarValues> starts_;  // what is known where blocks begin
  std::set<Place> waiting_;
  std::map<uint64_t, Function> functions_;
  std::unordered_set<uint64_t> seen_;
  // Of jumps and calls through registers; empty: unknown, or several.
  std::unordered_map<uint64_t, std::optional<uint64_t>> targets_;
  std::set<uint64_t> unknown_calls_;
};

}  // namespace

std::vector<KernelWalk> walk_kernels(CodeImage& image) {
  std::vector<KernelWalk> walks;
  std::optional<KernelWalk> all;
  for (const codeobj::Kernel& kernel : image.object().kernels()) {
    Walk walk(image);
    walk.from_entry(kernel.entry_address);
    KernelWalk result = walk.take();
    if (result.swept_because) {
      if (!all) {
        Walk sweep(image);
        sweep.sweep();
        all = sweep.take();
      }
      result.instructions = all->instructions;
      result.missing = all->missing;
      result.problems.insert(result.problems.end(), all->problems.begin(), all->problems.end());
    }
    result.name = kernel.name;
    if (std::string why = emulator::why_refused(kernel.descriptor); !why.empty()) {
      result.problems.push_back(std::move(why));
    }
    walks.push_back(std::move(result));
  }
  return walks;
}

}  // namespace gfxgraph::tools
