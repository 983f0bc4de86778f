// MUBUF instructions: buffer resources (SRDs) with range checks and swizzle.
// Source: RDNA2 ISA guide, "Vector Memory Buffer Instructions": address calculation and range
// checking.
#pragma once

#include "emulator/isa/memory/global.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

struct Srd {
  uint64_t base;
  uint32_t stride;
  uint32_t records;
  uint32_t index_stride;
  uint32_t out_of_range;  // OOB_SELECT
  bool swizzle;
  bool add_tid;
};
GFXGRAPH_INLINE Srd read_srd(const Wave& w, const Inst* i) {
  const uint32_t* s = &w.sgpr[i->sdst];
  return {s[0] | uint64_t{s[1] & 0xffff} << 32,
          s[1] >> 16 & 0x3fff,
          s[2],
          8u << (s[3] >> 21 & 3),
          s[3] >> 28 & 3,
          (s[1] >> 31) != 0,
          (s[3] >> 23 & 1) != 0};
}
enum OobSelect : uint32_t { kStructuredOffset = 0, kStructured = 1, kDisabled = 2, kRaw = 3 };

// Whether this access uses the wave's own scratch through the SRD it was started with.
GFXGRAPH_INLINE bool is_scratch(const Wave& w, const Srd& srd) {
  return srd.base - w.scratch_base < w.scratch_bytes && srd.swizzle && srd.add_tid &&
         srd.stride == 0 && srd.index_stride * 4 == w.scratch_row;
}

// The address of lane `l`'s access of `bytes`, and how many of its bytes pass the range check.
struct BufferLane {
  uint64_t address;
  uint32_t usable;
};
GFXGRAPH_INLINE BufferLane buffer_lane(const Wave& w, const Inst* i, const Srd& srd,
                                       uint32_t soffset, unsigned l, uint32_t bytes) {
  const bool offen = (i->mods & mmod::kOffen) != 0;
  const bool idxen = (i->mods & mmod::kIdxen) != 0;
  const Row* v = i->src[0] == operand::kNone ? nullptr : &w.v(i->src[0]);
  const auto imm = static_cast<uint32_t>(i->imm) & 0xfff;
  const uint64_t index = uint64_t{idxen ? v[0].lane[l] : 0} + (srd.add_tid ? w.first_lane + l : 0);
  const uint64_t offset = uint64_t{offen ? v[idxen ? 1 : 0].lane[l] : 0} + imm;
  uint64_t at = index * srd.stride + offset;
  if (srd.swizzle)
    at = (index / srd.index_stride * srd.stride + (offset & ~uint64_t{3})) * srd.index_stride +
         index % srd.index_stride * 4 + (offset & 3);
  uint32_t good = bytes;
  switch (srd.out_of_range) {
    case kStructuredOffset:
      if (index >= srd.records || offset + bytes > srd.stride) good = 0;
      break;
    case kStructured:
      if (index >= srd.records) good = 0;
      break;
    case kDisabled:
      if (srd.records == 0) good = 0;
      break;
    default:
      if (srd.swizzle && srd.stride != 0) {
        if (index >= srd.records || offset + bytes > srd.stride) good = 0;
      } else {
        // Each dword is checked separately.
        const uint64_t limit = srd.records > soffset ? srd.records - soffset : 0;
        const uint64_t left = limit > at ? limit - at : 0;
        if (left < bytes) good = bytes < 4 ? 0 : static_cast<uint32_t>(left & ~uint64_t{3});
      }
  }
  return {srd.base + soffset + at, good};
}

