#include "emulator/analysis/trial_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gfxgraph::emulator {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kLongestRange = 4096;
constexpr size_t kMostValues = 16;
constexpr size_t kMostWords = 4096;
constexpr uint64_t kMostChoices = 64;
constexpr size_t kMostScratchDwords = 1 << 15;
constexpr uint64_t kLdsKey = uint64_t{1} << 63;

thread_local TrialMemory* current_trial = nullptr;

// Other threads may write them.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes) {
  uint64_t n = 0;
  if (reinterpret_cast<uintptr_t>(from) % 4 == 0) {
    for (; n + 4 <= bytes; n += 4) {
      const uint32_t word =
          __atomic_load_n(reinterpret_cast<const uint32_t*>(from + n), __ATOMIC_RELAXED);
      std::memcpy(to + n, &word, 4);
    }
  }
  for (; n < bytes; ++n)
    to[n] = static_cast<std::byte>(
        __atomic_load_n(reinterpret_cast<const unsigned char*>(from + n), __ATOMIC_RELAXED));
}

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return (h ^ h >> 29) * 0x94d049bb133111ebu;
}

}  // namespace

TrialMemory::TrialMemory(MemoryMap& memory, uint64_t address_mask, bool host_listens)
    : mask_(address_mask),
      host_listens_(host_listens),
      outer_(current_trial),
      table_(memory.snapshot()) {
  current_trial = this;
}

TrialMemory::~TrialMemory() {
  current_trial = outer_;
  for (const auto& [address, copy] : copies_) ::munmap(copy.host, copy.bytes);
}

TrialMemory* TrialMemory::current() noexcept { return current_trial; }

std::byte* TrialMemory::host_of(const Region& region, uint64_t address, uint64_t bytes) {
  if (bytes > kLongestRange) return nullptr;
  Copy& copy = copies_[region.address];
  if (copy.host == nullptr) {
    void* const at = ::mmap(nullptr, region.mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      copies_.erase(region.address);
      refused_ = true;
      return nullptr;
    }
    copy = {static_cast<std::byte*>(at), region.mapped_bytes};
  }
  if (copy.bytes != region.mapped_bytes) {  // another region since
    refused_ = true;
    return nullptr;
  }
  fill(region, copy.host, address - region.address, address - region.address + bytes);
  return copy.host;
}

void TrialMemory::fill(const Region& region, std::byte* copy, uint64_t begin, uint64_t end) {
  for (uint64_t line = begin / kLine * kLine; line < end; line += kLine)
    if (lines_.insert(region.address + line).second)
      copy_bytes(copy + line, region.host + line, std::min(kLine, region.mapped_bytes - line));
}

void TrialMemory::set_group(uint64_t group, std::byte* lds, uint32_t lds_bytes) {
  group_ = group;
  lds_ = lds;
  lds_bytes_ = lds_bytes;
}

void TrialMemory::begin_step() {
  choice_ = 0;
  choices_ = 1;
}

void TrialMemory::begin_run(bool by_lane) {
  choices_ = 1;
  slots_.clear();
  writes_.clear();
  lane_begin_ = lane_slots_ = 0;
  by_lane_ = by_lane;
  needs_lanes_ = false;
  shared_write_ = false;
  first_address_ = 0;
  scratch_.read.clear();
  scratch_.written.clear();
  scratch_.written_partly.clear();
}

// ---- accesses ----

uint32_t TrialMemory::memory(WaveState&, const Wave& wave, const Inst&, const MemoryEvent& event) {
  Access access;
  access.reads = event.kind != AccessKind::kStore;
  access.writes = event.kind != AccessKind::kLoad;
  for (uint32_t m = event.exec & event.in_range; m != 0; m &= m - 1) {
    const uint64_t address = event.address[static_cast<unsigned>(std::countr_zero(m))];
    switch (event.space) {
      case Space::kGlobal: touch_global(wave, address, event.access_bytes, access); break;
      case Space::kLds:
        touch_lds(static_cast<uint32_t>(address), event.access_bytes, access);
        break;
      case Space::kScratch: touch_scratch(wave, address, event.access_bytes, access); break;
    }
  }
  return event.exec;
}

