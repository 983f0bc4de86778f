// What is known of the words that a trace relocates: a record of its own (kind 13), which older
// readers skip. Made by `gfxgraph provenance --write`.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

// Which bytes of an event or graph node. Append only.
enum class WordPart : uint8_t {
  kArguments = 0,   // Launch::kernarg
  kInitial = 1,     // AllocationBegin::initial
  kHostWrite = 2,   // HostWrite::content
  kCopySource = 3,  // Copy::host_source
  kFinal = 4,       // AllocationEnd::post
  kCopyResult = 5,  // Copy::host_result
};

struct WordPlace {
  uint64_t event = 0;  // its sequence; 0 for a graph node
  GraphId graph = 0;   // 0: an event
  uint32_t node = 0;
  WordPart part = WordPart::kArguments;
  auto operator<=>(const WordPlace&) const = default;
};

// Append only.
enum class WordVerdict : uint8_t {
  kPointer = 0,  // it reached the address of an access
  kData = 1,     // kernels read it, and no address came from it
};

// Of relocations of one place, those of which something is known; offsets rise.
struct KnownWord {
  uint64_t offset_bytes = 0;
  WordVerdict verdict = WordVerdict::kPointer;
  bool operator==(const KnownWord&) const = default;
};
struct KnownWords {
  WordPlace place;
  std::vector<KnownWord> words;
  bool operator==(const KnownWords&) const = default;
};

struct Provenance {
  std::vector<KnownWords> places;  // rise by `place`, of which graph nodes have event 0
  bool made = false;               // the trace has a record of it, perhaps without a place
};

// Words that are data, those of final contents included.
uint64_t count_data(const Provenance& known);

// Which words a reader of relocations wants moved.
enum class PointerUse : uint8_t {
  kRecorded,  // as the recorder found them
  kTyped,     // those whose type says so
  kProven,    // as Provenance says; where it says nothing, as recorded
};

// Changes the relocations of an event or a graph as asked for. `known` must be of the same trace.
// A pointer whose type says so stays one.
void use_pointers(Event& event, const Provenance& known, PointerUse use);
void use_pointers(Graph& graph, const Provenance& known, PointerUse use);

// Writes a copy of the trace `in`, which must be sealed, with this in place of what it knew before.
// `out` may be the same file, which is then replaced.
Result<void> write_provenance(const std::filesystem::path& in, const std::filesystem::path& out,
                              const Provenance& known);

}  // namespace gfxgraph::format
