// What a trace lacks, and notes for the user: each finding is written once, as soon as it is found,
// and counted. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "format/write/writer.h"
#include "pointers/word_resolver.h"
#include "recorder/contract/options.h"

namespace gfxgraph::recorder {

// Findings before a call: they count only if the call succeeds, because a call that HIP rejects
// does nothing.
struct HeldFinding {
  format::FindingKind kind;
  std::string call;
  std::string detail;
  std::atomic<bool>* found_before = nullptr;  // counts once: until then false
};
using HeldFindings = std::vector<HeldFinding>;

class Findings {
 public:
  // Findings are collected in `held` while this object lives.
  class Hold {
   public:
    Hold(Findings& findings, HeldFindings& held) noexcept : findings_(findings) {
      findings_.held_ = &held;
    }
    ~Hold() { findings_.held_ = nullptr; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Findings& findings_;
  };

  // One that counts, and how often beyond what is in the trace.
  struct Count {
    format::FindingKind kind = format::FindingKind::kIncomplete;
    std::string call;
    std::string detail;
    uint64_t count = 0;
  };

  // New ones go there from now on. It outlives this, or the next call.
  void write_to(format::Writer& writer) noexcept { writer_ = &writer; }

  Result<void> add(HeldFinding found);
  // Counts, also while others are held.
  Result<void> add_now(format::FindingKind kind, std::string_view call, std::string_view detail);
  Result<void> count(const HeldFindings& held);
  // How often each was found, before the trace is sealed.
  Result<void> write_counts();
  bool has(std::string_view call) const;
  bool has(std::string_view call, std::string_view detail) const;

  // Words that only their value marks as pointers: in a kernel's arguments (a line for each
  // kernel), and in bytes that an action brings into memory (a line for each buffer and kind of
  // action).
  void ambiguous(const std::string& kernel, std::string argument);
  Result<void> look_at(const format::Action& action);
  // A word near a buffer in bytes with this hash, until look_at() identifies them.
  void near(const format::Content& content, const std::optional<pointers::NearWord>& word);

  // For the next trace of this program: clears everything, and returns the counts.
  std::vector<Count> take();
  void add_to(Report& report) const;

 private:
  Result<void> look_at(std::string_view what, format::AllocationId id,
                       const format::Content& content);

  format::Writer* writer_ = nullptr;
  HeldFindings* held_ = nullptr;
  std::vector<Count> counts_;
  std::vector<AmbiguousKernel> ambiguous_kernels_;
  std::vector<std::string> ambiguous_;
  std::set<std::pair<std::string_view, format::AllocationId>> ambiguous_memory_;  // in ambiguous_
  std::map<format::BlobId, pointers::NearWord> near_words_;  // of contents, by their hash
  std::set<format::AllocationId> near_memory_;               // has a finding about one
};

}  // namespace gfxgraph::recorder
