#include "check/report/code_window.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <set>
#include <span>

#include "emulator/analysis/control_flow.h"
#include "emulator/decode/assembly.h"
#include "emulator/decode/operand_uses.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {
namespace {

using emulator::Flow;
using emulator::Inst;
using emulator::InstOperands;
using emulator::OperandRef;
namespace operand = emulator::operand;

// A function longer than this has no window.
constexpr uint64_t kMostBytes = uint64_t{16} << 20;

// [first, end) of the function or kernel that contains the address; empty: there is none.
struct Extent {
  uint64_t first = 0;
  uint64_t end = 0;
};

Extent extent_of(const codeobj::CodeObject& object, uint64_t address) {
  const codeobj::Segment* segment = nullptr;
  for (const codeobj::Segment& one : object.segments())
    if (one.executable && address >= one.address && address - one.address < one.file_bytes)
      segment = &one;
  if (segment == nullptr) return {};
  const uint64_t segment_end = segment->address + segment->file_bytes;
  for (const codeobj::Symbol& symbol : object.symbols()) {
    if (symbol.type != codeobj::Symbol::Type::kFunction || symbol.undefined) continue;
    if (address < symbol.address || address - symbol.address >= symbol.size_bytes) continue;
    return {symbol.address, std::min(segment_end, symbol.address + symbol.size_bytes)};
  }
  const codeobj::Kernel* const kernel = object.kernel_at(address);
  if (kernel == nullptr || kernel->entry_address < segment->address) return {};
  uint64_t end = segment_end;
  for (const codeobj::Kernel& other : object.kernels())
    if (other.entry_address > address) end = std::min(end, other.entry_address);
  return {kernel->entry_address, end};
}

// Null outside the file.
const std::byte* bytes_at(const codeobj::CodeObject& object, const Extent& extent) {
  for (const codeobj::Segment& segment : object.segments()) {
    if (extent.first < segment.address || extent.first - segment.address >= segment.file_bytes)
      continue;
    const uint64_t offset = segment.file_offset + (extent.first - segment.address);
    const std::span<const std::byte> file = object.bytes();
    if (offset > file.size() || extent.end - extent.first > file.size() - offset) return nullptr;
    return file.data() + offset;
  }
  return nullptr;
}

using Registers = std::bitset<512>;

template <typename Visit>
void for_each_but_exec(const OperandRef* list, unsigned count, const Visit& visit) {
  for (unsigned n = 0; n < count; ++n)
    for (unsigned d = 0; d < list[n].dwords; ++d)
      if (list[n].code != operand::kExecLo) visit((list[n].code + d) & 511u, list[n].role);
}

}  // namespace

struct CodeWindows::Function {
  Extent extent;
  const std::byte* bytes = nullptr;
  std::vector<uint64_t> pcs;   // of the instructions, in order
  std::set<uint64_t> targets;  // that control may reach other than from the one before
  bool wave64 = false;

  bool decode(uint64_t at, Inst& inst) const {
    uint32_t words[5] = {};
    const uint64_t available = std::min<uint64_t>(5, (extent.end - at) / 4);
    std::memcpy(words, bytes + (at - extent.first), available * 4);
    return emulator::decode(words, available, at, inst) == emulator::DecodeStatus::kOk;
  }

  void scan() {
    for (uint64_t at = extent.first; extent.end - at >= 4;) {
      Inst inst;
      if (!decode(at, inst)) {
        at += 4;
        targets.insert(at);  // behind data or padding
        continue;
      }
      pcs.push_back(at);
      const Flow flow = emulator::flow_of(inst);
      at = inst.next_pc();
      if (flow.kind != Flow::Kind::kNext && flow.kind != Flow::Kind::kBranch) targets.insert(at);
      if (flow.target != 0) targets.insert(flow.target);
    }
  }

  // Whether each of the instructions [first, at) computes a part of the address of the one at `at`.
  std::vector<bool> slice(size_t first, size_t at) const {
    std::vector<bool> marks(at - first, false);
    Registers wanted;
    Inst inst;
    InstOperands operands;
    if (!decode(pcs[at], inst)) return marks;
    emulator::describe_operands(inst, operands);
    for_each_but_exec(operands.source, operands.source_count, [&](unsigned code, uint8_t role) {
      if ((role & OperandRef::kAddress) != 0) wanted.set(code);
    });
    for (size_t n = at; n-- > first && wanted.any();) {
      if (targets.contains(pcs[n + 1]) || !decode(pcs[n], inst) ||
          emulator::has_relative_registers(inst))
        break;
      emulator::describe_operands(inst, operands);
      bool needed = false;
      Registers replaced;
      for_each_but_exec(operands.dest, operands.dest_count, [&](unsigned code, uint8_t role) {
        needed = needed || wanted[code];
        if ((role & OperandRef::kPartial) == 0) replaced.set(code);
      });
      if (!needed) continue;
      marks[n - first] = true;
      wanted &= ~replaced;
      for_each_but_exec(operands.source, operands.source_count,
                        [&](unsigned code, uint8_t) { wanted.set(code); });
    }
    return marks;
  }
};

CodeWindows::CodeWindows() = default;
CodeWindows::~CodeWindows() = default;

const CodeWindows::Function* CodeWindows::function_of(const codeobj::CodeObject& object,
                                                      uint64_t address) {
  const Extent extent = extent_of(object, address);
  if (extent.first == extent.end || extent.end - extent.first > kMostBytes) return nullptr;
  std::unique_ptr<const Function>& known = functions_[{&object, extent.first}];
  if (known) return known.get();
  auto function = std::make_unique<Function>();
  function->extent = extent;
  function->bytes = bytes_at(object, extent);
  const codeobj::Kernel* const kernel = object.kernel_at(address);
  function->wave64 = kernel != nullptr && kernel->wavefront_size == 64;
  if (function->bytes != nullptr) function->scan();
  known = std::move(function);
  return known.get();
}

std::vector<CodeLine> CodeWindows::around(const codeobj::CodeObject& object, uint64_t address) {
  const Function* const function = function_of(object, address);
  if (function == nullptr) return {};
  const std::vector<uint64_t>& pcs = function->pcs;
  const auto found = std::ranges::lower_bound(pcs, address);
  if (found == pcs.end() || *found != address) return {};
  const auto at = static_cast<size_t>(found - pcs.begin());
  const size_t farthest = at - std::min(at, kFarthest);
  const size_t first = at - std::min(at, kBefore);
  const size_t end = std::min(pcs.size(), at + kAfter + 1);
  const std::vector<bool> marks = function->slice(farthest, at);
  std::vector<CodeLine> lines;
  for (size_t n = farthest; n < end; ++n) {
    const bool marked = n < at && marks[n - farthest];
    Inst inst;
    if ((n < first && !marked) || !function->decode(pcs[n], inst)) continue;
    CodeLine& line = lines.emplace_back();
    line.code_address = pcs[n];
    line.text = emulator::assembly(inst, function->wave64);
    line.role = n == at  ? CodeLine::Role::kFinding
                : marked ? CodeLine::Role::kAddress
                         : CodeLine::Role::kNone;
    line.follows = n != 0 && lines.size() > 1 && lines[lines.size() - 2].code_address == pcs[n - 1];
  }
  return lines;
}

}  // namespace gfxgraph::check
