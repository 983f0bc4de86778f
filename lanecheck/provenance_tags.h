// Which recorded words a dword comes from: shadow values of the pointer proof (provenance.h).
//
// A tag names a set of halves of recorded words. A half is *strong* where the dword is it, perhaps
// with an offset added or with bits masked, and *weak* where it was computed from it otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gfxgraph::lanecheck {

// 0: none.
using Tag = uint32_t;

// One thread.
class Tags {
 public:
  static constexpr Tag kWeak = 1U << 30;
  static constexpr uint32_t kMostWords = (1U << 29) - 1;

  // The lower (0) or upper (1) dword of a word, which are numbered from 1.
  static constexpr Tag of(uint32_t word, unsigned half) { return word << 1 | half; }
  static constexpr uint32_t word_of(Tag element) { return (element & (kWeak - 1)) >> 1; }
  static constexpr unsigned half_of(Tag element) { return element & 1; }
  static constexpr bool is_weak(Tag element) { return (element & kWeak) != 0; }
  // Of one half; other tags are sets.
  static constexpr bool is_single(Tag tag) { return tag < kNode; }

  Tag unite(Tag a, Tag b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    return join(a, b);
  }
  Tag weaken(Tag tag) {
    if (tag == 0) return 0;
    return is_single(tag) ? tag | kWeak : join(tag, kWeakened);
  }

  // The elements of a tag; false, and some of them, if there are more than kMostElements.
  static constexpr unsigned kMostElements = 16;
  struct Elements {
    Tag element[kMostElements];
    unsigned count = 0;
  };
  bool elements(Tag tag, Elements& out) const;
  // Calls visit(word) for the words of all elements that no call has visited as part of the same
  // set.
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
  // Returns a function that says whether `holds(word)` is true of all words that a tag names,
  // however many. It knows the tags that were made up to now.
  template <typename Holds>
  auto all_of(Holds holds) const {
    std::vector<bool> sets(nodes_.size());
    const auto of = [holds](const std::vector<bool>& known, Tag tag) {
      if (tag == 0 || tag == kWeakened) return true;
      return is_single(tag) ? static_cast<bool>(holds(word_of(tag)))
                            : static_cast<bool>(known[tag & ~kNode]);
    };
    // Sets are made of older ones.
    for (size_t n = 0; n < sets.size(); ++n)
      sets[n] = of(sets, nodes_[n].a) && of(sets, nodes_[n].b);
    return [of, sets = std::move(sets)](Tag tag) { return of(sets, tag); };
  }
  // Some set was not followed, for lack of room.
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

}  // namespace gfxgraph::lanecheck