// Any SRD, one lane at a time. `usable`: how many of the access's bytes pass the range check.
template <class Observer, class P>
[[gnu::noinline]] const Inst* buffer_lanes(Wave& w, const Inst* i, const Srd& srd,
                                           uint32_t soffset) {
  // For elements of 4 bytes, the placement of a wide element's dwords is undocumented.
  if (srd.swizzle && P::kBytes > 4)
    return w.unsupported(i, "an access wider than 4 bytes through a swizzled buffer");
  Row64 address;
  uint8_t usable[kLanes];
  uint32_t in_range = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const BufferLane lane = buffer_lane(w, i, srd, soffset, l, P::kBytes);
    const uint32_t good =
        P::kKind == AccessKind::kAtomic && lane.usable < P::kBytes ? 0 : lane.usable;
    usable[l] = static_cast<uint8_t>(good);
    in_range |= static_cast<uint32_t>(good != 0) << l;
    address.lane[l] = lane.address;
  }
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kMemory) {
    MemoryEvent event;
    event.address = address.lane;
    event.in_range = in_range;
    event.pointer = srd.base;
    event.srd_records = srd.records;
    event.soffset = soffset;
    report<Observer, P>(w, i, event, lanes);
  }
  for (uint32_t m = lanes.exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (usable[l] == 0) {
      P::dropped(w, i, l);
      continue;
    }
    const uint64_t a = address.lane[l];
    RegionCacheEntry& entry = cache_entry(w, i);
    const uint64_t limit = P::kWrite ? entry.writable_size : entry.size;
    if (a - entry.base >= limit || usable[l] > limit - (a - entry.base)) {
      if (find_range(w, entry, a, usable[l], P::kWrite) == nullptr)
        return raise_access(w, i, FaultKind::kMemory, l, a, usable[l], P::kWrite, nullptr);
    }
    const uintptr_t host = reinterpret_cast<uintptr_t>(entry.host) + (a - entry.base);
    if (P::kKind == AccessKind::kAtomic && a % P::kBytes != 0)
      return raise_access(w, i, FaultKind::kAlignment, l, a, P::kBytes, true,
                          "atomics must be aligned");
    if (usable[l] == P::kBytes) {
      P::lane(w, i, l, host);
      continue;
    }
    // The dwords in range only; the others read as 0.
    alignas(16) uint8_t bytes[16] = {};
    if constexpr (!P::kWrite) std::memcpy(bytes, reinterpret_cast<const void*>(host), usable[l]);
    P::lane(w, i, l, reinterpret_cast<uintptr_t>(bytes));
    if constexpr (P::kWrite) std::memcpy(reinterpret_cast<void*>(host), bytes, usable[l]);
  }
  return i->next();
}

template <class Observer, class P>
const Inst* buffer(Wave& w, const Inst* i) {
  const Srd srd = read_srd(w, i);
  const uint32_t soffset = w.read32(i, 2);
  const auto imm = static_cast<uint32_t>(i->imm) & 0xfff;
  const bool offen = (i->mods & mmod::kOffen) != 0;
  if ((i->mods & mmod::kIdxen) != 0) return buffer_lanes<Observer, P>(w, i, srd, soffset);
  if (is_scratch(w, srd) && srd.records != 0) {
    Row offset;
    if (offen) {
      const Row& v = w.v(i->src[0]);
      for (unsigned l = 0; l < kLanes; ++l) offset.lane[l] = v.lane[l] + imm;
    } else {
      for (unsigned l = 0; l < kLanes; ++l) offset.lane[l] = imm;
    }
    return scratch_rows<Observer, P>(w, i, srd.base + soffset, offset, ~0u);
  }
  if (srd.swizzle || srd.add_tid || srd.out_of_range != kRaw)
    return buffer_lanes<Observer, P>(w, i, srd, soffset);
  // Raw buffers: one comparison for all lanes if all are in range.
  Row offset;
  if (offen)
    offset = w.v(i->src[0]);
  else
    for (unsigned l = 0; l < kLanes; ++l) offset.lane[l] = 0;
  const uint64_t limit = srd.records > soffset ? srd.records - soffset : 0;
  const Bounds bounds = active_bounds(offset, w.exec_mask);
  if (uint64_t{bounds.hi} + imm + P::kBytes > limit)
    return buffer_lanes<Observer, P>(w, i, srd, soffset);
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kMemory) {
    Row64 address;
    uint32_t in_range = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      address.lane[l] = srd.base + soffset + imm + offset.lane[l];
      in_range |= static_cast<uint32_t>(uint64_t{offset.lane[l]} + imm + P::kBytes <= limit) << l;
    }
    MemoryEvent event;
    event.address = address.lane;
    event.in_range = in_range;
    event.pointer = srd.base;
    event.srd_records = srd.records;
    event.soffset = soffset;
    report<Observer, P>(w, i, event, lanes);
  }
  return global_rows<P>(w, i, srd.base + soffset + imm, offset, lanes);
}

// Loads with LDS=1: the lane's dword goes to LDS at M0[15:0] + offset + 4 * lane instead of a
// register (here: the row behind v255). Source: ISA guide, "Memory Buffer Load to LDS", and for
// GLOBAL and SCRATCH LLVM's description of llvm.amdgcn.global.load.lds.
inline constexpr uint16_t kRowForLds = operand::kVgpr0 + 256;
template <Handler kLoad>
const Inst* load_to_lds(Wave& w, const Inst* i) {
  const Inst* next = kLoad(w, i);
  if (next == nullptr) return nullptr;
  const int64_t first = int64_t{w.sgpr[operand::kM0] & 0xffff} + i->imm + 4 * w.first_lane;
  for (uint32_t m = w.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const int64_t at = first + 4 * l;
    if (at >= 0 && at + 4 <= int64_t{w.group->lds_bytes})
      store_host(reinterpret_cast<uintptr_t>(w.group->lds) + static_cast<uint64_t>(at),
                 w.v(kRowForLds).lane[l]);
  }
  return next;
}
inline bool can_load_to_lds(Op op) {
  switch (op) {
#define GFXGRAPH_TO_LDS(segment)  \
  case Op::segment##_load_ubyte:  \
  case Op::segment##_load_sbyte:  \
  case Op::segment##_load_ushort: \
  case Op::segment##_load_sshort: \
  case Op::segment##_load_dword
    GFXGRAPH_TO_LDS(buffer) : GFXGRAPH_TO_LDS(global) : GFXGRAPH_TO_LDS(scratch) : return true;
#undef GFXGRAPH_TO_LDS
    default: return false;
  }
}

