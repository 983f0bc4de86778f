// Compares bytes of a replay with recorded ones, in pieces: what it takes in memory does not depend
// on their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/check/origins.h"
#include "replayer/check/remaining_words.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

// Of one side, in memory.
inline constexpr uint64_t kComparedAtOnceBytes = UINT64_C(1) << 20;

enum class Comparison : uint8_t { kIdentical = 0, kDifferent = 1, kUncompared = 2 };

// Bytes that hold what memory held before the program got it, or come from there.
struct FreshBytes {
  uint64_t left_out = 0;  // such bytes as differ for that reason alone: not compared
  uint64_t derived = 0;   // come from it: the program read memory that nobody had written
  uint64_t first_derived = 0;
};

struct ContentComparison {
  Comparison comparison = Comparison::kUncompared;
  bool by_hash = false;           // only a hash was recorded: no position is known
  uint64_t first_difference = 0;  // offset in bytes
  uint8_t expected = 0;           // at first_difference, pointers relocated
  uint8_t got = 0;
  uint64_t differing_bytes = 0;
  FreshBytes fresh;
  std::string reason;  // why it was not compared
  // Words that only looked like pointers and that the replay left at the recorded value.
  size_t ambiguous_words_unmoved = 0;
};

// Of the bytes of the replay, within the size of the expected content.
using ReadBytes = std::function<Result<void>(uint64_t offset, std::span<std::byte> bytes)>;

// `expected` is stored, or has a hash; `words` are its relocations, by offset. `sequence`: the
// event of the recording after which it was so. `origins`: of the same bytes; null: unknown.
// `remaining`: bytes left of these are as they should be. kCorrupt, with `where`, if a word lies
// outside of the content.
Result<ContentComparison> compare_content(const Instance& instance, const format::Content& expected,
                                          std::span<const format::Relocation> words,
                                          uint64_t sequence, const ReadBytes& read,
                                          const Origins* origins, const std::string& where,
                                          std::span<const RemainingWord> remaining = {});

}  // namespace gfxgraph::replayer
