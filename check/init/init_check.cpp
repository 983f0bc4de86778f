#include "check/init/init_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "check/lanes/bitwise.h"
#include "emulator/decode/image_operands.h"
#include "emulator/decode/operand_uses.h"
#include "emulator/isa/memory/image.h"

namespace gfxgraph::check {
namespace {

using emulator::Dataflow;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;
namespace operand = emulator::operand;

using emulator::operand::kVgpr0;

// Bits of the result that are known: both are, or one of them decides.
uint32_t known(Bitwise::Kind kind, uint32_t a, uint32_t known_a, uint32_t b, uint32_t known_b) {
  const uint32_t both = known_a & known_b;
  if (kind == Bitwise::Kind::kAnd) return both | (known_a & ~a) | (known_b & ~b);
  if (kind == Bitwise::Kind::kOr) return both | (known_a & a) | (known_b & b);
  return both;
}

uint32_t shadow_of(const LaneWaveState& state, unsigned code) {
  return code < 512 ? state.defined[code] : ~0u;
}

// Lanes of which an address register is undefined.
uint32_t undefined_addresses(const LaneWaveState& state, const InstOperands& operands) {
  uint32_t undefined = 0;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const OperandRef& source = operands.source[n];
    if ((source.role & OperandRef::kAddress) == 0) continue;
    for (unsigned d = 0; d < source.dwords; ++d) {
      const uint32_t shadow = state.defined[(source.code + d) & 511];
      undefined |= source.code < kVgpr0 ? (shadow == ~0u ? 0 : ~0u) : ~shadow;
    }
  }
  return undefined;
}

bool exchanges(Op op) { return (emulator::op_info(op).flags & emulator::OpInfo::kExchanges) != 0; }

}  // namespace

void InitCheck::wave_begin(LaneWaveState& state, InitWave& me, const Wave& wave) {
  me.dwords = 0;
  me.pending = false;
  me.loaded.fill(~0u);
  me.computed.fill(0);
  for (unsigned code = me.raw_from; code < me.raw_to; ++code) me.raw[code] = ~0u;
  me.raw_from = 512;
  me.raw_to = 0;
  state.raw = me.raw.data();
  me.lds = nullptr;
  if (wave.group->lds_requested == 0) return;
  InitWave::Lds& lds = lds_[wave.group];
  if (lds.waves == 0) {
    lds.reset(wave.group->lds_requested);
    lds.computed.clear();
    lds.waves = wave.group->wave_count;
  }
  me.lds = &lds;
}

void InitCheck::wave_end(const Wave& wave) {
  if (wave.first_lane != 0) return;
  const auto found = lds_.find(wave.group);
  if (found != lds_.end()) --found->second.waves;
}

// ---- memory ----

void InitCheck::report_address(LaneWaveState& state, const Wave& wave, const Inst& inst,
                               uint32_t exec) {
  const uint32_t undefined = undefined_addresses(state, emulator::operands_of(inst)) & exec;
  if (undefined != 0) report(state, wave, inst, FindingClass::kU1, undefined, "");
}

void InitCheck::each_lane(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                          const emulator::MemoryEvent& event, uint32_t lanes) {
  const bool lds = event.space == emulator::Space::kLds;
  const bool loads = event.kind == emulator::AccessKind::kLoad;
  const bool image = inst.format == emulator::Format::kMimg;
  const bool good = loads || (image ? (~defined_texels(state, wave, inst) & lanes) == 0
                                    : stores_defined(state, inst, event, lanes));
  uint64_t low = UINT64_MAX, high = 0;
  bool row = (lanes & (lanes - 1)) == 0 || lanes == ~0u;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const bool active = (lanes >> l & 1) != 0;
    low = std::min(low, active ? event.address[l] : UINT64_MAX);
    high = std::max(high, active ? event.address[l] : 0);
    row = row && (!active || l == 0 || lanes != ~0u ||
                  event.address[l] == event.address[l - 1] + event.access_bytes);
  }
  const uint64_t span = high + event.access_bytes - low;
  if (good &&
      (lds ? me.lds->left == 0 || me.lds->all(low, span) : memory_.all_written(low, span))) {
    if (loads ||
        (event.kind == emulator::AccessKind::kAtomic && !exchanges(inst.op) && returns(inst)))
      me.load_written(event);
    return;
  }
  if (loads) return image ? load_texels(me, inst, event, lanes) : load(me, event, lanes);
  // The first store of a row of lanes.
  if (good && row && event.kind == emulator::AccessKind::kStore) {
    if (!lds) return memory_.set_written(low, span);
    if (low < me.lds->bytes) me.lds->set(low, std::min(span, me.lds->bytes - low), true);
    return;
  }
  store(state, me, wave, inst, event, lanes);
}