inline const Inst* buffer_nothing(Wave&, const Inst* i) { return i->next(); }

// ---- binding of the instructions that FLAT, GLOBAL, SCRATCH and MUBUF share ----

// For instructions that can_load_to_lds().
template <class O, class P>
Handler bind_load_to_lds(Inst& inst) {
  if constexpr (P::kKind == AccessKind::kLoad && P::kBytes <= 4) {
    inst.dst = kRowForLds;
    switch (inst.format) {
      case Format::kMubuf: return load_to_lds<buffer<O, P>>;
      case Format::kScratch: return load_to_lds<scratch<O, P>>;
      case Format::kGlobal:
        return inst.src[2] == operand::kNone ? load_to_lds<global_vaddr<O, P>>
                                             : load_to_lds<global_saddr<O, P>>;
      default: break;
    }
  }
  return nullptr;
}
template <class O, class P>
Handler bind_access(Inst& inst) {
  if (inst.format == Format::kMubuf && (inst.mods & mmod::kTfe) != 0) return nullptr;
  if ((inst.mods & mmod::kLds) != 0) return bind_load_to_lds<O, P>(inst);
  return inst.format == Format::kMubuf ? buffer<O, P> : bind_segment<O, P>(inst);
}
template <class O, typename T, Narrow kKind>
Handler bind_narrow_load(Inst& inst) {
  inst.k[0] = static_cast<uint64_t>(kKind);
  return bind_access<O, NarrowLoad<T>>(inst);
}
template <class O, typename T, int kShift>
Handler bind_narrow_store(Inst& inst) {
  inst.k[0] = kShift;
  return bind_access<O, NarrowStore<T>>(inst);
}
template <class O, typename T>
Handler bind_any_atomic(Inst& inst, AtomicFunction<T> function) {
  if ((inst.mods & mmod::kGlc) == 0) inst.dst = operand::kNone;
  inst.k[0] = reinterpret_cast<uint64_t>(function);
  return bind_access<O, AnyAtomic<T, false>>(inst);
}
template <class O, class Op, typename T>
Handler bind_atomic(Inst& inst) {
  return bind_any_atomic<O, T>(inst, run_host_atomic<Op, T>);
}
template <class O, typename T, bool kFloat = false>
Handler bind_compare(Inst& inst) {
  return bind_any_atomic<O, T>(inst, run_host_compare<T, kFloat>);
}

template <class O>
Handler bind_buffer_format(Inst& inst);  // buffer_format.inl

template <class O>
Handler bind_vector_memory(Inst& inst) {
  if ((inst.mods & mmod::kLds) != 0 && !can_load_to_lds(inst.op)) return nullptr;
  switch (inst.op) {
    case Op::buffer_gl0_inv:
    case Op::buffer_gl1_inv: return buffer_nothing;
    case Op::global_load_dword_addtid: return global_addtid<O, Load<Data::kB32>>;
    case Op::global_store_dword_addtid: return global_addtid<O, Store<Data::kB32>>;
    case Op::global_atomic_csub:
    case Op::buffer_atomic_csub: return bind_atomic<O, OpCsub, uint32_t>(inst);
    default: break;
  }
#define GFXGRAPH_MEMORY(name, ...)                                                                \
  if (inst.op == Op::flat_##name || inst.op == Op::global_##name || inst.op == Op::buffer_##name) \
    return __VA_ARGS__(inst);
#define GFXGRAPH_LOAD_STORE(name, ...)                               \
  if (inst.op == Op::flat_##name || inst.op == Op::global_##name ||  \
      inst.op == Op::scratch_##name || inst.op == Op::buffer_##name) \
    return __VA_ARGS__(inst);
#include "emulator/isa/memory/vector_memory.inc"
#undef GFXGRAPH_LOAD_STORE
#undef GFXGRAPH_MEMORY
  return inst.format == Format::kMubuf ? bind_buffer_format<O>(inst) : nullptr;
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
