// What instructions do to registers.
#include <algorithm>

#include "emulator/decode/operand_uses.h"
#include "footprint/flow.h"

namespace gfxgraph::footprint {
namespace {

using emulator::Dataflow;
using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::OperandRef;
using emulator::OpInfo;
namespace operand = emulator::operand;
namespace vmod = emulator::vmod;

// Whether a vector instruction changes its operands or result on the way, or takes parts of them.
bool is_plain(const Inst& inst) {
  if (!emulator::is_vector_alu(inst.format)) return true;
  return inst.format != Format::kVop3p && (inst.mods & vmod::kAny) == 0 &&
         inst.extra() == emulator::VopExtra::kNone;
}

Range top_half(const Range& wide) {
  if (!bounded(wide)) return kAny32;
  if (wide.low >= 0 && wide.high <= 0xffffffff) return Range::exactly(0);
  return wrapped32({wide.low >> 32, wide.high >> 32, 1});
}

}  // namespace

Value Flow::read(uint16_t code, Lanes& lanes) const {
  if (operand::is_vgpr(code)) {
    const unsigned n = code - operand::kVgpr0;
    return n < lanes.vectors() ? lanes.vector(n) : Value::anything();
  }
  if (code == operand::kNull) return Value::of(Range::exactly(0));
  if (code == operand::kScc) return Value::of({0, 1, 1});
  if (code == operand::kExecLo || code == operand::kExecHi) return Value::of(kAny32);
  if (code >= operand::kTtmp0 && code < operand::kM0) return Value::anything();
  if (operand::is_sgpr(code)) return lanes.scalar(code);
  return Value::anything();
}

Value Flow::source(const Inst& inst, unsigned n, Lanes& lanes, unsigned dword) const {
  const uint16_t code = inst.src[n];
  if (operand::is_vgpr(code) || operand::is_sgpr(code))
    return read(static_cast<uint16_t>(code + (code == operand::kNull ? 0 : dword)), lanes);
  if (code == operand::kVccz || code == operand::kExecz || code == operand::kScc)
    return Value::of({0, 1, 1});
  if (operand::is_special(code) || code == operand::kNone) return Value::anything();
  return Value::of(Range::exactly(static_cast<uint32_t>(inst.k[n] >> (32 * dword))));
}

Wide Flow::source64(const Inst& inst, unsigned n, Lanes& lanes) const {
  return pair(source(inst, n, lanes, 0), source(inst, n, lanes, 1));
}

void Flow::write(uint16_t code, Value value, Lanes& lanes, unsigned slot) {
  if (value.name == 0 && slot != kNoName) value.name = name(slot);
  value.nothing = false;
  if (operand::is_vgpr(code)) {
    const unsigned n = code - operand::kVgpr0;
    if (n >= lanes.vectors())
      return unknown("it names a register that it has not", nodes_[node_].inst.pc);
    lanes.vector(n) = value;
    return;
  }
  if (code == operand::kExecLo || code == operand::kExecHi)
    return lanes.set_exec_unknown(node_ + kFirstLevel + 1, name_of_join(node_, true));
  if (!operand::is_sgpr(code) || code == operand::kNull) return;
  lanes.scalar(code) = value;
  lanes.mask(code) = {};
  // Of a wave64 a mask has two registers, and is kept with the first.
  if (code > 0 && !input_.descriptor->wave32()) lanes.mask(code - 1u) = {};
}

void Flow::write64(uint16_t code, const Wide& value, Lanes& lanes, const Range& low_half) {
  const bool number = value.origins == 0;
  Value low = Value::of(number && bounded(value.range)            ? wrapped32(value.range)
                        : (value.origins & ~origin::kLoaded) == 0 ? wrapped32(low_half)
                                                                  : kAny32,
                        value.origins);
  Value high = Value::of(number ? top_half(value.range) : kAny32, value.origins);
  low.name = name(0);
  high.name = name(1);
  high.lower = name(0);
  high.wide = value.range;
  write(code, low, lanes);
  write(static_cast<uint16_t>(code + 1), high, lanes);
}

void Flow::write_scc(Lanes& lanes) {
  lanes.scalar(kScc) = Value::of({0, 1, 1});
  lanes.mask(kScc) = {};
}

void Flow::step(uint32_t node, Lanes& lanes) {
  node_ = node;
  const FlowNode& here = nodes_[node];
  const Inst& inst = here.inst;
  const OpInfo& info = emulator::op_info(inst.op);
  if (here.kind != emulator::FlowKind::kNext) return;
  // The names that this instruction gives belong to its last results. Before it gave any, no
  // register has them.
  if (stepped_.size() <= node) stepped_.resize(nodes_.size());
  if (stepped_[node]) lanes.forget_names(name(0), name(1));
  stepped_[node] = true;
  if (memory(inst, here, lanes)) return;
  if (sets_exec(inst, lanes) || compares(inst, lanes)) return;
  const std::optional<Mask> mask = combined(inst, lanes);
  if (emulator::has_relative_registers(inst))
    return unknown("it names registers by their numbers", inst.pc);
  const bool known = is_plain(inst) && (copies(inst, lanes) || arithmetic(inst, lanes) ||
                                        arithmetic64(inst, lanes) || bits(inst, lanes));
  if (!known) by_default(here, lanes);
  const bool carries = inst.op == Op::s_add_u32 || inst.op == Op::s_sub_u32;
  if ((info.flags & OpInfo::kWritesScc) != 0 && !carries) write_scc(lanes);
  if (mask && inst.dst < kScalars && inst.dst != operand::kNull) lanes.mask(inst.dst) = *mask;
}

void Flow::by_default(const FlowNode& node, Lanes& lanes) {
  const Inst& inst = node.inst;
  const bool crosses = emulator::permutes_lanes(inst);
  Origins origins = 0;
  for (unsigned n = 0; n < node.operands.source_count; ++n) {
    const OperandRef& from = node.operands.source[n];
    Origins one = 0;
    for (unsigned d = 0; d < from.dwords; ++d) {
      const auto code = static_cast<uint16_t>(from.code + d);
      const unsigned vector = code - operand::kVgpr0;
      one |= crosses && operand::is_vgpr(code) && vector < lanes.vectors()
                 ? lanes.any_lane(vector).origins
                 : read(code, lanes).origins;
    }
    origins = mixed(origins, one);
  }
  // Sources that only the wave knows are not among the operands.
  for (const uint16_t code : inst.src)
    if (code >= operand::kSharedBase && code <= operand::kPopsExiting) origins = origin::kAny;
  for (unsigned n = 0; n < node.operands.dest_count; ++n) {
    const OperandRef& to = node.operands.dest[n];
    if (to.code == operand::kScc) {
      write_scc(lanes);
      continue;
    }
    for (unsigned d = 0; d < to.dwords; ++d) {
      const auto code = static_cast<uint16_t>(to.code + d);
      Value value = Value::of(kAny32, origins);
      if ((to.role & OperandRef::kPartial) != 0) {
        const Value old = read(code, lanes);
        if (!old.nothing)
          value.origins = old.origins == origins ? origins : mixed(old.origins, origins);
      }
      write(code, value, lanes, kNoName);
    }
  }
}

bool Flow::copies(const Inst& inst, Lanes& lanes) {
  switch (inst.op) {
    case Op::s_mov_b32:
    case Op::v_mov_b32: write(inst.dst, source(inst, 0, lanes), lanes); return true;
    case Op::s_movk_i32: write(inst.dst, Value::of(Range::exactly(inst.imm)), lanes); return true;
    case Op::s_mov_b64: {
      const Value low = source(inst, 0, lanes, 0), high = source(inst, 0, lanes, 1);
      write(inst.dst, low, lanes, 0);
      write(static_cast<uint16_t>(inst.dst + 1), high, lanes, 1);
      return true;
    }
    case Op::s_cselect_b32:
    case Op::v_cndmask_b32:
      write(inst.dst, joined(source(inst, 0, lanes), source(inst, 1, lanes)), lanes);
      return true;
    case Op::s_cselect_b64: {
      const Value low = joined(source(inst, 0, lanes), source(inst, 1, lanes));
      const Value high = joined(source(inst, 0, lanes, 1), source(inst, 1, lanes, 1));
      write(inst.dst, low, lanes, 0);
      write(static_cast<uint16_t>(inst.dst + 1), high, lanes, 1);
      return true;
    }
    case Op::v_readfirstlane_b32:
    case Op::v_readlane_b32: {
      if (!operand::is_vgpr(inst.src[0])) return false;
      const unsigned n = inst.src[0] - operand::kVgpr0;
      if (n >= lanes.vectors()) return false;
      Value value = lanes.level() == kFirstLevel && inst.op == Op::v_readfirstlane_b32
                        ? lanes.vector(n)
                        : lanes.any_lane(n);
      value.name = 0;
      value.lower = 0;
      write(inst.dst, value, lanes);
      return true;
    }
    case Op::v_writelane_b32:
      if (!operand::is_vgpr(inst.dst) ||
          inst.dst - operand::kVgpr0 >= static_cast<int>(lanes.vectors()))
        return false;
      lanes.write_lane(inst.dst - operand::kVgpr0, source(inst, 0, lanes));
      return true;
    case Op::s_getpc_b64:
      write64(inst.dst, {Range::exactly(static_cast<int64_t>(inst.next_pc())), origin::kCode},
              lanes);
      return true;
    default: return false;
  }
}

bool Flow::arithmetic(const Inst& inst, Lanes& lanes) {
  const auto at = [&](unsigned n) { return source(inst, n, lanes); };
  const auto put = [&](const Range& range, Origins origins) {
    const bool number = (origins & ~origin::kLoaded) == 0;
    write(inst.dst, Value::of(number ? wrapped32(range) : kAny32, origins), lanes);
    return true;
  };
  const auto add = [&](const Value& a, const Value& b) {
    return put(sum(a.number, b.number), mixed(a.origins, b.origins));
  };
  const auto subtract = [&](const Value& a, const Value& b) {
    const Origins origins = difference(a.origins, b.origins);
    const bool numbers = a.origins == 0 && b.origins == 0;
    return put(numbers ? sum(a.number, negative(b.number)) : kAny32, origins);
  };
  const auto product_of = [](const Value& a, const Value& b) {
    return Value::of(wrapped32(product(a.number, b.number)), mixed(a.origins, b.origins));
  };
  const auto shifted_left = [&](const Value& a, const Value& by) {
    const bool known = by.origins == 0 && by.number.exact();
    const Range factor = Range::exactly(known ? int64_t{1} << (by.number.low & 31) : 0);
    return Value::of(known ? wrapped32(product(a.number, factor)) : kAny32,
                     mixed(a.origins, by.origins));
  };
  const auto low24 = [](const Value& value, bool is_signed) {
    Value low = value;
    const Range range = is_signed ? signed32(value.number) : unsigned32(value.number);
    const int64_t least = is_signed ? -(1 << 23) : 0,
                  most = is_signed ? (1 << 23) - 1 : (1 << 24) - 1;
    low.number = range.low >= least && range.high <= most ? range : Range{least, most, 1};
    return low;
  };
  const auto put_value = [&](const Value& value) { return put(value.number, value.origins); };
  const auto begin_sum = [&](uint16_t carry_to, const Value& a, const Value& b, bool minus) {
    auto carry = std::make_shared<Carry>(Carry{a, b, minus, name(0)});
    if (minus)
      subtract(a, b);
    else
      add(a, b);
    Mask mask;
    mask.within = operand::is_vgpr(inst.dst) ? lanes.level() : 0;
    mask.carry = std::move(carry);
    if (carry_to == kScc) {
      write_scc(lanes);
      lanes.mask(kScc) = std::move(mask);
    } else {
      set_mask(carry_to, std::move(mask), lanes);
    }
    return true;
  };
  switch (inst.op) {
    case Op::s_add_u32: return begin_sum(kScc, at(0), at(1), false);
    case Op::s_sub_u32: return begin_sum(kScc, at(0), at(1), true);
    case Op::v_add_co_u32: return begin_sum(inst.sdst, at(0), at(1), false);
    case Op::v_sub_co_u32: return begin_sum(inst.sdst, at(0), at(1), true);
    case Op::v_subrev_co_u32: return begin_sum(inst.sdst, at(1), at(0), true);
    case Op::s_add_i32:
    case Op::v_add_nc_u32: return add(at(0), at(1));
    case Op::s_addk_i32: return add(read(inst.dst, lanes), Value::of(Range::exactly(inst.imm)));
    case Op::s_sub_i32:
    case Op::v_sub_nc_u32: return subtract(at(0), at(1));
    case Op::v_subrev_nc_u32: return subtract(at(1), at(0));
    case Op::v_add3_u32: {
      const Value a = at(0), b = at(1), c = at(2);
      return put(sum(sum(a.number, b.number), c.number),
                 mixed(mixed(a.origins, b.origins), c.origins));
    }
    case Op::s_mul_i32:
    case Op::v_mul_lo_u32: return put_value(product_of(at(0), at(1)));
    case Op::s_mulk_i32:
      return put_value(product_of(read(inst.dst, lanes), Value::of(Range::exactly(inst.imm))));
    case Op::v_mul_u32_u24: return put_value(product_of(low24(at(0), false), low24(at(1), false)));
    case Op::v_mul_i32_i24: return put_value(product_of(low24(at(0), true), low24(at(1), true)));
    case Op::v_mad_u32_u24: return add(product_of(low24(at(0), false), low24(at(1), false)), at(2));
    case Op::v_mad_i32_i24: return add(product_of(low24(at(0), true), low24(at(1), true)), at(2));
    case Op::s_mul_hi_u32:
    case Op::v_mul_hi_u32: {
      const Value a = at(0), b = at(1);
      const Range wide = product(unsigned32(a.number), unsigned32(b.number));
      return put(bounded(wide) ? Range{wide.low >> 32, wide.high >> 32, 1} : kAny32,
                 mixed(a.origins, b.origins));
    }
    case Op::s_mul_hi_i32:
    case Op::v_mul_hi_i32: {
      const Value a = at(0), b = at(1);
      const Range wide = product(signed32(a.number), signed32(b.number));
      return put(bounded(wide) ? Range{wide.low >> 32, wide.high >> 32, 1} : kAny32,
                 mixed(a.origins, b.origins));
    }
    case Op::s_lshl_b32: return put_value(shifted_left(at(0), at(1)));
    case Op::v_lshlrev_b32: return put_value(shifted_left(at(1), at(0)));
    case Op::v_lshl_add_u32: return add(shifted_left(at(0), at(1)), at(2));
    case Op::s_lshl1_add_u32:
    case Op::s_lshl2_add_u32:
    case Op::s_lshl3_add_u32:
    case Op::s_lshl4_add_u32: {
      const int64_t by = inst.op == Op::s_lshl1_add_u32   ? 1
                         : inst.op == Op::s_lshl2_add_u32 ? 2
                         : inst.op == Op::s_lshl3_add_u32 ? 3
                                                          : 4;
      return add(shifted_left(at(0), Value::of(Range::exactly(by))), at(1));
    }
    case Op::v_add_lshl_u32: {
      const Value a = at(0), b = at(1);
      const Value both = Value::of(wrapped32(sum(a.number, b.number)), mixed(a.origins, b.origins));
      return put_value(shifted_left(both, at(2)));
    }
    default: return false;
  }
}

bool Flow::is_constant(int64_t address) const {
  const auto at = static_cast<uint64_t>(address);
  return std::ranges::any_of(input_.constants, [at](const KernelInput::Constant& one) {
    return at >= one.begin && at < one.end;
  });
}

bool Flow::arithmetic64(const Inst& inst, Lanes& lanes) {
  const auto end_sum = [&](unsigned carry_from, unsigned first, unsigned second, bool minus) {
    const std::shared_ptr<const Carry> carry = lanes.mask(carry_from).carry;
    const Value a = source(inst, first, lanes), b = source(inst, second, lanes);
    const Origins origins = minus ? difference(a.origins, b.origins) : mixed(a.origins, b.origins);
    Value high = Value::of(kAny32, origins);
    if (carry != nullptr && carry->subtract == minus) {
      const Wide x = pair(carry->a, a), y = pair(carry->b, b);
      high.lower = carry->name;
      high.wide = sum(x.range, minus ? negative(y.range) : y.range);
      if (!bounded(x.range) || !bounded(y.range)) high.wide = kAny64;
      // Constants are read as they are. What else lies there may be a pointer, or a variable.
      if (origins == origin::kCode &&
          !(high.wide.exact() ? is_constant(high.wide.low) : bounded(x.range)))
        high.origins = origin::kAny;
      if (origins == 0 && x.origins == 0 && y.origins == 0) high.number = top_half(high.wide);
    }
    write(inst.dst, high, lanes);
    return true;
  };
  const auto shift = [&](unsigned value, unsigned by, bool left) {
    const Value bits = source(inst, by, lanes);
    Wide wide = source64(inst, value, lanes);
    const bool known = bits.origins == 0 && bits.number.exact() && bounded(wide.range) &&
                       (wide.origins & ~origin::kLoaded) == 0;
    const auto count = static_cast<unsigned>(bits.number.low & 63);
    if (!known || (left && count > 32))
      wide.range = kAny64;
    else if (left)
      wide.range = product(wide.range, Range::exactly(int64_t{1} << count));
    else
      wide.range = Range{wide.range.low >> count, wide.range.high >> count, 1};
    wide.origins = mixed(wide.origins, bits.origins);
    const bool few = left && bits.origins == 0 && bits.number.exact() && count < 32;
    write64(inst.dst, wide, lanes,
            few ? wrapped32(product(source(inst, value, lanes).number,
                                    Range::exactly(int64_t{1} << count)))
                : kAny32);
    return true;
  };
  const auto sign_of = [&](const Value& low) {
    Value high = Value::of(kAny32, low.origins);
    high.lower = low.name;
    high.wide = (low.origins & ~origin::kLoaded) == 0 ? signed32(low.number) : kAny64;
    if (low.origins == 0 && high.wide.low >= 0) high.number = Range::exactly(0);
    write(inst.dst, high, lanes);
    return true;
  };
  switch (inst.op) {
    case Op::s_addc_u32:
    case Op::s_subb_u32: end_sum(kScc, 0, 1, inst.op == Op::s_subb_u32); return true;
    case Op::v_add_co_ci_u32:
    case Op::v_sub_co_ci_u32:
    case Op::v_subrev_co_ci_u32: {
      if (!operand::is_sgpr(inst.src[2])) return false;
      const bool reversed = inst.op == Op::v_subrev_co_ci_u32;
      const bool minus = inst.op != Op::v_add_co_ci_u32;
      const uint16_t carry_to = inst.sdst;
      end_sum(inst.src[2], reversed ? 1 : 0, reversed ? 0 : 1, minus);
      Mask mask;
      mask.within = lanes.level();
      if (carry_to != operand::kNone) set_mask(carry_to, std::move(mask), lanes);
      return true;
    }
    case Op::v_mad_u64_u32:
    case Op::v_mad_i64_i32: {
      const bool is_signed = inst.op == Op::v_mad_i64_i32;
      const Value a = source(inst, 0, lanes), b = source(inst, 1, lanes);
      const Wide c = source64(inst, 2, lanes);
      const auto view = [&](const Range& range) {
        return is_signed ? signed32(range) : unsigned32(range);
      };
      Wide wide;
      wide.origins = mixed(mixed(a.origins, b.origins), c.origins);
      const Range times = product(view(a.number), view(b.number));
      const bool numbers = ((a.origins | b.origins) & ~origin::kLoaded) == 0;
      wide.range = numbers && bounded(times) && bounded(c.range) ? sum(times, c.range) : kAny64;
      // Code that wants 32 bits only leaves anything in the upper half.
      const Value low = source(inst, 2, lanes);
      const Wide plain = {wide.range, mixed(mixed(a.origins, b.origins), low.origins)};
      const bool lower = source(inst, 2, lanes, 1).nothing;
      write64(inst.dst, lower ? plain : wide, lanes,
              wrapped32(sum(product(a.number, b.number), low.number)));
      if (inst.sdst != operand::kNone) set_mask(inst.sdst, Mask{}, lanes);
      return true;
    }
    case Op::s_lshl_b64: return shift(0, 1, true);
    case Op::v_lshlrev_b64: return shift(1, 0, true);
    case Op::s_ashr_i64: return shift(0, 1, false);
    case Op::v_ashrrev_i64: return shift(1, 0, false);
    case Op::v_ashrrev_i32:
    case Op::s_ashr_i32: {
      const unsigned value = inst.op == Op::s_ashr_i32 ? 0 : 1;
      const Value by = source(inst, 1 - value, lanes), a = source(inst, value, lanes);
      if (by.origins != 0 || !by.number.exact()) return false;
      const auto count = static_cast<unsigned>(by.number.low & 31);
      if (count == 31) return sign_of(a);
      if ((a.origins & ~origin::kLoaded) != 0) return false;
      const Range range = signed32(a.number);
      write(inst.dst, Value::of(Range{range.low >> count, range.high >> count, 1}, a.origins),
            lanes);
      return true;
    }
    default: return false;
  }
}

bool Flow::bits(const Inst& inst, Lanes& lanes) {
  const auto at = [&](unsigned n) { return source(inst, n, lanes); };
  const auto number = [](const Value& value) { return (value.origins & ~origin::kLoaded) == 0; };
  const auto put = [&](const Range& range, Origins origins) {
    write(inst.dst, Value::of(wrapped32(range), origins), lanes);
    return true;
  };
  const auto and_of = [&](const Value& a, const Value& b) {
    Value value = Value::of(kAny32, mixed(a.origins, b.origins));
    if (!number(a) || !number(b)) return value;
    const Range x = unsigned32(a.number), y = unsigned32(b.number);
    if (y.exact())
      value.number = masked(x, static_cast<uint32_t>(y.low));
    else if (x.exact())
      value.number = masked(y, static_cast<uint32_t>(x.low));
    else
      value.number = {0, std::min(x.high, y.high), 1};
    return value;
  };
  const auto or_of = [&](const Value& a, const Value& b) {
    Value value = Value::of(kAny32, mixed(a.origins, b.origins));
    if (number(a) && number(b))
      value.number = wrapped32(either_bits(unsigned32(a.number), unsigned32(b.number)));
    return value;
  };
  const auto field = [&](const Value& a, unsigned offset, unsigned width) {
    if (!number(a)) return false;
    if (width == 0) return put(Range::exactly(0), 0);
    const uint32_t mask = width >= 32 ? 0xffffffffu : (1u << width) - 1;
    return put(masked(shifted_right(unsigned32(a.number), offset), mask), a.origins);
  };
  const auto limit = [&](bool is_signed, bool most) {
    const Value a = at(0), b = at(1);
    if (!number(a) || !number(b)) return false;
    const auto view = [&](const Value& value) {
      return is_signed ? signed32(value.number) : unsigned32(value.number);
    };
    const Range x = view(a), y = view(b);
    Range range = united(x, y);
    if (most) {
      range.high = std::min(x.high, y.high);
    } else {
      range.low = std::max(x.low, y.low);
    }
    range.step = 1;
    return put(range, mixed(a.origins, b.origins));
  };
  const auto put_value = [&](const Value& value) {
    write(inst.dst, value, lanes);
    return true;
  };
  switch (inst.op) {
    case Op::s_and_b32:
    case Op::v_and_b32: return put_value(and_of(at(0), at(1)));
    case Op::s_or_b32:
    case Op::v_or_b32: return put_value(or_of(at(0), at(1)));
    case Op::v_or3_b32: return put_value(or_of(or_of(at(0), at(1)), at(2)));
    case Op::v_and_or_b32: return put_value(or_of(and_of(at(0), at(1)), at(2)));
    case Op::v_lshl_or_b32: {
      const Value a = at(0), by = at(1);
      if (!number(a) || by.origins != 0 || !by.number.exact()) return false;
      const Range shifted = product(a.number, Range::exactly(int64_t{1} << (by.number.low & 31)));
      return put_value(or_of(Value::of(wrapped32(shifted), a.origins), at(2)));
    }
    case Op::s_lshr_b32:
    case Op::v_lshrrev_b32: {
      const unsigned value = inst.op == Op::s_lshr_b32 ? 0 : 1;
      const Value a = at(value), by = at(1 - value);
      if (!number(a) || by.origins != 0 || !by.number.exact()) return false;
      return put(shifted_right(unsigned32(a.number), static_cast<unsigned>(by.number.low & 31)),
                 a.origins);
    }
    case Op::s_bfe_u32: {
      const Value a = at(0), by = at(1);
      if (by.origins != 0 || !by.number.exact()) return false;
      const auto word = static_cast<uint32_t>(by.number.low);
      return field(a, word & 31, word >> 16 & 127);
    }
    case Op::v_bfe_u32: {
      const Value a = at(0), from = at(1), width = at(2);
      if (from.origins != 0 || width.origins != 0 || !from.number.exact() || !width.number.exact())
        return false;
      return field(a, static_cast<unsigned>(from.number.low & 31),
                   static_cast<unsigned>(width.number.low & 31));
    }
    case Op::s_min_u32:
    case Op::v_min_u32: return limit(false, true);
    case Op::s_max_u32:
    case Op::v_max_u32: return limit(false, false);
    case Op::s_min_i32:
    case Op::v_min_i32: return limit(true, true);
    case Op::s_max_i32:
    case Op::v_max_i32: return limit(true, false);
    default: return false;
  }
}

}  // namespace gfxgraph::footprint
