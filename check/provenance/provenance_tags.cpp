#include "check/provenance/provenance_tags.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::check {

Tag Tags::join(Tag a, Tag b) {
  if (b != kWeakened && a > b) std::swap(a, b);
  // Strong contains weak.
  if (is_single(a) && b == (a | kWeak)) return a;
  const uint64_t key = uint64_t{a} << 32 | b;
  if (key == last_key_) return last_;
  const auto found = known_.find(key);
  if (found != known_.end()) {
    last_key_ = key;
    return last_ = found->second;
  }
  // What was united with one of the two before.
  if (!is_single(b) && b != kWeakened) {
    const Node& node = nodes_[b & ~kNode];
    if (node.b != kWeakened && (node.a == a || node.b == a)) return b;
  }
  if (nodes_.size() == kMostNodes) {
    lost_ = true;
    return a;
  }
  nodes_.push_back({a, b, false});
  const Tag made = kNode | static_cast<Tag>(nodes_.size() - 1);
  known_.emplace(key, made);
  last_key_ = key;
  return last_ = made;
}

bool Tags::elements(Tag tag, Elements& out) const {
  constexpr unsigned kMostSteps = 64;
  struct Open {
    Tag tag;
    Tag weak;
  };
  Open open[kMostSteps];
  unsigned count = 0;
  open[count++] = {tag, 0};
  out.count = 0;
  for (unsigned step = 0; count != 0; ++step) {
    if (step == kMostSteps) return false;
    const Open one = open[--count];
    if (one.tag == 0) continue;
    if (is_single(one.tag)) {
      const Tag element = one.tag | one.weak;
      const auto same = [&](Tag other) { return (other & ~kWeak) == (element & ~kWeak); };
      Tag* const end = out.element + out.count;
      Tag* const found = std::find_if(out.element, end, same);
      if (found != end) {
        *found &= element | ~kWeak;  // strong if one of them is
        continue;
      }
      if (out.count == kMostElements) return false;
      out.element[out.count++] = element;
      continue;
    }
    const Node& node = nodes_[one.tag & ~kNode];
    if (count + 2 > kMostSteps) return false;
    if (node.b == kWeakened) {
      open[count++] = {node.a, kWeak};
      continue;
    }
    open[count++] = {node.a, one.weak};
    open[count++] = {node.b, one.weak};
  }
  return true;
}

}  // namespace gfxgraph::check