void InitCheck::load(InitWave& me, const emulator::MemoryEvent& event, uint32_t lanes) {
  const bool lds = event.space == emulator::Space::kLds;
  const unsigned dwords = (event.access_bytes + 3u) / 4;
  const unsigned first = me.first_of(event);
  if (first + dwords > InitWave::kMost || lanes == 0) return;
  for (unsigned d = 0; d < dwords; ++d) {
    uint32_t written = ~0u;
    const uint32_t bytes = std::min(4u, event.access_bytes - 4 * d);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t address = event.address[lane] + 4 * d;
      bool any = false;
      if (lds) {
        any = address + bytes > me.lds->bytes || (me.lds->bits(address) & ((1u << bytes) - 1)) != 0;
      } else {
        any = !memory_.may_be_unwritten(address) ||
              memory_.unwritten(address, bytes) != (1u << bytes) - 1;
      }
      if (any) continue;
      written &= ~(1u << lane);
      if (lds ? !me.lds->computed.empty() && me.lds->computed[address / 4]
              : memory_.computed(address, bytes))
        me.computed[first + d] |= 1u << lane;
    }
    me.loaded[first + d] &= written;
    me.pending = me.pending || written != ~0u;
  }
  me.dwords = std::max(me.dwords, first + dwords);
}

// RDNA2 ISA guide 8.1.8: the dwords of the lanes lie one behind the other.
void InitCheck::load_to_lds(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                            const emulator::MemoryEvent& event, uint32_t lanes) {
  if (event.space != emulator::Space::kScratch) each_lane(state, me, wave, inst, event, lanes);
  const int64_t first =
      int64_t{wave.sgpr[operand::kM0] & 0xffff} + inst.imm + 4 * int64_t{wave.first_lane};
  // Lanes without an address in memory load 0.
  for (uint32_t rest = event.exec; rest != 0 && me.lds != nullptr; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const int64_t at = first + 4 * int64_t{lane};
    if (at < 0 || at + 4 > static_cast<int64_t>(me.lds->bytes)) continue;
    me.lds->set(static_cast<uint64_t>(at), 4, (me.loaded[0] >> lane & 1) != 0);
  }
  me.loaded.fill(~0u);
  me.computed.fill(0);
  me.dwords = 0;
  me.pending = false;
}

void InitCheck::load_texels(InitWave& me, const Inst& inst, const emulator::MemoryEvent& event,
                            uint32_t lanes) {
  uint32_t written = ~0u;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (uint32_t at = 0; at < event.access_bytes; at += 4) {
      const uint64_t address = event.address[lane] + at;
      const uint32_t bytes = std::min(4u, event.access_bytes - at);
      if (memory_.may_be_unwritten(address) &&
          memory_.unwritten(address, bytes) == (1u << bytes) - 1)
        written &= ~(1u << lane);
    }
  }
  if (written == ~0u) return;
  const unsigned dwords = emulator::image_shape(inst).data_dwords;
  for (unsigned d = 0; d < dwords; ++d) me.loaded[d] &= written;
  me.dwords = std::max(me.dwords, dwords);
  me.pending = true;
}

uint32_t InitCheck::defined_texels(const LaneWaveState& state, const Wave& wave, const Inst& inst) {
  emulator::Image image;
  if (emulator::read_image(&wave.sgpr[inst.sdst], image) != nullptr) return ~0u;  // faults
  const uint32_t dmask = emulator::image_fields(inst).dmask;
  uint32_t defined = ~0u;
  unsigned data = inst.src[1];
  for (unsigned n = 0; n < 4; ++n) {
    if ((dmask >> n & 1) == 0) continue;
    const uint32_t select = image.select >> (3 * n) & 7;
    if (select >= 4 && select - 4 < image.format.components) defined &= shadow_of(state, data);
    ++data;
  }
  return defined;
}

