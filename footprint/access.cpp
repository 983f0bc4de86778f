// Which memory instructions touch, and what they read.
#include <algorithm>
#include <cstring>
#include <utility>

#include "footprint/flow.h"

namespace gfxgraph::footprint {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::OperandRef;
using emulator::OpInfo;
namespace operand = emulator::operand;
namespace mmod = emulator::mmod;

AccessKind kind_of(const OpInfo& info) {
  if ((info.flags & OpInfo::kAtomic) != 0) return AccessKind::kAtomic;
  return (info.flags & OpInfo::kStore) != 0 ? AccessKind::kWrite : AccessKind::kRead;
}

void add_span(std::vector<Span>& spans, const Span& span) {
  const auto whole = std::ranges::find_if(spans, [](const Span& one) { return one.anywhere(); });
  if (whole != spans.end()) return;
  if (span.anywhere()) {
    spans = {span};
    return;
  }
  if (std::ranges::find(spans, span) != spans.end()) return;
  if (spans.size() < PointerUse::kMostSpans) {
    spans.push_back(span);
    return;
  }
  spans.back().starts = united(spans.back().starts, span.starts);
  spans.back().width = std::max(spans.back().width, span.width);
}

}  // namespace

void Flow::touch(const Inst& inst, const Wide& address, bool scalar) {
  const OpInfo& info = emulator::op_info(inst.op);
  const AccessKind kind = kind_of(info);
  const Origins origins = address.origins;
  if (origins == 0 || (origins & origin::kLoaded) != 0)
    return unknown("an address was read from memory, or comes from a number", inst.pc);
  if ((origins & origin::kAny) != 0)
    return unknown("an address comes from several pointers, or from no argument", inst.pc);
  if ((origins & origin::kCode) != 0 && kind != AccessKind::kRead)
    return unknown("it writes constants of its code object", inst.pc);
  if ((origins & (origin::kKernarg | origin::kPacket)) != 0 && kind != AccessKind::kRead)
    return unknown("it writes its arguments or its packet", inst.pc);
  if (!recording_) return;
  for (uint32_t pointer = 0; pointer < input_.pointers.size(); ++pointer) {
    if ((origins >> pointer & 1) == 0) continue;
    auto use = std::ranges::find_if(result_.uses, [&](const PointerUse& one) {
      return one.pointer == pointer && one.kind == kind;
    });
    if (use == result_.uses.end())
      use = result_.uses.insert(use, PointerUse{.pointer = pointer, .kind = kind, .spans = {}});
    // A scalar load of which a part is not wanted reads whole dwords.
    const uint32_t width = scalar ? std::max<uint32_t>(info.access_bytes, 4) : info.access_bytes;
    add_span(use->spans, {bounded(address.range) ? address.range : kAny64, width});
  }
}

void Flow::keep(Origins stored) {
  if ((stored & ~origin::kLoaded) != 0) keeps_pointers_ = true;
}

void Flow::loaded(const FlowNode& node, Lanes& lanes, Origins origins) {
  for (unsigned n = 0; n < node.operands.dest_count; ++n) {
    const OperandRef& to = node.operands.dest[n];
    for (unsigned d = 0; d < to.dwords; ++d) {
      const auto code = static_cast<uint16_t>(to.code + d);
      Value value = Value::of(kAny32, origins);
      if (d == 0 && n == 0 && (to.role & OperandRef::kPartial) == 0) {
        switch (node.inst.op) {
          case Op::global_load_ubyte:
          case Op::flat_load_ubyte: value.number = {0, 0xff, 1}; break;
          case Op::global_load_ushort:
          case Op::flat_load_ushort: value.number = {0, 0xffff, 1}; break;
          default: break;
        }
        write(code, value, lanes, 0);
        continue;
      }
      write(code, value, lanes, kNoName);
    }
  }
}

Value Flow::argument(int64_t offset) const {
  const auto word = std::ranges::find_if(input_.pointers, [&](uint32_t at) {
    return offset + 4 > int64_t{at} && offset < int64_t{at} + 8;
  });
  const auto size = static_cast<int64_t>(input_.kernarg.size());
  if (word != input_.pointers.end()) {
    if ((offset - *word) % 4 != 0) return Value::anything();
    return Value::of(kAny32, Origins{1} << (word - input_.pointers.begin()));
  }
  // Padding, and what the runtime adds: as an address it would be unknown.
  const Value other = Value::of(kAny32, origin::kLoaded);
  if (offset < 0 || offset + 4 > size) return other;
  for (int64_t n = 0; n < 4; ++n)
    if (input_.known[static_cast<size_t>(offset + n)] == 0) return other;
  uint32_t value = 0;
  std::memcpy(&value, input_.kernarg.data() + offset, sizeof value);
  return Value::of(Range::exactly(value));
}