bool TrialMemory::scalar_load(WaveState&, const Wave& wave, const Inst&, const ScalarEvent& event) {
  Access access;
  access.reads = true;
  // Also of scratch, which it refuses. What is not mapped faults.
  if (event.bytes != 0) touch_global(wave, event.address, event.bytes, access);
  return true;
}

void TrialMemory::touch_global(const Wave& wave, uint64_t address, uint32_t bytes, Access access) {
  // Scratch by its device address: no compiler does that.
  if (address - wave.scratch_base < wave.scratch_bytes ||
      wave.scratch_base - address < uint64_t{bytes}) {
    refused_ = true;
    return;
  }
  address &= mask_;
  const Region* const region = table_->find(address);
  if (region == nullptr) return;  // the handler will not find it either
  const uint64_t first = address & ~uint64_t{3};
  const uint64_t end = (address + bytes + 3) & ~uint64_t{3};
  // An observer may give something else for what the program has not asked for.
  const bool asked = address - region->address + bytes <= region->requested_bytes;
  if (region->address % 4 != 0 || !asked || !region->contains(first, end - first)) {
    refused_ = true;
    return;
  }
  access.global = true;
  access.host_kind = region->kind == RegionKind::kHost || region->kind == RegionKind::kSystem;
  host_memory_ = host_memory_ || access.host_kind;
  if (first_address_ == 0) first_address_ = address;
  std::byte* const copy = host_of(*region, first, end - first);
  if (copy == nullptr) return;
  for (uint64_t at = first; at < end; at += 4)
    touch(at, reinterpret_cast<uint32_t*>(copy + (at - region->address)),
          at >= address && at + 4 <= address + bytes, access);
}

void TrialMemory::touch_lds(uint32_t offset, uint32_t bytes, Access access) {
  if (uint64_t{offset} + bytes > lds_bytes_) return;  // reads give 0, writes vanish
  if (offset % std::min(bytes, 4u) != 0) {
    refused_ = true;
    return;
  }
  for (uint32_t at = offset & ~3u; at < offset + bytes; at += 4)
    touch(kLdsKey | group_ << 20 | at, reinterpret_cast<uint32_t*>(lds_ + at),
          at >= offset && at + 4 <= offset + bytes, access);
}

void TrialMemory::touch_scratch(const Wave& wave, uint64_t address, uint32_t bytes, Access access) {
  const uint64_t offset = address - wave.scratch_base;
  const uint32_t rows = (bytes + 3) / 4;
  const uint64_t last = offset + uint64_t{rows - 1} * wave.scratch_row;
  if (offset % std::min(bytes, 4u) != 0 || last >= wave.scratch_bytes || last < offset) {
    refused_ = true;
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t dword =
        touched(static_cast<uint32_t>((offset + uint64_t{row} * wave.scratch_row) / 4));
    if (access.reads) scratch_.read.push_back(dword);
    if (access.writes)
      (bytes % 4 == 0 ? scratch_.written : scratch_.written_partly).push_back(dword);
  }
}

// ---- words ----

void TrialMemory::touch(uint64_t key, uint32_t* word, bool whole, const Access& access) {
  const auto found = words_.find(key);
  if (found != words_.end()) {
    Word& w = found->second;
    if (w.values.empty() && w.owner == wave_) {
      own(key, word, w.really);
    } else {
      if (w.values.empty()) {  // its owner does not have it for itself any more
        w.values.push_back(w.really);
        grew_ = true;
      }
      if (access.reads || !whole) choose(key, word, w.values);
    }
  }
  if (access.writes) note_write(key, word, access);
}

void TrialMemory::own(uint64_t key, uint32_t* word, uint32_t really) {
  const auto same = [&](const Own& o) { return o.key == key; };
  if (std::any_of(own_.begin(), own_.end(), same)) return;
  // The way so far has not changed it, but one that was followed before may have.
  *word = really;
  own_.push_back({key, word, really});
}

bool TrialMemory::is_own(uint64_t key) const {
  const auto found = words_.find(key);
  return found != words_.end() && found->second.values.empty() && found->second.owner == wave_;
}

