// Determines which words that look like addresses are pointers: runs the trace's kernels and
// follows each recorded word through registers, LDS, scratch and memory to the addresses of
// accesses.
//
// The words are the trace's relocations. A word is *proven* if its upper dword, with nothing but
// offsets added, is the upper dword of an accessed address within the allocation that the word
// points to; or if it was compared with, or subtracted from, a proven pointer to that allocation.
// It is *data* if all launches of the trace ran, kernels read it, and no address was computed from
// it. See docs/check.md, "Proof of pointers".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/listener.h"
#include "check/memory/device_memory.h"
#include "check/provenance/provenance_rules.h"
#include "check/provenance/provenance_tags.h"
#include "check/provenance/tag_memory.h"
#include "format/provenance.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

struct ProvenanceReport {
  format::Provenance facts;
  // Relocations of the trace, except those of final contents and of bytes that kernels had stored
  // before a host write in doubt repeated them.
  uint64_t words = 0;
  uint64_t proven = 0, data = 0, unread = 0, unclear = 0;
  uint64_t compared = 0;  // proven words that were only compared
  uint64_t rebased = 0;   // proven words that point into another allocation than recorded
  // Number of unclear words, by reason.
  std::map<std::string, uint64_t> reasons;
  struct Example {
    format::WordPlace place;
    uint64_t offset_bytes = 0;
    format::AllocationId allocation = 0;
    std::string reason;
  };
  std::vector<Example> examples;  // the first kMostExamples unclear words
  static constexpr size_t kMostExamples = 20;
  // All words, if requested. `verdict`: "proven", "data", "never read" or "unclear".
  struct Listed {
    format::WordPlace place;
    uint64_t offset_bytes = 0;
    uint64_t value = 0;
    const char* verdict = "";
  };
  std::vector<Listed> list;
  // Instructions that accessed recorded memory at an address not computed from a recorded word.
  uint64_t untraced_instructions = 0;
  uint64_t launches = 0, failed_launches = 0;
  uint64_t wave_instructions = 0;
  std::string failure;  // reason of the first failed launch
  std::string stopped;  // the exhausted limit; empty: none
  // No word is ambiguous: all launches ran, and each word that was read is proven or data.
  bool settled() const { return failed_launches == 0 && stopped.empty() && unclear == 0; }
};

// Follows words while kernels run, and applies other events to them. Not thread-safe. `budget` must
// outlive this.
class Provenance final : public Listener {
 public:
  explicit Provenance(Budget& budget) : memory_(tags_, budget), budget_(budget) {}

  Tags& tags() { return tags_; }
  TagMemory& memory() { return memory_; }

  // ---- events of the trace ----
  void next_event(uint64_t sequence) override {
    place_ = {sequence, 0, 0, format::WordPart::kArguments};
  }
  void next_node(format::GraphId graph, uint32_t node) override {
    place_ = {0, graph, node, format::WordPart::kArguments};
  }
  Result<void> allocated(const format::AllocationBegin& action) override;
  Result<void> freed(const format::AllocationEnd& action) override;
  // The memory of the run, which must outlive this: needed for words that are the host's address of
  // registered memory, and for host writes in doubt.
  void follow(DeviceMemory& memory) { device_ = &memory; }
  Result<void> will_write(const format::HostWrite& action) override;
  Result<void> written(const format::HostWrite& action) override;
  Result<void> copied(const format::Copy& action) override;
  Result<void> filled(const format::Memset& action) override;
  void before_run(const LaunchRun& run) override {
    launch(run.launch, run.dispatch.kernarg_address);
  }
  // The kernel arguments are at `address`.
  void launch(const format::Launch& action, uint64_t address);

