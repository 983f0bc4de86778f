// Compares what a run left behind with what the trace says the program's memory held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/check/content_comparison.h"
#include "replayer/check/origins.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

struct BufferResult : ContentComparison {
  format::AllocationId allocation = 0;
  format::AllocationKind kind = format::AllocationKind::kDevice;
  uint64_t size_bytes = 0;
  uint64_t recorded_address = 0;
  bool behind_range = false;  // because work behind the range may have changed it
};

// A copy to plain host memory whose received bytes were recorded.
struct CopyResult {
  uint32_t operation = 0;
  uint64_t sequence = 0;
  Comparison comparison = Comparison::kUncompared;
  uint64_t first_difference = 0;
  FreshBytes fresh;
  std::string reason;  // why it was not compared
};

struct VerifyReport {
  std::vector<BufferResult> buffers;
  size_t identical = 0;
  size_t different = 0;
  size_t uncompared = 0;
  // Of those that are identical or different: not to the recording, but to a replay of the whole
  // trace, which ended as recorded (tool/range_end.h).
  size_t by_replay = 0;
  // Freed memory of graphs, which the counts above exclude: no program can read its last contents,
  // and results made from them are in other buffers and copies.
  size_t gone = 0;
  std::vector<CopyResult> copies;
  size_t copies_identical = 0;
  size_t copies_different = 0;
  size_t copies_uncompared = 0;
  // Host writes that a kernel may have made instead: a replay that makes the same bytes has shown
  // that its kernels do; the others are taken from the recording, and so not compared.
  DoubtfulWrites doubtful;
  // Words that only looked like pointers and that the replay left at the recorded value.
  size_t ambiguous_words_unmoved = 0;
  // Bytes that were never written, and the number of buffers and copies that differ only in such
  // bytes.
  uint64_t unwritten_bytes = 0;
  size_t unwritten_places = 0;
  // Why such bytes could not be determined, if something differs.
  std::string unwritten_failure;

  bool differs() const { return different != 0 || copies_different != 0; }
  // Buffers and copies with results of memory that nobody had written.
  size_t uninitialised() const;
  size_t not_compared() const { return uncompared + copies_uncompared; }
  // The program has no memory, and received nothing: nothing can differ.
  bool empty() const { return buffers.empty() && copies.empty() && gone == 0; }
  // Everything that the recorded program left or received was compared and is identical.
  bool identical_throughout() const {
    return !differs() && not_compared() == 0 && (identical + copies_identical != 0 || empty());
  }
};

// Reads back every buffer; the caller has waited for the run. An error is a failure to compare, a
// difference is a result. `origins`, if known, say which bytes nobody wrote.
Result<VerifyReport> verify(const Instance& instance, const OriginMap* origins = nullptr);

// Compares the present content of the allocation with `expected`; how much of it is known decides
// between bytes and hash. Used for post-states and checkpoints, of the event `sequence`.
Result<BufferResult> compare_buffer(const Instance& instance, format::AllocationId id,
                                    const format::Content& expected, uint64_t sequence,
                                    const Origins* origins = nullptr);

// XXH3-128 of every buffer as it is now; index = id - 1. Compares two runs of one instance.
Result<std::vector<format::BlobId>> snapshot(const Instance& instance);

}  // namespace gfxgraph::replayer
