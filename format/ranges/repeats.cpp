// Finds the runs of a string from its Lyndon words (Bannai, I, Inenaga, Nakashima, Takeda, Tsuruta:
// "The Runs Theorem", 2017): every run contains a longest Lyndon word of its period, for the order
// of the tokens or for the reversed order. Hashes give the common extensions of two places.
#include "format/ranges/repeats.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"

namespace gfxgraph::ranges {
namespace {

// Polynomial hashes of all substrings, modulo the prime 2^61 - 1, with a base unknown to any file.
class Extensions {
 public:
  explicit Extensions(std::span<const uint32_t> tokens)
      : tokens_(tokens), hashes_(tokens.size() + 1, 0), powers_(tokens.size() + 1, 1) {
    const uint64_t base = mix(process_secret() ^ 0x72657065617473) % (kPrime - 1) + 1;
    for (size_t i = 0; i < tokens.size(); ++i) {
      hashes_[i + 1] = reduce(multiply(hashes_[i], base) + tokens[i] + 1);
      powers_[i + 1] = multiply(powers_[i], base);
    }
  }

  // How many tokens from `i` on equal those from `j` on, i < j.
  size_t forward(size_t i, size_t j) const {
    return extend(tokens_.size() - j, [&](size_t from, size_t length) {
      return length == 1 ? tokens_[i + from] == tokens_[j + from]
                         : hash(i + from, length) == hash(j + from, length);
    });
  }
  // How many tokens before `i` equal those before `j`, i < j.
  size_t backward(size_t i, size_t j) const {
    return extend(i, [&](size_t from, size_t length) {
      return length == 1 ? tokens_[i - from - 1] == tokens_[j - from - 1]
                         : hash(i - from - length, length) == hash(j - from - length, length);
    });
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  static uint64_t reduce(uint64_t value) { return value >= kPrime ? value - kPrime : value; }
  static uint64_t multiply(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return reduce((static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61));
  }
  uint64_t hash(size_t from, size_t length) const {
    const uint64_t before = multiply(hashes_[from], powers_[length]);
    return reduce(hashes_[from + length] + kPrime - before);
  }

  // The largest n <= most with same(0, n). Doubles first: most extensions are short.
  template <typename Same>
  static size_t extend(size_t most, const Same& same) {
    size_t equal = 0, length = 1;
    while (equal + length <= most && same(equal, length)) {
      equal += length;
      length *= 2;
    }
    for (; length != 0; length /= 2) {
      if (equal + length <= most && same(equal, length)) equal += length;
    }
    return equal;
  }

  std::span<const uint32_t> tokens_;
  std::vector<uint64_t> hashes_, powers_;
};

}  // namespace

std::vector<Repeat> find_repeats(std::span<const uint32_t> tokens, size_t times) {
  const size_t count = tokens.size();
  const Extensions extensions(tokens);
  std::vector<Repeat> repeats;
  std::vector<size_t> next(count);                // where the longest Lyndon word from i ends
  std::vector<std::pair<size_t, size_t>> latest;  // begin and end, by period
  for (const bool reversed : {false, true}) {
    latest.assign(count + 1, {0, 0});
    for (size_t i = count; i-- > 0;) {
      // The next suffix that is smaller than this one; a proper prefix is smaller in both orders.
      size_t j = i + 1;
      while (j < count) {
        const size_t same = extensions.forward(i, j);
        if (j + same == count || (tokens[j + same] < tokens[i + same]) != reversed) break;
        j = next[j];
      }
      next[i] = j;
      const size_t period = j - i;
      if (2 * period > count) continue;
      const auto& [known_begin, known_end] = latest[period];
      if (known_begin <= i && j < known_end) continue;  // the same run again
      const size_t after = j == count ? 0 : extensions.forward(i, j);
      const size_t begin = i - extensions.backward(i, j);
      const size_t end = j + after;
      if (end - begin < 2 * period) continue;
      latest[period] = {begin, end};
      if ((end - begin) / period >= times) repeats.push_back({begin, end, period});
    }
  }
  const auto order = [](const Repeat& repeat) {
    return std::tuple(repeat.begin, repeat.period, repeat.end);
  };
  std::ranges::sort(repeats, {}, order);
  repeats.erase(std::ranges::unique(repeats).begin(), repeats.end());
  return repeats;
}

}  // namespace gfxgraph::ranges