void TrialMemory::choose(uint64_t key, uint32_t* word, const std::vector<uint32_t>& values) {
  if (std::find(slots_.begin() + static_cast<std::ptrdiff_t>(lane_slots_), slots_.end(), key) !=
      slots_.end()) {
    // Two accesses of one run to one word: they may see different values.
    (by_lane_ ? refused_ : needs_lanes_) = true;
    return;
  }
  slots_.push_back(key);
  *word = values[choice_ / choices_ % values.size()];
  choices_ *= values.size();
  if (choices_ > kMostChoices) {
    refused_ = true;
    choices_ = kMostChoices;
  }
}

void TrialMemory::note_write(uint64_t key, uint32_t* word, const Access& access) {
  shared_write_ = true;
  for (size_t n = lane_begin_; n < writes_.size(); ++n)
    if (writes_[n].key == key) {
      if (is_own(key)) return;
      // what was between them is to be seen
      (by_lane_ ? refused_ : needs_lanes_) = true;
      return;
    }
  writes_.push_back({key, word, *word, access.global, access.host_kind});
}

void TrialMemory::collect() {
  for (size_t n = lane_begin_; n < writes_.size(); ++n) take_in(writes_[n]);
}

void TrialMemory::take_in(const Written& written) {
  const uint32_t now = *written.word;
  const auto found = words_.find(written.key);
  if (found == words_.end()) {
    if (now == written.old) return;
    if ((written.host_kind && host_listens_) || words_.size() >= kMostWords) refused_ = true;
    changes_memory_ = changes_memory_ || written.global;
    grew_ = true;
    words_[written.key] = {written.old, wave_, {}};
    own_.push_back({written.key, written.word, written.old});
    return;
  }
  std::vector<uint32_t>& values = found->second.values;
  if (values.empty() || std::find(values.begin(), values.end(), now) != values.end()) return;
  grew_ = true;
  values.push_back(now);
  if (values.size() > kMostValues) refused_ = true;
}

void TrialMemory::set_wave(uint64_t wave, std::byte* scratch) {
  wave_ = wave;
  scratch_bytes_ = scratch;
  own_.clear();
  touched_.clear();
  touched_index_.clear();
}

uint32_t TrialMemory::touched(uint32_t dword) {
  const auto [at, added] =
      touched_index_.try_emplace(dword, static_cast<uint32_t>(touched_.size()));
  if (added) {
    uint32_t really = 0;
    std::memcpy(&really, scratch_bytes_ + uint64_t{dword} * 4, 4);
    touched_.push_back({dword, really});
    if (touched_.size() > kMostScratchDwords) refused_ = true;
  }
  return at->second;
}

void TrialMemory::save_scratch(std::vector<uint32_t>& to) const {
  to.resize(touched_.size());
  for (size_t n = 0; n < touched_.size(); ++n)
    std::memcpy(&to[n], scratch_bytes_ + uint64_t{touched_[n].dword} * 4, 4);
}

void TrialMemory::load_scratch(const std::vector<uint32_t>& from) {
  for (size_t n = 0; n < touched_.size(); ++n) {
    const uint32_t value = n < from.size() ? from[n] : touched_[n].really;
    std::memcpy(scratch_bytes_ + uint64_t{touched_[n].dword} * 4, &value, 4);
  }
}

void TrialMemory::save_own(std::vector<OwnWord>& to) const {
  to.clear();
  for (const Own& o : own_)
    if (*o.word != o.really && is_own(o.key)) to.push_back({o.key, *o.word});
  std::sort(to.begin(), to.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
}

void TrialMemory::load_own(const std::vector<OwnWord>& from) {
  for (const Own& o : own_) {
    const auto at = std::lower_bound(from.begin(), from.end(), o.key,
                                     [](const OwnWord& w, uint64_t key) { return w.key < key; });
    *o.word = at != from.end() && at->key == o.key ? at->value : o.really;
  }
}

void TrialMemory::undo() {
  for (const Written& w : writes_)
    if (!words_.contains(w.key)) *w.word = w.old;
}

void TrialMemory::list_values(std::vector<uint64_t>& to) const {
  for (const auto& [key, word] : words_)
    for (const uint32_t value : word.values) to.push_back(mix(key, value));
}

}  // namespace gfxgraph::emulator