// Nothing that it may store is undefined, whichever data operand the event belongs to.
bool InitCheck::stores_defined(const LaneWaveState& state, const Inst& inst,
                               const emulator::MemoryEvent& event, uint32_t lanes) {
  uint32_t defined = ~0u;
  const bool two = inst.format == emulator::Format::kDs && inst.src[2] < 512;
  for (unsigned d = 0; d < (event.access_bytes + 3u) / 4; ++d) {
    defined &= shadow_of(state, inst.src[1] + d);
    if (two) defined &= shadow_of(state, inst.src[2] + d);
  }
  return (~defined & lanes) == 0;
}

void InitCheck::store(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                      const emulator::MemoryEvent& event, uint32_t lanes) {
  const bool lds = event.space == emulator::Space::kLds;
  const bool atomic = event.kind == emulator::AccessKind::kAtomic;
  uint16_t data = inst.src[1];
  const uint32_t flags = emulator::op_info(inst.op).flags;
  if ((flags & emulator::OpInfo::kTwoAddresses) != 0) {
    // The address tells which half this is.
    const uint32_t unit =
        event.access_bytes * ((flags & emulator::OpInfo::kStride64) != 0 ? 64u : 1u);
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes | 1u << 31));
    const uint32_t first =
        wave.v(inst.src[0]).lane[lane] + (static_cast<uint32_t>(inst.imm) & 0xff) * unit;
    if (static_cast<uint32_t>(event.address[lane]) != first) data = inst.src[2];
  }
  if (atomic && !exchanges(inst.op)) {
    // What it reads is undefined if nobody wrote it, and so is what it leaves there.
    const unsigned first = me.first_of(event);
    load(me, event, lanes);
    for (unsigned d = first; d < me.dwords; ++d) lanes &= me.loaded[d];
    if (!returns(inst)) {
      me.loaded.fill(~0u);
      me.computed.fill(0);
      me.dwords = 0;
      me.pending = false;
    }
  }
  const bool image = inst.format == emulator::Format::kMimg;
  InitMemory::Origin origin{kernel_,     inst.pc,      inst.op,
                            state.place, trace_event_, uint64_t{lanes} << wave.first_lane};
  uint32_t origins[2] = {UINT32_MAX, UINT32_MAX};  // moved, computed
  for (unsigned at = 0; at < event.access_bytes; at += 4) {
    const uint32_t defined = image
                                 ? defined_texels(state, wave, inst)
                                 : shadow_of(state, data == operand::kNone ? 512u : data + at / 4u);
    const uint64_t bytes = std::min(4u, event.access_bytes - at);
    // An atomic makes a value of what was there.
    const bool moves = !image && !atomic && data < 512 && data + at / 4u < 512;
    const uint32_t raw = moves ? me.raw[data + at / 4u] : 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t address = event.address[lane] + at;
      const bool good = (defined >> lane & 1) != 0;
      if (lds) {
        if (address >= me.lds->bytes) continue;
        me.lds->set(address, std::min(bytes, me.lds->bytes - address), good);
        if (good) continue;
        const bool computed = (raw >> lane & 1) == 0;
        if (computed && me.lds->computed.empty()) me.lds->computed.resize(me.lds->bytes / 4 + 1);
        if (!me.lds->computed.empty()) me.lds->computed[address / 4] = computed;
      } else if (memory_.may_be_unwritten(address)) {
        if (good) {
          memory_.set_written(address, bytes);
          continue;
        }
        origin.computed = (raw >> lane & 1) == 0;
        uint32_t& index = origins[origin.computed ? 1 : 0];
        if (index == UINT32_MAX) index = memory_.add_origin(origin);
        memory_.set_undefined(address, bytes, index);
      }
    }
  }
}

void InitCheck::scalar_load(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                            const emulator::ScalarEvent& event) {
  const InstOperands& operands = emulator::operands_of(inst);
  if (undefined_addresses(state, operands) != 0 && wave.exec() != 0)
    report(state, wave, inst, FindingClass::kU1, 0, "");
  if (!event.mapped) return;
  if (memory_.needs_no_look(event.address, event.bytes)) {
    me.dwords = std::min(me.dwords + event.bytes / 4, InitWave::kMost);
    return;
  }
  for (uint32_t at = 0; at < event.bytes && me.dwords < InitWave::kMost; at += 4) {
    const uint64_t address = event.address + at;
    const bool undefined = memory_.may_be_unwritten(address) && memory_.unwritten(address, 4) == 15;
    me.loaded[me.dwords++] = undefined ? 0 : ~0u;
    me.pending = me.pending || undefined;
  }
}

