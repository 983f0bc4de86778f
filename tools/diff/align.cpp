#include "tools/diff/align.h"

#include <algorithm>

namespace gfxgraph::tools {
namespace {

// Aligns two sequences that differ at their beginning and end. False: more than `most_edits`.
bool align_middle(std::span<const uint32_t> a, std::span<const uint32_t> b, size_t most_edits,
                  std::vector<std::pair<size_t, size_t>>& pairs) {
  const auto n = static_cast<int64_t>(a.size());
  const auto m = static_cast<int64_t>(b.size());
  const auto most = static_cast<int64_t>(std::min(most_edits, a.size() + b.size()));
  // reached[k + d + 1] of round d: how far in `a` d edits lead on diagonal k (index in a - index in
  // b). Each round's is kept, from -d to d, to walk back.
  std::vector<std::vector<uint32_t>> rounds;
  std::vector<int64_t> reached(static_cast<size_t>(2 * most + 3), 0);
  const auto at = [&](int64_t k) -> int64_t& { return reached[static_cast<size_t>(k + most + 1)]; };
  int64_t edits = -1;
  for (int64_t d = 0; d <= most && edits < 0; ++d) {
    for (int64_t k = -d; k <= d; k += 2) {
      int64_t x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && a[static_cast<size_t>(x)] == b[static_cast<size_t>(x - k)]) ++x;
      at(k) = x;
      if (x >= n && x - k >= m) edits = d;
    }
    std::vector<uint32_t>& kept = rounds.emplace_back();
    kept.reserve(static_cast<size_t>(d + 1));
    for (int64_t k = -d; k <= d; k += 2) kept.push_back(static_cast<uint32_t>(at(k)));
  }
  if (edits < 0) return false;
  const auto before = [&](int64_t d, int64_t k) -> int64_t {  // round d, diagonal k
    return k < -d || k > d ? -1 : rounds[static_cast<size_t>(d)][static_cast<size_t>((k + d) / 2)];
  };
  const size_t first_pair = pairs.size();
  int64_t x = n;
  int64_t y = m;
  for (int64_t d = edits; d > 0; --d) {
    const int64_t k = x - y;
    const int64_t down = before(d - 1, k + 1);  // then an element of b was added
    const int64_t right = before(d - 1, k - 1);
    const bool added = k == -d || (k != d && right < down);
    const int64_t from_x = added ? down : right;
    const int64_t from_y = added ? from_x - (k + 1) : from_x - (k - 1);
    const int64_t after_x = added ? from_x : from_x + 1;
    while (x > after_x) pairs.emplace_back(--x, --y);
    x = from_x;
    y = from_y;
  }
  while (x > 0) pairs.emplace_back(--x, --y);
  std::reverse(pairs.begin() + static_cast<ptrdiff_t>(first_pair), pairs.end());
  return true;
}

}  // namespace

Alignment align(std::span<const uint32_t> first, std::span<const uint32_t> second,
                size_t most_edits) {
  Alignment result;
  const size_t shorter = std::min(first.size(), second.size());
  size_t head = 0;
  while (head < shorter && first[head] == second[head]) ++head;
  size_t tail = 0;
  while (tail < shorter - head &&
         first[first.size() - 1 - tail] == second[second.size() - 1 - tail])
    ++tail;
  for (size_t i = 0; i < head; ++i) result.pairs.emplace_back(i, i);
  const auto a = first.subspan(head, first.size() - head - tail);
  const auto b = second.subspan(head, second.size() - head - tail);
  std::vector<std::pair<size_t, size_t>> middle;
  if (!a.empty() && !b.empty()) result.given_up = !align_middle(a, b, most_edits, middle);
  for (const auto& [x, y] : middle) result.pairs.emplace_back(head + x, head + y);
  for (size_t i = tail; i > 0; --i) result.pairs.emplace_back(first.size() - i, second.size() - i);
  return result;
}

}  // namespace gfxgraph::tools
