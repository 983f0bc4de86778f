#include "pointers/word_resolver.h"

// The header names bool as in C, which clang's <stdbool.h> provides in GNU modes of C++ only.
#ifndef _Bool
#define _Bool bool
#endif
#include <sys/platform/x86.h>
#undef _Bool

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

#include "codeobj/pointer_arguments.h"

namespace gfxgraph::pointers {
namespace {

using format::Argument;
using format::ArgumentKind;
using format::Relocation;
using format::RelocationSource;

constexpr uint64_t kTargetAlignBytes = 4;
// Maximum distance of the other pointer that makes a word in memory count as a pointer.
constexpr uint64_t kNeighbourBytes = 64;
// A smaller value in a pointer's place is a sentinel: mmap returns no such address.
constexpr uint64_t kLowestAddress = 65536;
constexpr int kAddressBits = 48;
constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
// Every allocation begins at a multiple of this.
constexpr uint64_t kLeastAlignment = 256;
// Bytes of memory in one step of a scan.
constexpr size_t kScanBytes = 64;

uint64_t word_at(const void* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

const Argument* argument_at(const format::Kernel& kernel, uint64_t offset) {
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind != ArgumentKind::kHidden && offset >= argument.offset_bytes &&
        offset - argument.offset_bytes < argument.size_bytes) {
      return &argument;
    }
  }
  return nullptr;
}

// "in_ptr0", a 64-bit number to the metadata.
bool named_like_an_address(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view word : {"address", "addr", "ptr", "pointer"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return false;
}

bool unusual_target(const Target& target, uint64_t addend) {
  return addend % kTargetAlignBytes != 0 || addend == target.size_bytes;
}

void point(Relocation& relocation, const Target& target, uint64_t addend) {
  relocation.allocation = target.id;
  relocation.addend = static_cast<int64_t>(addend);
}

// A replay can move these by one distance: device, pinned or managed memory, which it takes in one
// piece, and the variables of one code object.
bool move_together(const Target& a, const Target& b) {
  const auto plain = [](const Target& target) {
    return target.kind == format::AllocationKind::kDevice ||
           target.kind == format::AllocationKind::kStreamOrdered;
  };
  const auto global = format::AllocationKind::kModuleGlobal;
  if (plain(a) && plain(b)) return true;
  if (a.kind != b.kind) return false;
  if (a.kind == global) return a.module == b.module && !a.host_visible() && !b.host_visible();
  return a.kind == format::AllocationKind::kHostPinned ||
         a.kind == format::AllocationKind::kManaged;
}

}  // namespace

std::vector<KernargSlot> kernarg_slots(const format::Kernel& kernel) {
  const bool described = std::ranges::any_of(kernel.arguments, [](const Argument& argument) {
    return argument.kind != ArgumentKind::kHidden;
  });
  const auto typed = [&](const Argument* argument) {
    if (argument == nullptr) return false;
    return argument->kind == ArgumentKind::kGlobalBuffer ||
           (argument->kind == ArgumentKind::kByValue &&
            codeobj::pointer_argument(kernel.name, argument->name, argument->size_bytes) !=
                nullptr);
  };
  std::vector<KernargSlot> slots;
  for (uint32_t offset = 0; uint64_t{offset} + 8 <= kernel.explicit_size_bytes; offset += 4) {
    const Argument* argument = argument_at(kernel, offset);
    if (argument != nullptr && argument->kind == ArgumentKind::kDynamicSharedPointer) continue;
    if (typed(argument) && argument->offset_bytes == offset && argument->size_bytes == 8) {
      slots.push_back({offset, WordPlace::kTyped});
      continue;
    }
    // A word that consists of half a pointer and its neighbour is not an address.
    if (typed(argument) || typed(argument_at(kernel, offset + 4))) continue;
    bool field = offset % 8 == 0;
    if (argument == nullptr) {
      field = field && !described;
    } else {
      const uint64_t end = uint64_t{argument->offset_bytes} + argument->size_bytes;
      field = field && offset + 8 <= end &&
              (argument->size_bytes > 8 || named_like_an_address(argument->name));
    }
    slots.push_back({offset, field ? WordPlace::kField : WordPlace::kLoose});
  }
  return slots;
}

void WordResolver::add_code(const CodeRange& range) {
  for (const CodeRange& known : code_) {
    if (known.module == range.module) return;
  }
  code_.push_back(range);
  ++generation_;
  for (uint64_t upper = range.begin >> 32; upper <= range.end >> 32 && upper < code_uppers_.size();
       ++upper) {
    code_uppers_.set(upper);
    code_high_bytes_.set(upper >> 8);
  }
}

void WordResolver::remove_code(const void* module) {
  if (std::erase_if(code_, [&](const CodeRange& range) { return range.module == module; }) != 0)
    ++generation_;
}

bool WordResolver::code(uint64_t value, Relocation& relocation) const {
  if (value >> 32 >= code_uppers_.size() || !code_uppers_[value >> 32]) return false;
  for (const CodeRange& range : code_) {
    if (value < range.begin || value >= range.end || value % kTargetAlignBytes != 0) continue;
    relocation.source = RelocationSource::kMatched;
    relocation.allocation = range.variable;
    relocation.addend = static_cast<int64_t>(value - range.variable_address);
    relocation.outside = value - range.variable_address > range.variable_bytes;  // its end belongs
    return true;
  }
  return false;
}

bool WordResolver::in_memory(uint64_t value, Relocation& relocation) const {
  const Target* target = map_.find_live_or_freed(value);
  if (target == nullptr || !target->is_meant_by(value)) {
    if (code(value, relocation)) return true;
    const Target* const alias = map_.find_alias(value);
    if (alias == nullptr) return false;
    point(relocation, *alias, value - alias->host_address);
    relocation.ambiguous = true;
    return true;
  }
  const uint64_t addend = value - target->address;
  // The end of the allocation in front of a code object equals the address of its first byte.
  if (addend == target->size_bytes && code(value, relocation)) return true;
  point(relocation, *target, addend);
  relocation.ambiguous = unusual_target(*target, addend);
  return true;
}

bool WordResolver::tagged(uint64_t value, Relocation& relocation) const {
  if (value >> kAddressBits == 0 || value % kLeastAlignment != 0) return false;
  const uint64_t address = value & kAddressMask;
  if (address < map_.lowest() || address > map_.highest()) return false;
  const Target* target = map_.find(address);
  if (target == nullptr || target->address != address || !target->is_memory()) return false;
  point(relocation, *target, value - address);
  relocation.outside = true;
  relocation.ambiguous = true;
  return true;
}

bool WordResolver::outside(uint64_t value, Relocation& relocation) const {
  const Target* nearest = map_.nearest(value);
  if (nearest == nullptr) return false;
  const uint64_t distance = nearest->distance(value);
  if (distance > format::kOutsideMostBytes) return false;
  const auto fits = [&](const Target& other) {
    return &other == nearest || move_together(*nearest, other);
  };
  if (!map_.all_within(value, format::outside_reach(distance), fits)) return false;
  point(relocation, *nearest, value - nearest->address);
  relocation.outside = true;
  return true;
}

[[gnu::hot]] WordResolver::Answer WordResolver::typed(uint64_t value, Relocation& relocation,
                                                      bool& special) const {
  if (value < kLowestAddress) return Answer::kValue;
  relocation.source = RelocationSource::kTyped;
  if (const Target* target = map_.find(value); target != nullptr && target->is_meant_by(value)) {
    point(relocation, *target, value - target->address);
    special |= !target->plain();
    return Answer::kPointer;
  }
  special = true;
  if (value > kAddressMask) {
    const uint64_t address = value & kAddressMask;
    const Target* target = map_.find(address);
    if (target == nullptr || address - target->address == target->size_bytes ||
        !target->is_memory()) {
      return Answer::kValue;
    }
    point(relocation, *target, value - target->address);
    relocation.outside = true;
    return Answer::kPointer;
  }
  if (const Target* target = map_.find_alias(value)) {
    point(relocation, *target, value - target->host_address);
    return Answer::kPointer;
  }
  if (code(value, relocation) || outside(value, relocation)) return Answer::kPointer;
  // No live allocation is near: it can only be a pointer that is no longer used.
  if (map_.nearest(value) == nullptr ||
      map_.nearest(value)->distance(value) > format::kOutsideMostBytes) {
    if (const Target* freed = map_.find_live_or_freed(value);
        freed != nullptr && freed->is_meant_by(value)) {
      point(relocation, *freed, value - freed->address);
      return Answer::kPointer;
    }
  }
  return Answer::kUnknown;
}

bool WordResolver::near(uint64_t value) const {
  if (value % kTargetAlignBytes != 0 || value < kLowestAddress || value > kAddressMask)
    return false;
  const Target* nearest = map_.nearest(value);
  return nearest != nullptr && nearest->distance(value) <= format::kOutsideMostBytes;
}

bool WordResolver::leads_still(uint64_t value, const Relocation& given) const {
  const uint64_t base = value - static_cast<uint64_t>(given.addend);
  const auto is_it = [&](const Target* one) {
    return one != nullptr && one->id == given.allocation;
  };
  if (is_it(map_.find(base)) || is_it(map_.find_host(base))) return true;
  return map_.find(value) == nullptr && is_it(map_.find_live_or_freed(base));
}

[[gnu::hot]] WordResolver::Doubts WordResolver::arguments(std::span<const KernargSlot> slots,
                                                          std::span<const uint8_t> kernarg,
                                                          std::vector<Relocation>& found,
                                                          std::span<const Relocation> given) const {
  found.clear();
  const uint64_t lowest = map_.lowest();
  const uint64_t highest = map_.highest();
  Doubts doubts;
  const auto leads = [&](const KernargSlot& slot, uint64_t value, Relocation& relocation) {
    const uint64_t offset = slot.offset_bytes;
    if (!given.empty()) {
      const auto before = std::ranges::find(given, offset, &Relocation::offset_bytes);
      if (before != given.end() && leads_still(value, *before)) {
        relocation = *before;
        doubts.special = true;
        return true;
      }
    }
    if (slot.place == WordPlace::kTyped) {
      const Answer answer = typed(value, relocation, doubts.special);
      if (answer == Answer::kUnknown && doubts.unknown == kNone) doubts.unknown = slot.offset_bytes;
      return answer == Answer::kPointer;
    }
    const Target* target = nullptr;
    if (value >= lowest && value <= highest) target = map_.find(value);
    if (target != nullptr && target->is_meant_by(value)) {
      // If two candidates overlap, the aligned one counts.
      if (offset % 8 != 0 && offset + 12 <= kernarg.size() &&
          map_.find(word_at(kernarg.data() + offset + 4)) != nullptr) {
        return false;
      }
      const uint64_t addend = value - target->address;
      point(relocation, *target, addend);
      relocation.ambiguous = slot.place == WordPlace::kLoose || unusual_target(*target, addend);
      doubts.special |= relocation.ambiguous || !target->plain();
      return true;
    }
    if (code(value, relocation)) {
      relocation.ambiguous = slot.place == WordPlace::kLoose;
      return doubts.special = true;
    }
    if (target = map_.find_alias(value); target != nullptr) {
      const uint64_t addend = value - target->host_address;
      point(relocation, *target, addend);
      relocation.ambiguous = slot.place == WordPlace::kLoose || unusual_target(*target, addend);
      return doubts.special = true;
    }
    if (offset % 8 == 0 && tagged(value, relocation)) return doubts.special = true;
    if (slot.place == WordPlace::kField && doubts.near == kNone && near(value)) {
      doubts.near = slot.offset_bytes;
    }
    return false;
  };
  uint64_t free_from = 0;
  found.reserve(std::min<size_t>(slots.size(), 8));  // once, not at 1, 2, 4
  for (const KernargSlot& slot : slots) {
    const uint64_t offset = slot.offset_bytes;
    if (offset < free_from) continue;
    if (offset + 8 > kernarg.size()) break;
    // Filled in place: a copy would stall on the stores that have just written it (store
    // forwarding).
    Relocation& relocation = found.emplace_back();
    relocation.offset_bytes = offset;
    if (leads(slot, word_at(kernarg.data() + offset), relocation)) {
      free_from = offset + 8;
    } else {
      found.pop_back();
    }
  }
  return doubts;
}

namespace {

// Returns how many leading blocks of kScanBytes bytes contain no candidate: a word, at any byte,
// with one of `high_bytes` as bits 40 to 47, with or without a tag above. Reads 7 bytes past the
// last block. This loop dominates the time of a scan; it has no inner branches, so that it is
// vectorised.
[[gnu::always_inline]] inline size_t skip_blocks(const uint8_t* at, size_t blocks,
                                                 std::span<const uint8_t> high_bytes) {
  static_assert(kScanBytes == 64);
  static constexpr std::array<uint8_t, kScanBytes> kWordBegins = [] {
    std::array<uint8_t, kScanBytes> begins{};
    for (size_t i = 0; i < kScanBytes; i += 8) begins[i] = 1;
    return begins;
  }();
  for (size_t block = 0; block < blocks; ++block, at += kScanBytes) {
    uint64_t any = word_at(at + kScanBytes - 1);
    for (size_t i = 0; i < kScanBytes; i += 8) any |= word_at(at + i);
    if (any == 0) continue;  // the null pointer points nowhere
    for (const uint8_t high : high_bytes) {
      uint8_t found = 0;
      for (size_t i = 0; i < kScanBytes; ++i) {
        const bool plain = (at[i + 6] | at[i + 7]) == 0;
        const bool tagged = (at[i] == 0) & (kWordBegins[i] != 0);
        found |= static_cast<uint8_t>((at[i + 5] == high) & (plain | tagged));
      }
      if (found != 0) return block;
    }
  }
  return blocks;
}

using SkipBlocks = size_t (*)(const uint8_t*, size_t, std::span<const uint8_t>);

[[gnu::target("avx2")]] size_t skip_blocks_avx2(const uint8_t* at, size_t blocks,
                                                std::span<const uint8_t> high_bytes) {
  return skip_blocks(at, blocks, high_bytes);
}

size_t skip_blocks_anywhere(const uint8_t* at, size_t blocks, std::span<const uint8_t> high_bytes) {
  return skip_blocks(at, blocks, high_bytes);
}

// Not at load: the recorder is called before its own variables are initialised. Calls glibc,
// because the compiler's own processor test would link a function that runs at load.
SkipBlocks skip_blocks_here() {
  static const SkipBlocks chosen =
      CPU_FEATURE_ACTIVE(AVX2) ? &skip_blocks_avx2 : &skip_blocks_anywhere;
  return chosen;
}

}  // namespace

bool WordResolver::word(uint64_t value, uint64_t offset, Relocation& relocation) const {
  relocation.offset_bytes = offset;
  if (value >> kAddressBits != 0) return tagged(value, relocation);
  if (!in_memory(value, relocation)) return false;
  // An unambiguous word supports its neighbours, and needs the support of one.
  relocation.ambiguous |= offset % 8 != 0;
  return true;
}

std::vector<Relocation> WordResolver::memory(std::span<const std::byte> bytes) const {
  MemoryWords words(*this);
  words.add(bytes);
  return words.take();
}

MemoryWords::MemoryWords(const WordResolver& words) : words_(words) {
  const std::bitset<256> known = words.map_.known_high_bytes() | words.code_high_bytes_;
  // Word by word: few bits are set, and most contents are small.
  for (size_t i = known._Find_first(); i < known.size(); i = known._Find_next(i))
    high_bytes_[high_count_++] = static_cast<uint8_t>(i);
}

// Handles the words that end within `bytes`, which begin at offset `begin`.
void MemoryWords::scan(std::span<const std::byte> bytes, uint64_t begin) {
  const auto alignment = [](uint64_t offset) { return std::min(std::countr_zero(offset), 3); };
  for (size_t at = 0; at + 8 <= bytes.size(); ++at) {
    if (at % kScanBytes == 0 && begin % 8 == 0) {
      if (at + kScanBytes + 7 <= bytes.size()) {
        at += kScanBytes * skip_blocks_here()(reinterpret_cast<const uint8_t*>(bytes.data() + at),
                                              (bytes.size() - 7 - at) / kScanBytes,
                                              std::span(high_bytes_).first(high_count_));
      }
      if (at + 8 > bytes.size()) break;
    }
    const uint64_t offset = begin + at;
    const uint64_t value = word_at(bytes.data() + at);
    const uint64_t upper = value >> 32;
    const bool address =
        upper < words_.code_uppers_.size() &&
        (words_.map_.known_upper(static_cast<uint32_t>(upper)) || words_.code_uppers_[upper]);
    const bool tag = offset % 8 == 0 && value >> kAddressBits != 0 && value % kLeastAlignment == 0;
    if (!address && !tag) continue;
    Relocation relocation;
    if (!words_.word(value, offset, relocation)) {
      if (!near_ && offset % 8 == 0 && words_.near(value)) near_ = {offset, value};
      continue;
    }
    // If candidates overlap, the one with the largest alignment counts.
    bool better = true;
    size_t keep = found_.size();
    while (better && keep > 0 && offset - found_[keep - 1].offset_bytes < 8) {
      better = alignment(offset) > alignment(found_[--keep].offset_bytes);
    }
    if (!better) continue;
    found_.resize(keep);
    held_.resize(keep);
    found_.push_back(relocation);
    held_.push_back({offset, value});
  }
}

void MemoryWords::add(std::span<const std::byte> piece) {
  if (end_ != 0) {
    std::array<std::byte, 2 * kAcross> across;
    std::ranges::copy(last_, across.begin());
    const size_t more = std::min(kAcross, piece.size());
    std::ranges::copy(piece.first(more), across.begin() + kAcross);
    scan(std::span(across).first(kAcross + more), end_ - kAcross);
  }
  scan(piece, end_);
  end_ += piece.size();
  if (piece.size() >= kAcross) std::ranges::copy(piece.last(kAcross), last_.begin());
}

uint64_t MemoryWords::held(uint64_t offset_bytes) const {
  return std::ranges::lower_bound(held_, offset_bytes, {}, &Held::offset_bytes)->value;
}

std::vector<Relocation> MemoryWords::take() {
  std::vector<Relocation> found = std::move(found_);
  const auto speaks = [&](size_t i, uint64_t offset) {
    return !found[i].ambiguous &&
           (offset > found[i].offset_bytes ? offset - found[i].offset_bytes
                                           : found[i].offset_bytes - offset) <= kNeighbourBytes;
  };
  std::vector<size_t> strong;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].ambiguous) strong.push_back(i);
  }
  std::vector<size_t> alone;
  for (size_t i = 0; i < strong.size(); ++i) {
    const uint64_t offset = found[strong[i]].offset_bytes;
    const bool before = i > 0 && speaks(strong[i - 1], offset);
    const bool after = i + 1 < strong.size() && speaks(strong[i + 1], offset);
    if (!before && !after) alone.push_back(strong[i]);
  }
  for (const size_t i : alone) found[i].ambiguous = true;
  return found;
}

}  // namespace gfxgraph::pointers
