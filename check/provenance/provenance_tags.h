// Tags: the shadow values of the pointer proof (provenance.h), which name the recorded words that a
// dword comes from.
//
// A tag names a set of halves of recorded words. A half is *strong* if the dword is that half,
// perhaps with an offset added or bits masked, and *weak* if it was computed from it in another
// way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/engine/wave.h"

namespace gfxgraph::check {

// 0: none.
using Tag = uint32_t;

// Not thread-safe.
class Tags {
 public:
  static constexpr Tag kWeak = 1U << 30;
  static constexpr uint32_t kMostWords = (1U << 29) - 1;

  // The element for the lower (0) or upper (1) dword of a word. Words are numbered from 1.
  static constexpr Tag of(uint32_t word, unsigned half) { return word << 1 | half; }
  static constexpr uint32_t word_of(Tag element) { return (element & (kWeak - 1)) >> 1; }
  static constexpr unsigned half_of(Tag element) { return element & 1; }
  static constexpr bool is_weak(Tag element) { return (element & kWeak) != 0; }
  // Whether the tag names one half; other tags are sets.
  static constexpr bool is_single(Tag tag) { return tag < kNode; }

  // Whether a dword with this value cannot be the upper dword of an address, so that it needs no
  // tag.
  GFXGRAPH_INLINE static constexpr bool ends(uint32_t value) { return value + 1 <= 1; }

  // The union of two sets.
  Tag unite(Tag a, Tag b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    return join(a, b);
  }
  // The same set, with all elements weak.
  Tag weaken(Tag tag) {
    if (tag == 0) return 0;
    return is_single(tag) ? tag | kWeak : join(tag, kWeakened);
  }

  // The elements of a tag. False, with only some of them, if there are more than kMostElements.
  static constexpr unsigned kMostElements = 16;
  struct Elements {
    Tag element[kMostElements];
    unsigned count = 0;
  };
  bool elements(Tag tag, Elements& out) const;
  // Calls visit(word) for the word of every element, except those of sets that an earlier call
  // visited.
  template <typename Visit>
  void visit_once(Tag tag, const Visit& visit) {
    std::vector<Tag> open = {tag};
    while (!open.empty()) {
      const Tag one = open.back();
      open.pop_back();
      if (one == 0 || one == kWeakened) continue;
      if (is_single(one)) {
        visit(word_of(one));
        continue;
      }
      Node& node = nodes_[one & ~kNode];
      if (node.visited) continue;
      node.visited = true;
      open.push_back(node.a);
      open.push_back(node.b);
    }
  }
  // Returns a function that tests whether holds(word) is true for all words of a tag, of any
  // number. It is valid for tags made before this call.
  template <typename Holds>
  auto all_of(Holds holds) const {
    std::vector<bool> sets(nodes_.size());
    const auto of = [holds](const std::vector<bool>& known, Tag tag) {
      if (tag == 0 || tag == kWeakened) return true;
      return is_single(tag) ? static_cast<bool>(holds(word_of(tag)))
                            : static_cast<bool>(known[tag & ~kNode]);
    };
    // Sets consist of older sets.
    for (size_t n = 0; n < sets.size(); ++n)
      sets[n] = of(sets, nodes_[n].a) && of(sets, nodes_[n].b);
    return [of, sets = std::move(sets)](Tag tag) { return of(sets, tag); };
  }
  // Some set was dropped, because there were too many.
  bool lost() const { return lost_; }

 private:
  static constexpr Tag kNode = 1U << 31;
  static constexpr Tag kWeakened = ~0U;
  static constexpr size_t kMostNodes = 1 << 24;
  struct Node {
    Tag a = 0, b = 0;
    bool visited = false;
  };
  Tag join(Tag a, Tag b);

  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, Tag> known_;
  uint64_t last_key_ = 0;
  Tag last_ = 0;
  bool lost_ = false;
};

}  // namespace gfxgraph::check
