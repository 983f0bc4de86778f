// Typed buffer accesses: MTBUF (format in the instruction) and MUBUF format loads and stores
// (format in the resource). Source: RDNA2 ISA guide, "Vector Memory Buffer Instructions", "Buffer
// Image Format Table".
#pragma once

#include "emulator/isa/memory/buffer_format.h"
#include "emulator/isa/memory/mubuf.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// Inst::k[0] of a typed access.
struct TypedAccess {
  uint32_t components;
  bool half;   // 16-bit components, two per register
  bool upper;  // the one component in the upper half
};
GFXGRAPH_INLINE uint64_t keep_typed(const TypedAccess& a) {
  return a.components | (a.half ? 8u : 0u) | (a.upper ? 16u : 0u);
}
GFXGRAPH_INLINE TypedAccess typed_access(const Inst* i) {
  return {static_cast<uint32_t>(i->k[0] & 7), (i->k[0] & 8) != 0, (i->k[0] & 16) != 0};
}

GFXGRAPH_INLINE void set_components(Wave& w, const Inst* i, unsigned l, const TypedAccess& a,
                                    const uint32_t (&value)[4]) {
  Row* dst = &w.v(i->dst);
  for (uint32_t n = 0; n < a.components; ++n) {
    if (!a.half) {
      dst[n].lane[l] = value[n];
    } else {
      uint32_t& d = dst[n / 2].lane[l];
      const bool high = a.upper || n % 2 != 0;
      d = high ? (d & 0xffffu) | value[n] << 16 : (d & 0xffff0000u) | (value[n] & 0xffffu);
    }
  }
}
GFXGRAPH_INLINE void get_components(const Wave& w, const Inst* i, unsigned l, const TypedAccess& a,
                                    uint32_t (&value)[4]) {
  const Row* data = &w.v(i->src[1]);
  for (uint32_t n = 0; n < a.components; ++n) {
    if (!a.half)
      value[n] = data[n].lane[l];
    else
      value[n] = data[n / 2].lane[l] >> (a.upper || n % 2 != 0 ? 16 : 0) & 0xffffu;
  }
}

// DST_SEL of the resource: 0, 1, or a component. Sources in `from`, results in `to`.
GFXGRAPH_INLINE void select_components(uint32_t word3, const BufferFormat& f, bool half,
                                       const uint32_t (&from)[4], uint32_t (&to)[4]) {
  const bool integer = f.number == NumberFormat::kUint || f.number == NumberFormat::kSint;
  const uint32_t one = integer ? 1u : half ? 0x3c00u : 0x3f800000u;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t select = word3 >> (3 * n) & 7;
    to[n] = select >= 4 ? from[select - 4] : select == 1 ? one : 0;
  }
}
constexpr uint32_t kIdentitySelect = 4u | 5u << 3 | 6u << 6 | 7u << 9;

// Why a typed access is unsupported; null: it is supported.
inline const char* typed_obstacle(const BufferFormat& f, const TypedAccess& a, uint32_t word3,
                                  bool store, bool swizzle) {
  if (f.components == 0) return "this buffer format number";
  if (a.half && f.bits[0] == 32) return "16-bit access to a buffer format of 32-bit components";
  if (swizzle && f.bytes > 4) return "an element wider than 4 bytes in a swizzled buffer";
  if (!store) return nullptr;
  const uint32_t used = (1u << (3 * f.components)) - 1;
  if ((word3 & used) != (kIdentitySelect & used)) return "a format store with a component swizzle";
  if (a.components < f.components) return "a format store of fewer components than the format has";
  return nullptr;
}

template <class Observer, bool kStore>
const Inst* typed_buffer(Wave& w, const Inst* i) {
  const Srd srd = read_srd(w, i);
  const uint32_t soffset = w.read32(i, 2);
  const TypedAccess access = typed_access(i);
  const bool in_inst = i->format == Format::kMtbuf;
  const uint32_t word3 = in_inst ? kIdentitySelect : w.sgpr[i->sdst + 3];
  const BufferFormat format = buffer_format(in_inst ? i->mods >> 16 : word3 >> 12 & 127);
  if (const char* why = typed_obstacle(format, access, word3, kStore, srd.swizzle))
    return w.unsupported(i, why);
  Row64 address;
  uint32_t in_range = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const BufferLane lane = buffer_lane(w, i, srd, soffset, l, format.bytes);
    address.lane[l] = lane.address;
    in_range |= static_cast<uint32_t>(lane.usable == format.bytes) << l;
  }
  uint32_t exec = w.exec();
  if constexpr (Observer::kMemory) {
    MemoryEvent event;
    event.kind = kStore ? AccessKind::kStore : AccessKind::kLoad;
    event.access_bytes = format.bytes;
    event.exec = exec;
    event.address = address.lane;
    event.in_range = in_range;
    event.pointer = srd.base;
    event.srd_records = srd.records;
    event.soffset = soffset;
    in_range &=
        static_cast<Observer*>(w.observer)
            ->memory(*static_cast<typename Observer::WaveState*>(w.observer_state), w, *i, event);
  }
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    uint32_t value[4] = {};
    const uint64_t a = address.lane[l];
    uintptr_t host = 0;
    if ((in_range >> l & 1) != 0 && !resolve<kStore>(w, i, a, Bounds{0, 0}, format.bytes, host))
      return raise_access(w, i, FaultKind::kMemory, l, a, format.bytes, kStore, nullptr);
    auto* element = reinterpret_cast<uint8_t*>(host);
    if constexpr (kStore) {
      get_components(w, i, l, access, value);
      uint8_t packed[16];
      if (host == 0) continue;
      if (const char* why = pack_format(format, value, access.half, packed))
        return w.unsupported(i, why);
      std::memcpy(element, packed, format.bytes);
    } else {
      uint32_t selected[4] = {};
      if (host != 0) {
        unpack_format(format, element, access.half, value);
        select_components(word3, format, access.half, value, selected);
      }
      set_components(w, i, l, access, selected);
    }
  }
  return i->next();
}

template <class O>
Handler bind_buffer_format(Inst& inst) {
  if ((inst.mods & (mmod::kLds | mmod::kTfe)) != 0) return nullptr;
  const auto typed = [&](bool store, uint32_t components, bool half, bool upper) {
    inst.k[0] = keep_typed({components, half, upper});
    return store ? typed_buffer<O, true> : typed_buffer<O, false>;
  };
  switch (inst.op) {
#define GFXGRAPH_TYPED(suffix, components)                                                 \
  case Op::buffer_load_format_##suffix:                                                    \
  case Op::tbuffer_load_format_##suffix: return typed(false, components, false, false);    \
  case Op::buffer_load_format_d16_##suffix:                                                \
  case Op::tbuffer_load_format_d16_##suffix: return typed(false, components, true, false); \
  case Op::buffer_store_format_##suffix:                                                   \
  case Op::tbuffer_store_format_##suffix: return typed(true, components, false, false);    \
  case Op::buffer_store_format_d16_##suffix:                                               \
  case Op::tbuffer_store_format_d16_##suffix: return typed(true, components, true, false);
    GFXGRAPH_TYPED(x, 1)
    GFXGRAPH_TYPED(xy, 2)
    GFXGRAPH_TYPED(xyz, 3)
    GFXGRAPH_TYPED(xyzw, 4)
#undef GFXGRAPH_TYPED
    case Op::buffer_load_format_d16_hi_x: return typed(false, 1, true, true);
    case Op::buffer_store_format_d16_hi_x: return typed(true, 1, true, true);
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