  // ---- what kernels do ----
  void read(Tag tag) {
    if (Tags::is_single(tag)) words_[Tags::word_of(tag)].read = true;
  }
  // An access at `address`, whose base has these tags in its upper and lower dword.
  void reach(Tag high, Tag low, uint64_t address) {
    if (!is_proven(high)) judge(high, low, address);
  }
  // The tag is that of one proven word, so reach() learns nothing from another access.
  GFXGRAPH_INLINE bool is_proven(Tag high) const {
    return high != 0 && Tags::is_single(high) && words_[Tags::word_of(high)].proven;
  }
  // An access whose base has no tag.
  void untraced(uint64_t address, uint64_t pc) {
    if (!is_not_recorded(address)) note_untraced(address, pc);
  }
  // Whether the address is known to lie in no allocation, or in code. Quick; false when unknown.
  GFXGRAPH_INLINE bool is_not_recorded(uint64_t address) const {
    return address - not_recorded_.address < not_recorded_.bytes;
  }
  // A jump to an address whose upper dword has this tag.
  void jump(Tag high);
  // One of two values that are compared or subtracted: the tags and values of the halves that the
  // relation covers; for kLoose only one tag, in `low`.
  struct Side {
    Tag high = 0, low = 0;
    uint32_t high_value = 0, low_value = 0;
  };
  void relate(emulator::Relation relation, const Side& a, const Side& b);
  // The upper half of a sum is between -16 and 15, so the words of this tag were subtracted from
  // each other. Compilers add a few bits there that a later right shift removes.
  void cancel(Tag tag) {
    if (!Tags::is_single(tag)) relate_cancelled(tag);
  }
  // A more precise tag for a dword that holds `value`, if possible.
  Tag narrow(Tag tag, uint32_t value) {
    if (tag == 0 || Tags::ends(value)) return 0;
    return Tags::is_single(tag) && !Tags::is_weak(tag) ? tag : narrow_set(tag, value);
  }

  // ---- the result ----

  // Fills in `report`. `list`: including the list of all words.
  void finish(ProvenanceReport& report, bool list);

 private:
  struct Word {
    uint64_t value = 0;
    uint64_t offset = 0;
    uint32_t place = 0;
    format::AllocationId allocation = 0;
    format::AllocationId target = 0;  // proven: the allocation that it points to
    bool typed = false, outside = false, code = false;
    bool read = false, proven = false, reached = false, elsewhere = false;
    bool compared = false;  // related to a proven pointer to the same allocation
    bool pointer() const { return proven || compared; }
  };
  struct Range {
    uint64_t address = 0, bytes = 0;
    uint64_t second = 0;  // the host's address of memory that the device knows by another; or 0
    // By the address that the word has.
    uint64_t begin_for(uint64_t word) const {
      return second != 0 && word - second <= bytes ? second : address;
    }
  };
  struct Allocation {
    format::AllocationId id = 0;
    uint64_t bytes = 0;
    bool code = false;
  };
  // A relocation of final contents, or of a host write in doubt that repeats what kernels stored:
  // its verdict follows from the words that it was computed from.
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
  void add_final(const format::Relocation& word, format::WordPart part, uint64_t at);
  void add_doubtful(const format::HostWrite& action, std::span<const std::byte> now);
  uint64_t address_of(format::AllocationId id) const;
  const Allocation* find(uint64_t address, uint64_t* start = nullptr) const;
  void note_untraced(uint64_t address, uint64_t pc);
  uint64_t recorded_value(const format::Relocation& relocation, uint64_t at) const;
  Tag narrow_set(Tag tag, uint32_t value);
  void judge(Tag high, Tag low, uint64_t address);
  void prove(Word& word, format::AllocationId target);
  // The recorded word that a value is, perhaps with an offset added, if it points into or just past
  // its allocation; 0: none.
  uint32_t word_of(emulator::Relation relation, const Side& side) const;
  void relate(uint32_t a, uint32_t b, bool whole);
  void relate_cancelled(Tag tag);
  // Sets Word::compared. Returns, by word, why its comparisons leave it unclear; null: they do not.
  std::vector<const char*> settle_relations();
  const char* reason_of(const Word& word, const char* related, bool all_ran) const;

  Tags tags_;
  TagMemory memory_;
  Budget& budget_;
  DeviceMemory* device_ = nullptr;  // null: not given
  std::vector<std::byte> before_;   // of a host write in doubt; empty: not known
  format::WordPlace place_;
  std::vector<format::WordPlace> places_;
  // Words of the arguments of graph nodes, which run many times.
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> node_words_;
  std::vector<Word> words_ = std::vector<Word>(1);
  std::vector<Final> finals_;
  std::map<uint64_t, Allocation> live_;
  std::unordered_map<format::AllocationId, Range> ranges_;  // of all allocations so far
  // Pairs of words whose values were compared or subtracted; true: as whole addresses.
  std::map<std::pair<uint32_t, uint32_t>, bool> related_;
  std::set<uint64_t> untraced_;  // pcs
  Range not_recorded_;           // as long as live_ stays as it is
  bool lost_ = false;
};

// Executes the whole trace. Errors: as check_trace(). `list`: fill in ProvenanceReport::list.
Result<ProvenanceReport> prove_pointers(const format::Trace& trace, const BudgetLimits& limits,
                                        bool list = false, const LaunchProgress& progress = {});

}  // namespace gfxgraph::check