void InitCheck::finish_load(LaneWaveState& state, InitWave& me, const Wave& wave,
                            const Inst& inst) {
  const uint32_t exec = wave.exec();
  for (unsigned d = 0; d < me.dwords; ++d) {
    const unsigned code = inst.dst + d;
    if (inst.dst == operand::kNone || code >= 512) break;
    if (code < kVgpr0) {
      state.defined[code] &= me.loaded[d];
      me.set_raw(code, ~0u, ~me.computed[d]);
    } else {
      state.defined[code] &= ~exec | me.loaded[d];
      me.set_raw(code, exec, ~me.computed[d]);
    }
  }
  me.loaded.fill(~0u);
  me.computed.fill(0);
  me.dwords = 0;
  me.pending = false;
}

// ---- moves ----

void InitCheck::undefined_result(LaneWaveState& state, InitWave& me, const Wave& wave,
                                 const Inst& inst, const InstOperands& operands) {
  const uint32_t exec = wave.exec();
  const auto raw = [&](unsigned code) { return code < 512 ? me.raw[code] : 0; };
  const auto set = [&](unsigned code, uint32_t lanes, uint32_t value) {
    if (code < 512) me.set_raw(code, lanes, value);
  };
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  const bool vector = emulator::is_vector_alu(inst.format);
  const bool plain = !vector || inst.extra() == emulator::VopExtra::kNone;
  switch (info.dataflow) {
    case Dataflow::kCopy:
      if (!plain) break;
      if (info.dst_dwords == 2) set(inst.dst + 1u, ~0u, raw(inst.src[0] + 1u));
      return set(inst.dst, vector ? exec : ~0u, raw(inst.src[0]));
    case Dataflow::kSelect: {
      if (!vector || !plain) break;
      const uint16_t select = inst.src[2];
      const uint32_t bits = operand::is_sgpr(select) ? wave.sgpr[select] : 0;
      const uint32_t from = (bits & raw(inst.src[1])) | (~bits & raw(inst.src[0]));
      return set(inst.dst, exec, from & shadow_of(state, select));
    }
    // The lane is not known here: all lanes that are undefined are.
    case Dataflow::kReadLane: {
      const uint32_t undefined = ~shadow_of(state, inst.src[0]);
      return set(inst.dst, ~0u, (~raw(inst.src[0]) & undefined) == 0 ? ~0u : 0);
    }
    case Dataflow::kWriteLane:
      if (raw(inst.src[0]) != ~0u) set(inst.dst, 1u << (wave.read32(&inst, 1) & 31), 0);
      return;
    default: break;
  }
  // A load from scratch; finish_load() follows for others.
  if (state.loads_scratch) {
    state.loads_scratch = false;
    for (unsigned d = 0; d < std::max(1u, operands.access_bytes / 4u); ++d)
      set(inst.dst + d, exec, ~state.loaded_computed);
    return;
  }
  for (unsigned n = 0; n < operands.dest_count; ++n)
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
      const unsigned code = operands.dest[n].code + d;
      set(code, code < kVgpr0 ? ~0u : exec, 0);
    }
}

// ---- branches and EXEC ----

void InitCheck::branch(LaneWaveState& state, const Wave& wave, const Inst& inst) {
  if (emulator::compares_exec(emulator::op_info(inst.op))) {
    const InstOperands& operands = emulator::operands_of(inst);
    uint32_t defined = ~0u;
    for (unsigned n = 0; n < operands.source_count; ++n)
      for (unsigned d = 0; d < operands.source[n].dwords; ++d)
        defined &= state.defined[(operands.source[n].code + d) & 511];
    if (const uint32_t undefined = ~defined & wave.exec(); undefined != 0)
      report(state, wave, inst, FindingClass::kU2, undefined, "the lane mask");
    return;
  }
  const bool scc = (emulator::op_info(inst.op).flags & emulator::OpInfo::kReadsScc) != 0;
  const unsigned code = scc ? unsigned{operand::kScc} : unsigned{operand::kVccLo};
  uint32_t& shadow = state.defined[code];
  const uint32_t undefined = scc ? (shadow == ~0u ? 0 : ~0u) : ~shadow & state.launched;
  if (undefined == 0) return;
  report(state, wave, inst, FindingClass::kU2, scc ? 0 : undefined, "the condition");
  shadow = ~0u;  // once
}

