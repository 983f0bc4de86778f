// Which words that look like addresses are pointers: a run of the trace's kernels that follows each
// recorded word through registers, LDS, scratch and memory to the addresses of accesses.
//
// The words are the trace's relocations. A word is *proven* if its upper dword, with offsets added
// at most, is the upper dword of an address that was accessed, and the address lies in the
// allocation that the word points to; or if it was compared with, or subtracted from, a proven
// pointer to that allocation. It is *data* if kernels read it and no address came from it, in a
// trace of which all launches ran. Docs: docs/check.md, "Proof of pointers".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/provenance.h"
#include "format/reader.h"
#include "lanecheck/budget.h"
#include "lanecheck/provenance_rules.h"
#include "lanecheck/provenance_tags.h"
#include "lanecheck/tag_memory.h"

namespace gfxgraph::lanecheck {

struct ProvenanceReport {
  format::Provenance facts;
  uint64_t words = 0;  // that the trace relocates, without those of final contents
  uint64_t proven = 0, data = 0, unread = 0, unclear = 0;
  uint64_t compared = 0;  // of the proven ones: by comparison only
  uint64_t rebased = 0;   // proven, into another allocation than recorded
  // Of the unclear ones, by reason.
  std::map<std::string, uint64_t> reasons;
  struct Example {
    format::WordPlace place;
    uint64_t offset_bytes = 0;
    format::AllocationId allocation = 0;
    std::string reason;
  };
  std::vector<Example> examples;  // of unclear words, the first kMostExamples
  static constexpr size_t kMostExamples = 20;
  // All words, if asked for: "proven", "data", "never read", "unclear".
  struct Listed {
    format::WordPlace place;
    uint64_t offset_bytes = 0;
    uint64_t value = 0;
    const char* verdict = "";
  };
  std::vector<Listed> list;
  // Instructions that accessed recorded memory at an address that came from no recorded word.
  uint64_t untraced_instructions = 0;
  uint64_t launches = 0, failed_launches = 0;
  uint64_t wave_instructions = 0;
  std::string failure;  // of the first failed launch
  std::string stopped;  // the budget that is spent; empty: none
  // No word is ambiguous any more: all launches ran, and each word that was read is proven or data.
  bool settled() const { return failed_launches == 0 && stopped.empty() && unclear == 0; }
};

// What follows words while kernels run, and what events other than launches do to them. One thread.
class Provenance {
 public:
  explicit Provenance(Budget& budget) : memory_(tags_, budget), budget_(budget) {}

  Tags& tags() { return tags_; }
  TagMemory& memory() { return memory_; }

  // ---- events of the trace, after they were carried out ----
  void next_event(uint64_t sequence) { place_ = {sequence, 0, 0, format::WordPart::kArguments}; }
  void next_node(format::GraphId graph, uint32_t node) {
    place_ = {0, graph, node, format::WordPart::kArguments};
  }
  void apply(const format::AllocationBegin& action);
  void apply(const format::AllocationEnd& action);  // before it is carried out
  void apply(const format::HostWrite& action);
  void apply(const format::Copy& action);
  void apply(const format::Memset& action);
  // The arguments stand at `address`.
  void launch(const format::Launch& action, uint64_t address);

  // ---- what kernels do ----
  void read(Tag tag) {
    if (Tags::is_single(tag)) words_[Tags::word_of(tag)].read = true;
  }
  // An access at `address`, whose base has these tags.
  void reach(Tag high, Tag low, uint64_t address) {
    if (!is_proven(high)) judge(high, low, address);
  }
  // Of one word, and reach() has nothing to learn from an access.
  bool is_proven(Tag high) const {
    return high != 0 && Tags::is_single(high) && words_[Tags::word_of(high)].proven;
  }
  void untraced(uint64_t address, uint64_t pc);
  void jump(Tag high);
  // Two values that are compared, or subtracted from each other: of each the tags and values of the
  // halves that the relation has; of kLoose the tag of one of them, in `low`.
  struct Side {
    Tag high = 0, low = 0;
    uint32_t high_value = 0, low_value = 0;
  };
  void relate(TagRelation relation, const Side& a, const Side& b);
  // The upper half of a sum is from -16 to 15: words with this tag were subtracted from each other.
  // Compilers add a few bits there that a shift to the right takes away again.
  void cancel(Tag tag) {
    if (!Tags::is_single(tag)) relate_cancelled(tag);
  }
  // No upper dword of an address: what such a value was computed from does not matter any more.
  static bool ends(uint32_t value) { return value == 0 || value == ~0U; }
  // A tag of what holds `value`, where that tells more.
  Tag narrow(Tag tag, uint32_t value);

  // ---- the result ----
  // `list`: with a list of all words.
  void finish(ProvenanceReport& report, bool list);

 private:
  struct Word {
    uint64_t value = 0;
    uint64_t offset = 0;
    uint32_t place = 0;
    format::AllocationId allocation = 0;
    format::AllocationId target = 0;  // proven: where it leads
    bool typed = false, outside = false, code = false;
    bool read = false, proven = false, reached = false, elsewhere = false;
    bool compared = false;  // with a proven pointer to the same allocation
    bool pointer() const { return proven || compared; }
  };
  struct Range {
    uint64_t address = 0, bytes = 0;
  };
  struct Allocation {
    format::AllocationId id = 0;
    uint64_t bytes = 0;
    bool code = false;
  };
  // A relocation of final contents: what it is, the words tell that it was made from.
  struct Final {
    uint32_t place = 0;
    uint64_t offset = 0;
    Tag words = 0;
    bool code = false;
  };

  uint32_t place(format::WordPart part);
  void add_content(const format::Content& content, format::WordPart part, uint64_t address);
  uint32_t add_word(const format::Relocation& word, format::WordPart part, uint64_t value);
  void add_final(const format::Content& content, format::WordPart part, uint64_t address);
  uint64_t address_of(format::AllocationId id) const;
  const Allocation* find(uint64_t address, uint64_t* start = nullptr) const;
  void judge(Tag high, Tag low, uint64_t address);
  void prove(Word& word, format::AllocationId target);
  // Of a value that is a recorded word with an offset added at most, and that points into or right
  // behind its allocation: that word; 0: it is not one.
  uint32_t word_of(TagRelation relation, const Side& side) const;
  void relate(uint32_t a, uint32_t b, bool whole);
  void relate_cancelled(Tag tag);
  // Fills in Word::compared. Returns the words that stay unclear for what they are compared with.
  std::vector<const char*> settle_relations();
  const char* reason_of(const Word& word, const char* related, bool all_ran) const;

  Tags tags_;
  TagMemory memory_;
  Budget& budget_;
  format::WordPlace place_;
  std::vector<format::WordPlace> places_;
  // Of arguments of graph nodes, which run many times.
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> node_words_;
  std::vector<Word> words_ = std::vector<Word>(1);
  std::vector<Final> finals_;
  std::map<uint64_t, Allocation> live_;
  std::unordered_map<format::AllocationId, Range> ranges_;  // of all that were there
  // Words whose values were compared or subtracted: whether both as whole addresses.
  std::map<std::pair<uint32_t, uint32_t>, bool> related_;
  std::set<uint64_t> untraced_;  // pcs
  bool lost_ = false;
};

// Runs the whole trace. Errors: as check_trace().
Result<ProvenanceReport> prove_pointers(const format::Trace& trace, const BudgetLimits& limits,
                                        bool list = false, const LaunchProgress& progress = {});

}  // namespace gfxgraph::lanecheck