void Flow::scalar_load(const Inst& inst, const FlowNode& node, Lanes& lanes) {
  const OpInfo& info = emulator::op_info(inst.op);
  if ((info.flags & OpInfo::kLoad) == 0 || info.access_bytes == 0) {
    // Clocks and caches.
    return loaded(node, lanes, 0);
  }
  const bool buffer = info.src_dwords[0] == 4;
  Wide address =
      pair(read(inst.src[0], lanes), read(static_cast<uint16_t>(inst.src[0] + 1), lanes));
  const Value offset = inst.src[1] == operand::kNone || inst.src[1] == operand::kNull
                           ? Value::of(Range::exactly(0))
                           : source(inst, 1, lanes);
  address.origins = mixed(address.origins, offset.origins);
  address.range = bounded(address.range) && (offset.origins & ~origin::kLoaded) == 0 && !buffer
                      ? sum(sum(address.range, unsigned32(offset.number)), Range::exactly(inst.imm))
                      : kAny64;
  touch(inst, address, true);
  if (address.origins == origin::kKernarg && address.range.exact()) {
    for (unsigned d = 0; d < info.dst_dwords; ++d) {
      const int64_t at = (address.range.low & ~int64_t{3}) + 4 * d;
      Value value = argument(at);
      const auto word = std::ranges::find_if(input_.pointers,
                                             [&](uint32_t one) { return at == int64_t{one} + 4; });
      const uint64_t half = uint64_t{node_ + 1} << 20 | uint64_t{1} << 60 | d;
      lanes.forget_names(half, half);
      value.name = half;
      if (word != input_.pointers.end() && d > 0) {
        value.lower = half - 1;
        value.wide = Range::exactly(0);
      }
      write(static_cast<uint16_t>(inst.dst + d), value, lanes);
    }
    return;
  }
  loaded(node, lanes, origin::kLoaded);
  if (address.origins == origin::kPacket && address.range.exact() && info.dst_dwords <= 4) {
    // hsa_kernel_dispatch_packet_t: the workgroup's size at 4, the grid's at 12.
    for (unsigned d = 0; d < info.dst_dwords; ++d) {
      const int64_t at = (address.range.low & ~int64_t{3}) + 4 * d;
      const auto put = [&](uint32_t value) {
        write(static_cast<uint16_t>(inst.dst + d), Value::of(Range::exactly(value)), lanes,
              kNoName);
      };
      if (inst.dst + d >= kScalars) break;
      if (at == 4) put(input_.block[0] | input_.block[1] << 16);
      if (at == 8) put(input_.block[2]);
      if (at >= 12 && at <= 20) put(input_.grid[static_cast<size_t>(at - 12) / 4]);
    }
  }
}

bool Flow::memory(const Inst& inst, const FlowNode& node, Lanes& lanes) {
  const OpInfo& info = emulator::op_info(inst.op);
  const auto number = [](const Value& value) { return (value.origins & ~origin::kLoaded) == 0; };
  const auto data = [&](unsigned slot) {
    Origins origins = 0;
    for (unsigned d = 0; d < info.src_dwords[slot]; ++d)
      origins |= source(inst, slot, lanes, d).origins;
    return origins;
  };
  const Origins of_private = keeps_pointers_ ? origin::kAny : origin::kLoaded;
  switch (inst.format) {
    case Format::kSmem: scalar_load(inst, node, lanes); return true;
    case Format::kDs: {
      if ((inst.mods & mmod::kGds) != 0 || info.dataflow == emulator::Dataflow::kCounter) {
        unknown("it uses GDS, or a counter of its own", inst.pc);
        return true;
      }
      if (info.access_bytes == 0) return false;  // it permutes lanes
      if (inst.src[1] != operand::kNone) keep(data(1));
      if (inst.src[2] != operand::kNone) keep(data(2));
      loaded(node, lanes, of_private);
      return true;
    }
    case Format::kScratch:
      if (inst.src[1] != operand::kNone) keep(data(1));
      loaded(node, lanes, of_private);
      return true;
    case Format::kMimg: unknown("it accesses an image", inst.pc); return true;
    case Format::kExp: unknown("it exports", inst.pc); return true;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kMubuf:
    case Format::kMtbuf: break;
    default: return false;
  }
  if ((info.flags & (OpInfo::kLoad | OpInfo::kStore | OpInfo::kAtomic)) == 0)
    return true;  // caches
  if (info.access_bytes == 0) {
    unknown("it has a memory instruction whose size is not known", inst.pc);
    return true;
  }
  Wide address;
  if (inst.format == Format::kMubuf || inst.format == Format::kMtbuf) {
    // Base address and stride in the first two words of the resource.
    const Value low = read(inst.sdst, lanes),
                high = read(static_cast<uint16_t>(inst.sdst + 1), lanes);
    address.origins = low.origins == high.origins ? low.origins : low.origins | high.origins;
    const auto also = [&](uint16_t code) {
      address.origins = mixed(address.origins, read(code, lanes).origins & ~origin::kScratch);
    };
    const bool scratch = address.origins == origin::kScratch;
    if ((inst.mods & (mmod::kOffen | mmod::kIdxen)) != 0 && inst.src[0] != operand::kNone &&
        !scratch) {
      also(inst.src[0]);
      if ((inst.mods & mmod::kOffen) != 0 && (inst.mods & mmod::kIdxen) != 0)
        also(static_cast<uint16_t>(inst.src[0] + 1));
    }
    if (operand::is_sgpr(inst.src[2]) && !scratch) also(inst.src[2]);
  } else if (inst.format == Format::kGlobal && inst.src[2] != operand::kNone &&
             inst.src[2] != operand::kNull) {
    const Wide base =
        pair(read(inst.src[2], lanes), read(static_cast<uint16_t>(inst.src[2] + 1), lanes));
    const Value offset = source(inst, 0, lanes);
    address.origins = mixed(base.origins, offset.origins);
    if (bounded(base.range) && number(offset))
      address.range = sum(sum(base.range, unsigned32(offset.number)), Range::exactly(inst.imm));
  } else {
    address = source64(inst, 0, lanes);
    if (bounded(address.range)) address.range = sum(address.range, Range::exactly(inst.imm));
  }
  if (inst.format == Format::kFlat && (address.origins & origin::kScratch) != 0) {
    unknown("a flat address may be one of scratch", inst.pc);
    return true;
  }
  touch(inst, address, false);
  const bool in_scratch = (address.origins & origin::kScratch) != 0;
  if (in_scratch && (info.flags & OpInfo::kStore) != 0 && inst.src[1] != operand::kNone)
    keep(data(1));
  loaded(node, lanes, in_scratch ? of_private : origin::kLoaded);
  return true;
}

}  // namespace gfxgraph::footprint
