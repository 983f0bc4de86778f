// Decides which words are pointers, and into what, for kernel arguments, structs passed by value,
// memory contents and copies; nothing else decides this. Not thread-safe; for the recorder, the
// model's lock guards it and the map.
//
// Arguments
// - A typed pointer (metadata: global_buffer, or a rule of codeobj/pointer_arguments.inc) into a
// live allocation, or one past its end, is
//   relocated. One outside of all of them is relocated with a signed addend to the nearest one, if
//   the others that it may have been made from can keep their distance to it (format/trace.h,
//   Relocation::outside); an address that only memory freed before held leads there. Values below
//   64 KiB and those that are no address (-1) are values. Whatever is left is *unknown*.
// - Any other word is a pointer if its value lies in a live allocation (*matched*); ambiguous where
//   nothing but the value says so: a by_value argument of 8 bytes whose name does not say that it
//   is an address, a word across two arguments, one in a struct that is not 8-byte aligned.
// Memory
// - A word, at any byte (packed structs have them), whose value lies in a live allocation or in one
//   freed since. Of two that overlap, the one that is aligned better. It is ambiguous (numbers or
//   text may spell it) unless it is 8-byte aligned and another such word stands within 64 bytes: a
//   table, or the fields of structs.
// - A word whose value is the host's address of registered memory is ambiguous: a program's heap is
//   full of such words.
// - An address inside of a loaded code object (a function, a vtable) is relocated with a variable
//   of it, if one is known; ambiguous like others.
// Both
// - A matched word is ambiguous if it points at no multiple of 4 (a pointer with a tag in its low
//   bits), or one past the end; a word whose upper 16 bits are a tag counts if the rest is the
//   address of an allocation's first byte.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "format/trace.h"
#include "pointers/target_map.h"

namespace gfxgraph::pointers {

enum class WordPlace : uint8_t {
  kTyped,  // the type says that it is a pointer
  kField,  // in a struct, or an argument that is named like an address
  kLoose,  // where nothing but its value can say so
};

// A place in a kernel's arguments that may hold a pointer.
struct KernargSlot {
  uint32_t offset_bytes = 0;
  WordPlace place = WordPlace::kLoose;
};

// By offset. Two may overlap.
std::vector<KernargSlot> kernarg_slots(const format::Kernel& kernel);

// A loaded code object, which a replay loads at another address as a whole.
struct CodeRange {
  const void* module = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  format::AllocationId variable = 0;
  uint64_t variable_address = 0;
  uint64_t variable_bytes = 0;
};

// A word in memory that lies in no allocation, but near one: a pointer outside of its buffer, or a
// number.
struct NearWord {
  uint64_t offset_bytes = 0;
  uint64_t value = 0;
};

class WordResolver {
 public:
  explicit WordResolver(const TargetMap& map) : map_(map) {}
  // With the code ranges of `other`, by another map.
  WordResolver(const WordResolver& other, const TargetMap& map)
      : map_(map),
        code_(other.code_),
        code_uppers_(other.code_uppers_),
        code_high_bytes_(other.code_high_bytes_) {}

  // Words that were kept, by offset: the first of each kind.
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Doubts {
    uint32_t unknown = kNone;  // a typed pointer that is unknown
    uint32_t near =
        kNone;  // a struct's field in no allocation, but near one: `x - 2048`, or a number
    bool special = false;  // a word is ambiguous, or leads elsewhere than to plain() memory
  };
  // Appends to `found`, by offset. Allocates nothing once it has held as many. `given`: the earlier
  // targets of the same words, when the program passed them. They remain the targets as long as
  // they live; also after they are freed, unless the word lies in another allocation now.
  Doubts arguments(std::span<const KernargSlot> slots, std::span<const uint8_t> kernarg,
                   std::vector<format::Relocation>& found,
                   std::span<const format::Relocation> given = {}) const;

  // The first one of a module counts.
  void add_code(const CodeRange& range);
  void remove_code(const void* module);
  // Changes with every range that is added or removed.
  uint64_t generation() const noexcept { return generation_; }

  // By offset. The start of `bytes` counts as aligned.
  std::vector<format::Relocation> memory(std::span<const std::byte> bytes) const;

 private:
  friend class MemoryWords;
  enum class Answer : uint8_t { kPointer, kValue, kUnknown };
  Answer typed(uint64_t value, format::Relocation& relocation, bool& special) const;
  bool leads_still(uint64_t value, const format::Relocation& given) const;
  bool tagged(uint64_t value, format::Relocation& relocation) const;
  bool outside(uint64_t value, format::Relocation& relocation) const;
  bool near(uint64_t value) const;
  bool code(uint64_t value, format::Relocation& relocation) const;
  bool in_memory(uint64_t value, format::Relocation& relocation) const;
  bool word(uint64_t value, uint64_t offset, format::Relocation& relocation) const;

  const TargetMap& map_;
  std::vector<CodeRange> code_;
  std::bitset<65536> code_uppers_;  // as TargetMap::known_upper()
  std::bitset<256> code_high_bytes_;
  uint64_t generation_ = 0;
};

// The words of memory that is given in pieces; each piece except the last is a multiple of 8 bytes.
class MemoryWords {
 public:
  // `words` and its map must stay as they are until the last piece.
  explicit MemoryWords(const WordResolver& words);
  void add(std::span<const std::byte> piece);
  // After the last piece: by offset. Once.
  std::vector<format::Relocation> take();
  // The value of one of them.
  uint64_t held(uint64_t offset_bytes) const;
  // The first aligned one.
  const std::optional<NearWord>& near() const noexcept { return near_; }

 private:
  void scan(std::span<const std::byte> bytes, uint64_t begin);

  static constexpr size_t kAcross = 7;  // bytes that a word may have in the piece before

  const WordResolver& words_;
  std::array<uint8_t, 256> high_bytes_;  // the first ones: bits 40 to 47 of addresses
  size_t high_count_ = 0;
  uint64_t end_ = 0;                       // of the pieces so far
  std::array<std::byte, kAcross> last_{};  // before it
  std::vector<format::Relocation> found_;
  struct Held {
    uint64_t offset_bytes = 0;
    uint64_t value = 0;
  };
  std::vector<Held> held_;  // of found_
  std::optional<NearWord> near_;
};

// The targets of words at one moment: for bytes of that moment which are seen later.
struct WordsThen {
  WordsThen(const TargetMap& now, const WordResolver& resolver) : map(now), words(resolver, map) {}
  WordsThen(const WordsThen&) = delete;
  WordsThen& operator=(const WordsThen&) = delete;
  const TargetMap map;
  const WordResolver words;
};

}  // namespace gfxgraph::pointers