void InitCheck::before_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave,
                               const Inst& inst) {
  const Bitwise how = bitwise(inst.op);
  for (unsigned d = 0; d < how.dwords; ++d) {
    const auto value = [&](int n) {
      const uint64_t both = how.dwords == 2 ? wave.read64(&inst, n) : wave.read32(&inst, n);
      return static_cast<uint32_t>(both >> (32 * d));
    };
    const auto shadow = [&](int n) {
      const uint16_t code = inst.src[n];
      return operand::is_sgpr(code) ? state.defined[code + d] : shadow_of(state, code);
    };
    const unsigned exec = operand::kExecLo + d;
    uint32_t a = value(0);
    uint32_t b = how.saves_exec ? wave.sgpr[exec] : value(1);
    const uint32_t known_a = shadow(0);
    const uint32_t known_b = how.saves_exec ? ~0u : shadow(1);
    if (how.invert_a) a = ~a;
    if (how.invert_b) b = ~b;
    me.bits[d] = known(how.kind, a, known_a, b, known_b);
  }
}

void InitCheck::after_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave,
                              const Inst& inst) {
  const Bitwise how = bitwise(inst.op);
  uint32_t all = ~0u;
  bool decided = false;  // a known bit is set: the result is not 0, whatever the others are
  for (unsigned d = 0; d < how.dwords; ++d) {
    const unsigned result = (how.saves_exec ? operand::kExecLo : inst.dst) + d;
    if (how.saves_exec && inst.dst + d < 128) state.defined[inst.dst + d] = ~0u;
    if (result >= 128) continue;
    state.defined[result] = me.bits[d];
    all &= me.bits[d];
    decided = decided || (wave.sgpr[result] & me.bits[d]) != 0;
  }
  state.defined[operand::kScc] = all == ~0u || decided ? ~0u : 0;
  if (state.defined[operand::kExecLo] != ~0u) exec_written(state, wave, inst);
}

void InitCheck::exec_written(LaneWaveState& state, const Wave& wave, const Inst& inst) {
  const uint32_t undefined = ~state.defined[operand::kExecLo] & state.launched;
  state.defined[operand::kExecLo] = ~0u;  // once
  if (undefined != 0) report(state, wave, inst, FindingClass::kU2, undefined, "the lane mask");
}

// ---- reports ----

void InitCheck::report(LaneWaveState& state, const Wave& wave, const Inst& inst, FindingClass found,
                       uint32_t lanes, const char* detail) {
  LaneEvent event;
  event.finding_class = found;
  event.place = state.place;
  event.pc = inst.pc;
  event.op = inst.op;
  event.lanes = uint64_t{lanes} << wave.first_lane;
  event.exec = uint64_t{wave.exec()} << wave.first_lane;
  event.address_class = "undefined";
  if (lanes != 0 && *detail != 0)
    event.detail = fmt::format("{} of lanes {}", detail, lane_ranges(event.lanes));
  else if (lanes != 0)
    event.detail = fmt::format("of lanes {}", lane_ranges(event.lanes));
  else
    event.detail = detail;
  sites_.add(kernel_, event);
}

bool InitCheck::read_by_host(uint64_t launch, uint64_t trace_event, uint64_t address,
                             uint64_t bytes) {
  const uint64_t count = memory_.count_unwritten(address, bytes);
  if (count == 0) return false;
  std::vector<const InitMemory::Origin*> origins = memory_.origins(address, bytes);
  // Padding that was moved, and the rest of a buffer that is copied as a whole, are not reported.
  if (count != bytes)
    std::erase_if(origins, [](const InitMemory::Origin* one) { return !one->computed; });
  if (origins.empty() && count != bytes) return false;
  LaneEvent event;
  event.address = address;
  event.access_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
  event.address_class = "in its buffer";
  event.detail = fmt::format("{} of the {} bytes that the host receives", count, bytes);
  if (origins.empty()) {
    event.finding_class = FindingClass::kU4;
    event.place.launch = launch;
    event.trace_event = trace_event;
    event.mnemonic = "(copy)";
    sites_.add(0, event);
    return true;
  }
  event.finding_class = FindingClass::kU3;
  event.detail += fmt::format(" by event {}", trace_event);
  for (const InitMemory::Origin* const origin : origins) {
    event.place = origin->place;
    event.trace_event = origin->trace_event;
    event.pc = origin->pc;
    event.op = origin->op;
    event.lanes = origin->lanes;
    sites_.add(origin->kernel, event);
  }
  return true;
}

}  // namespace gfxgraph::check
