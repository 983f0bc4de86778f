// What loads, stores and atomics do to tags.
#include <algorithm>
#include <bit>

#include "check/provenance/provenance_observer.h"

namespace gfxgraph::check {

using emulator::Format;
using emulator::Inst;
using emulator::Space;
using emulator::Wave;
namespace operand = emulator::operand;

bool ProvenanceObserver::has_no_tags(WaveState& state, const emulator::MemoryEvent& event,
                                     uint32_t lanes) {
  if (event.space == Space::kLds) return state.lds == nullptr || state.lds->empty();
  if (event.space == Space::kScratch) return state.scratch.empty();
  const uint64_t first = event.address[std::countr_zero(lanes)];
  const unsigned last_byte = event.access_bytes - 1U;
  uint64_t differ = 0;  // bits of addresses
  if (lanes == ~0U) {
    for (unsigned l = 0; l < emulator::kLanes; ++l)
      differ |= (event.address[l] ^ first) | ((event.address[l] + last_byte) ^ first);
  } else {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t address = event.address[std::countr_zero(rest)];
      differ |= (address ^ first) | ((address + last_byte) ^ first);
    }
  }
  return words_->memory().has_none(first, differ);
}

Tag ProvenanceObserver::tag_at(WaveState& state, const Wave& wave,
                               const emulator::MemoryEvent& event, unsigned lane, unsigned dword) {
  const uint64_t address = event.address[lane];
  switch (event.space) {
    case Space::kGlobal: return words_->memory().get(address + 4 * dword);
    case Space::kLds: {
      const uint64_t at = (address + 4 * dword) / 4;
      return state.lds == nullptr || at >= state.lds->size() ? 0 : (*state.lds)[at];
    }
    case Space::kScratch: {
      const uint64_t at = (address - wave.scratch_base) / 4 + dword * (wave.scratch_row / 4);
      return at >= state.scratch.size() ? 0 : state.scratch[at];
    }
  }
  return 0;
}

void ProvenanceObserver::load(WaveState& state, const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t lanes) {
  const unsigned count = (event.access_bytes + 3U) / 4;
  // FLAT lanes in several apertures have an event each, for the same registers.
  const unsigned first = inst.format == Format::kDs ? state.dwords : 0;
  if (has_no_tags(state, event, lanes)) {
    for (; state.dwords < std::min(first + count, WaveState::kMost); ++state.dwords)
      state.loaded_lanes[state.dwords] = 0;
    return;
  }
  for (unsigned d = 0; d < count && first + d < WaveState::kMost; ++d) {
    const unsigned at = first + d;
    if (at == state.dwords) {
      ++state.dwords;
      state.loaded_lanes[at] = 0;
    }
    state.loaded_lanes[at] |= lanes;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      Tag tag = tag_at(state, wave, event, lane, d);
      if (tag != 0) {
        words_->read(tag);
        if (event.access_bytes < 4) tag = words_->tags().weaken(tag);
        state.pending = true;
      }
      state.loaded[at][lane] = tag;
    }
  }
}

void ProvenanceObserver::store(WaveState& state, const Wave& wave, const Inst& inst,
                               const emulator::MemoryEvent& event, uint32_t lanes) {
  const bool atomic = event.kind == emulator::AccessKind::kAtomic;
  const bool keeps =
      atomic && (emulator::op_info(inst.op).flags & emulator::OpInfo::kExchanges) == 0;
  const bool second = inst.format == Format::kDs && state.events > 1 && inst.src[2] < 512;
  const unsigned data = second ? inst.src[2] : inst.src[1];
  const unsigned bytes = std::min<unsigned>(4, event.access_bytes);
  Tags& tags = words_->tags();
  bool any = false;
  for (unsigned d = 0; data < 512 && d < (event.access_bytes + 3U) / 4; ++d)
    any = any || state.registers.any(data + d);
  if (!any && has_no_tags(state, event, lanes)) return;
  for (unsigned d = 0; d < (event.access_bytes + 3U) / 4; ++d) {
    const bool tagged = data < 512 && state.registers.any(data + d);
    if (keeps && !tagged) continue;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      Tag tag = tagged ? state.registers.get(data + d, lane) : 0;
      if (keeps) tag = tags.unite(tag, tag_at(state, wave, event, lane, d));
      if (event.space == Space::kGlobal) {
        words_->memory().store(event.address[lane] + 4 * d, bytes, tag);
        continue;
      }
      const bool lds = event.space == Space::kLds;
      if (lds && state.lds == nullptr) continue;
      std::vector<Tag>& cells = lds ? *state.lds : state.scratch;
      if (cells.empty()) {
        if (tag == 0) continue;
        cells.resize(lds ? wave.group->lds_bytes / 4 : wave.scratch_bytes / 4);
      }
      const uint64_t at =
          lds ? (event.address[lane] + 4 * d) / 4
              : (event.address[lane] - wave.scratch_base) / 4 + d * (wave.scratch_row / 4);
      if (at >= cells.size()) continue;
      const bool whole = bytes == 4 && event.address[lane] % 4 == 0;
      cells[at] = whole ? tag : tags.unite(tags.weaken(cells[at]), tags.weaken(tag));
    }
  }
}

