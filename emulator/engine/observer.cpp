#include "emulator/engine/observer.h"

#include "base/environment.h"
#include "emulator/decode/image_operands.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/context.h"

namespace gfxgraph::emulator {
namespace {

struct ListBuilder {
  InstOperands& out;
  void source(uint16_t code, uint32_t dwords, uint32_t role = 0) {
    const bool known = operand::is_sgpr(code) || operand::is_vgpr(code) || code == operand::kScc;
    if (!known || code == operand::kNull || dwords == 0 || out.source_count == 8) return;
    out.source[out.source_count++] =
        OperandRef{code, static_cast<uint8_t>(dwords), static_cast<uint8_t>(role)};
  }
  void dest(uint16_t code, uint32_t dwords, uint32_t role = 0) {
    const bool known = operand::is_sgpr(code) || operand::is_vgpr(code) || code == operand::kScc;
    if (!known || code == operand::kNull || dwords == 0 || out.dest_count == 4) return;
    out.dest[out.dest_count++] =
        OperandRef{code, static_cast<uint8_t>(dwords), static_cast<uint8_t>(role)};
  }
};

bool is_memory(Format format) {
  switch (format) {
    case Format::kSmem:
    case Format::kDs:
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf: return true;
    default: return false;
  }
}
bool is_vector(Format format) {
  return format == Format::kVop1 || format == Format::kVop2 || format == Format::kVopc ||
         format == Format::kVop3 || format == Format::kVop3p;
}

// Whether a source slot is part of an address. DS instructions that access no memory have none.
bool is_address_slot(const Inst& inst, int slot) {
  switch (inst.format) {
    case Format::kSmem: return slot <= 1;
    case Format::kDs: return slot == 0 && op_info(inst.op).access_bytes != 0;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf: return slot == 0 || slot == 2;
    default: return false;
  }
}

uint32_t address_dwords(const Inst& inst, int slot, uint32_t dwords) {
  if ((inst.format == Format::kMubuf || inst.format == Format::kMtbuf) && slot == 0)
    return ((inst.mods & mmod::kOffen) != 0 ? 1u : 0u) +
           ((inst.mods & mmod::kIdxen) != 0 ? 1u : 0u);
  if (inst.format == Format::kGlobal && slot == 0) return inst.src[2] == operand::kNone ? 2 : 1;
  if (inst.format == Format::kGlobal && slot == 2) return 2;
  if (inst.format == Format::kScratch) return 1;
  return dwords;
}

// Coordinates that are neighbours count as one operand.
void describe_image(const Inst& inst, ListBuilder& list) {
  const ImageShape shape = image_shape(inst);
  const unsigned end = shape.first + shape.axes + shape.level;
  for (unsigned n = shape.first; n < end;) {
    const uint16_t code = image_address(inst, n);
    unsigned count = 1;
    while (n + count < end && image_address(inst, n + count) == code + count) ++count;
    list.source(code, count, OperandRef::kAddress);
    n += count;
  }
  if (inst.src[1] != operand::kNone) list.source(inst.src[1], shape.data_dwords);
  if (inst.src[2] != operand::kNone) list.source(inst.src[2], 4, OperandRef::kAddress);
  list.source(inst.sdst, 8, OperandRef::kAddress);
  if (inst.dst == operand::kNone) return;
  const bool halves = image_fields(inst).d16;
  list.dest(inst.dst, shape.data_dwords, halves ? OperandRef::kPartial : 0);
}

}  // namespace

void describe_operands(const Inst& inst, InstOperands& out) noexcept {
  const OpInfo& info = op_info(inst.op);
  out = InstOperands();
  out.access_bytes = info.access_bytes;
  ListBuilder list{out};
  if (inst.format == Format::kMimg) {
    if (inst.sdst != operand::kNone) describe_image(inst, list);
    return;
  }
  const bool memory = is_memory(inst.format);
  for (int n = 0; n < 3; ++n) {
    if (inst.src[n] == operand::kNone) continue;
    const bool address = memory && is_address_slot(inst, n);
    const uint32_t dwords =
        address ? address_dwords(inst, n, info.src_dwords[n]) : info.src_dwords[n];
    list.source(inst.src[n], dwords, address ? OperandRef::kAddress : 0);
  }
  const bool partial = (info.flags & OpInfo::kDstIsSource) != 0 ||
                       (is_vector(inst.format) && inst.extra() != VopExtra::kNone);
  if (inst.sdst != operand::kNone) {
    if ((info.flags & OpInfo::kSdstIsSource) != 0)
      list.source(inst.sdst, info.sdst_dwords == 0 ? 4 : info.sdst_dwords, OperandRef::kAddress);
    else
      list.dest(inst.sdst, info.sdst_dwords);
  }
  if (inst.dst != operand::kNone) {
    if ((info.flags & OpInfo::kDstIsSource) != 0) list.source(inst.dst, info.dst_dwords);
    list.dest(inst.dst, info.dst_dwords, partial ? OperandRef::kPartial : 0);
  }
  if (info.dataflow == Dataflow::kSwap && operand::is_vgpr(inst.src[0]))
    list.dest(inst.src[0], 1, 0);
  const auto implicit = [&](uint32_t flag_read, uint32_t flag_write, uint16_t code) {
    bool listed = false;
    for (int n = 0; n < 3; ++n) listed = listed || inst.src[n] == code;
    if ((info.flags & flag_read) != 0 && !listed) list.source(code, 1);
    if ((info.flags & flag_write) != 0 && inst.dst != code && inst.sdst != code) list.dest(code, 1);
  };
  implicit(OpInfo::kReadsVcc, 0, operand::kVccLo);
  implicit(OpInfo::kReadsScc, OpInfo::kWritesScc, operand::kScc);
  implicit(OpInfo::kReadsM0, 0, operand::kM0);
  implicit(OpInfo::kReadsExec, OpInfo::kWritesExec, operand::kExecLo);
}

const Backend& select_backend(const BackendSet& set) {
  __builtin_cpu_init();
  const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  // A machine that lacks what is asked for gets the best that it has.
  const size_t wanted = environment_word("GFXGRAPH_ISA", {"v2", "v3", "v4"}, 2, 2);
  if (wanted == 2 && has_v4 && has_v3) return *set.v4;
  return wanted != 0 && has_v3 ? *set.v3 : *set.v2;
}

}  // namespace gfxgraph::emulator
