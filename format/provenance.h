// Which relocated words of a trace are pointers and which are data: a separate record (kind 13)
// that older readers skip. `gfxgraph provenance --write` writes it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

// The bytes of an event or graph node that hold the words. Append only.
enum class WordPart : uint8_t {
  kArguments = 0,   // Launch::kernarg
  kInitial = 1,     // AllocationBegin::initial
  kHostWrite = 2,   // HostWrite::content
  kCopySource = 3,  // Copy::host_source
  kFinal = 4,       // AllocationEnd::post
  kCopyResult = 5,  // Copy::host_result
};

struct WordPlace {
  uint64_t event = 0;  // its sequence number; 0 for a graph node
  GraphId graph = 0;   // 0: an event
  uint32_t node = 0;
  WordPart part = WordPart::kArguments;
  auto operator<=>(const WordPlace&) const = default;
};

// Append only.
enum class WordVerdict : uint8_t {
  kPointer = 0,  // an access used it as its address
  kData = 1,     // kernels read it, but no address was computed from it
};

// The relocations of one place that have a verdict, by rising offset.
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
  std::vector<KnownWords> places;  // sorted by `place`; graph nodes have event 0
  bool made = false;               // the trace has the record, perhaps with no places
};

// Number of words with verdict kData, including those of final contents.
uint64_t count_data(const Provenance& known);

// Which words are to be relocated.
enum class PointerUse : uint8_t {
  kRecorded,  // as the recorder found them
  kTyped,     // only words that kernel metadata declares as pointers, and proven ones
  kProven,    // by the verdicts of Provenance; as recorded where there is none
};

// Removes the relocations of an event or graph that `use` excludes. `known` must belong to the same
// trace. Typed pointers are never removed.
void use_pointers(Event& event, const Provenance& known, PointerUse use);
void use_pointers(Graph& graph, const Provenance& known, PointerUse use);

// Copies the sealed trace `in` to `out`, with `known` in place of its earlier provenance. `out` may
// be the same file, which is then replaced.
Result<void> write_provenance(const std::filesystem::path& in, const std::filesystem::path& out,
                              const Provenance& known);

}  // namespace gfxgraph::format