void ProvenanceObserver::reach(const WaveState& state, const Inst& inst,
                               const emulator::MemoryEvent& event, uint32_t lanes) {
  const unsigned upper = emulator::operands_of(inst).user >> kBaseShift & kBases;
  if (upper == RegisterTags::kNoRegister) return;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  if (!state.registers.any(upper)) return words_->untraced(event.address[first], inst.pc);
  if (words_->is_proven(state.registers.get(upper, first)) && state.registers.same_in(upper, lanes))
    return;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Tag high = state.registers.get(upper, lane);
    if (high == 0)
      words_->untraced(event.address[lane], inst.pc);
    else
      words_->reach(high, state.registers.get(upper - 1, lane), event.address[lane]);
  }
}

void ProvenanceObserver::follow(WaveState& state, const Wave& wave, const Inst& inst,
                                const emulator::MemoryEvent& event) {
  const uint32_t lanes = event.exec & event.in_range & ~event.other_space;
  if (lanes == 0) return;
  if (order_ != nullptr && event.space == Space::kGlobal) order_->access(event, lanes);
  // A texel is converted on its way: no address is followed through an image.
  if (words_ == nullptr || inst.format == Format::kMimg) return;
  ++state.events;
  if (event.space == Space::kGlobal) reach(state, inst, event, lanes);
  if (event.kind != emulator::AccessKind::kStore) load(state, wave, inst, event, lanes);
  if (event.kind != emulator::AccessKind::kLoad) store(state, wave, inst, event, lanes);
}

bool ProvenanceObserver::scalar_load(WaveState& state, const Wave&, const Inst& inst,
                                     const emulator::ScalarEvent& event) {
  if (!event.mapped) return true;
  if (order_ != nullptr) order_->read(event.address, event.bytes);
  if (words_ == nullptr) return true;
  if (const Tag high = state.registers.get(inst.src[0] + 1U, 0))
    words_->reach(high, state.registers.get(inst.src[0], 0), event.address);
  else
    words_->untraced(event.address, inst.pc);
  load_scalars(state, event.address, event.bytes);
  return true;
}

void ProvenanceObserver::load_scalars(WaveState& state, uint64_t address, uint32_t bytes) {
  TagMemory& memory = words_->memory();
  state.dwords = std::min(bytes / 4, WaveState::kMost);
  const Tag* tags = nullptr;
  const bool whole = bytes != 0 && memory.span(address, bytes, tags);
  if (!whole) {
    for (unsigned d = 0; d < state.dwords; ++d)
      state.loaded_scalars[d] = memory.get(address + 4 * d);
    tags = state.loaded_scalars.data();
  }
  Tag any = 0;
  for (unsigned d = 0; tags != nullptr && d < state.dwords; ++d) {
    any |= tags[d];
    if (tags[d] != 0) words_->read(tags[d]);
  }
  state.scalars = any != 0 ? tags : nullptr;
  if (whole)
    scalar_words_[address / 4 % kScalarWords] = {address, memory.changes(), state.scalars, bytes};
}

void ProvenanceObserver::finish_scalar_load(WaveState& state, const Wave& wave, const Inst& inst) {
  const unsigned dwords = std::min<unsigned>(emulator::op_info(inst.op).dst_dwords,
                                             RegisterTags::kEndOfScalars - inst.dst);
  const unsigned loaded = state.scalars != nullptr ? std::min(state.dwords, dwords) : 0;
  for (unsigned d = 0; d < dwords; ++d)
    state.registers.set_scalar(
        inst.dst + d, d < loaded ? words_->narrow(state.scalars[d], wave.sgpr[inst.dst + d]) : 0);
  state.scalars = nullptr;
}

void ProvenanceObserver::finish_load(WaveState& state, const Wave& wave, const Inst& inst) {
  clear_dests(state, wave, inst);
  const bool pending = state.pending;
  state.pending = false;
  if (!pending || inst.dst == operand::kNone) return;
  const unsigned dwords = std::min<unsigned>(state.dwords, emulator::op_info(inst.op).dst_dwords);
  for (unsigned d = 0; d < dwords; ++d) {
    const unsigned code = inst.dst + d;
    if (code >= 512) return;
    const emulator::Row& values = wave.v(static_cast<uint16_t>(code));
    Tag row[emulator::kLanes] = {};
    for (uint32_t rest = state.loaded_lanes[d] & wave.exec(); rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      row[lane] = words_->narrow(state.loaded[d][lane], values.lane[lane]);
    }
    state.registers.set(code, wave.exec(), row);
  }
}

}  // namespace gfxgraph::check
