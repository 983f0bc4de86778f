#include "replayer/check/content_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "format/container/container.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kAddressBytes = sizeof(uint64_t);

std::string derived_reason(const FreshBytes& fresh) {
  return fmt::format(
      "{} bytes, the first at offset {}, come from memory that nobody had written: the program "
      "reads uninitialised memory",
      fresh.derived, fresh.first_derived);
}

// After the event `sequence` of the recording.
bool in_live_memory(const Program& program, uint64_t recorded, uint64_t sequence) {
  return std::ranges::any_of(program.allocations(), [&](const AllocationInfo& info) {
    if (info.begin == nullptr || info.begin_sequence > sequence) return false;
    if (info.end != nullptr && info.end->freed && info.end_sequence <= sequence) return false;
    return recorded - info.begin->recorded_address <= info.begin->size_bytes ||
           (info.begin->host_address != 0 &&
            recorded - info.begin->host_address <= info.begin->size_bytes);
  });
}

bool one_place(const Instance& instance, uint64_t recorded, uint64_t now, uint64_t sequence) {
  const AddressMap& addresses = instance.memory().addresses();
  return addresses.denotes(now, recorded) ||
         (addresses.denotes_outside(now, recorded) &&
          !in_live_memory(instance.program(), recorded, sequence));
}

struct Difference {
  uint64_t first = 0;
  uint64_t count = 0;
  uint8_t expected = 0, got = 0;  // at the first

  void add(uint64_t offset, std::byte should, std::byte is) {
    if (count++ != 0) return;
    first = offset;
    expected = static_cast<uint8_t>(should);
    got = static_cast<uint8_t>(is);
  }
};

// A window that moves over the bytes of both sides. It makes the recorded bytes what this replay
// should hold, and counts what differs.
class Window {
 public:
  Window(const Instance& instance, std::span<const format::Relocation> words, uint64_t sequence,
         const ReadBytes& read, const Origins* origins, const std::string& where,
         std::span<const RemainingWord> remaining)
      : instance_(instance),
        words_(words),
        sequence_(sequence),
        read_(read),
        origins_(origins),
        where_(where),
        remaining_(remaining) {}

  // In order, without gaps.
  Result<void> add(std::span<const std::byte> piece) {
    const uint64_t offset = end();
    expected_.insert(expected_.end(), piece.begin(), piece.end());
    if (origins_ != nullptr) recorded_.insert(recorded_.end(), piece.begin(), piece.end());
    const size_t before = got_.size();
    got_.resize(expected_.size());
    GFXGRAPH_TRY(read_(offset, std::span(got_).subspan(before)));
    return advance(false);
  }
  Result<void> finish() { return advance(true); }
  uint64_t end() const { return begin_ + expected_.size(); }

  void take_result(ContentComparison& result) {
    result.ambiguous_words_unmoved = unmoved_;
    Difference found = plain_;
    if (plain_.count != 0 && origins_ != nullptr) {
      found = written_;
      result.fresh = fresh_;
    }
    result.first_difference = found.first;
    result.differing_bytes = found.count;
    result.expected = found.expected;
    result.got = found.got;
    result.comparison = found.count == 0 ? Comparison::kIdentical : Comparison::kDifferent;
    if (found.count != 0) return;
    if (fresh_.derived != 0) {
      result.reason = derived_reason(fresh_);
    } else if (unknown_.count != 0) {
      result.reason = fmt::format(
          "{} bytes, the first at offset {}, were never written in the replay, and the trace does "
          "not hold what the memory held before the program got it",
          unknown_.count, unknown_.first);
    }
    if (!result.reason.empty()) result.comparison = Comparison::kUncompared;
  }

 private:
  // What may still change waits: a word can begin 7 bytes before a difference and end 7 behind it,
  // and the words of the trace that overlap such a word must be known.
  Result<void> advance(bool last) {
    constexpr uint64_t kAhead = 2 * kAddressBytes;
    GFXGRAPH_TRY(relocate(last));
    uint64_t until = end();
    if (!last) {
      if (until < matched_ + kAhead + kAddressBytes) return {};
      until = (until - kAhead) / kAddressBytes * kAddressBytes;
    }
    expect_addresses(until);
    matched_ = until;
    const uint64_t sure = last ? until : until - kAddressBytes;
    count(sure);
    const auto drop = static_cast<ptrdiff_t>(sure - begin_);
    expected_.erase(expected_.begin(), expected_.begin() + drop);
    got_.erase(got_.begin(), got_.begin() + drop);
    if (origins_ != nullptr) recorded_.erase(recorded_.begin(), recorded_.begin() + drop);
    begin_ = sure;
    return {};
  }

  // A word that only looked like a pointer may as well have been a number that the program
  // computed: where the replay holds the recorded value, that is what it should hold.
  Result<void> relocate(bool last) {
    inside_.clear();
    for (; next_ < words_.size(); ++next_) {
      format::Relocation word = words_[next_];
      const bool readable = word.offset_bytes >= begin_ && word.offset_bytes <= end() &&
                            end() - word.offset_bytes >= kAddressBytes;
      if (!readable && !last) break;
      if (!readable) {
        return fail(Status::kCorrupt, fmt::format("{}: relocation at byte {} of {}", where_,
                                                  word.offset_bytes, end()));
      }
      word.offset_bytes -= begin_;
      const uint64_t recorded = load_word(expected_, word.offset_bytes);
      const uint64_t now = load_word(got_, word.offset_bytes);
      if (word.ambiguous && recorded == now) {
        ++unmoved_;
      } else if (one_place(instance_, recorded, now, sequence_)) {
        store_word(expected_, word.offset_bytes, now);
      } else {
        inside_.push_back(word);
      }
    }
    return instance_.memory().addresses().apply(expected_, inside_, where_);
  }

  // Where nothing said that a word is a pointer, but both sides hold the address of one place, it
  // is one: the memory that it points to had been freed, the kernel made it, or it stands in no
  // aligned place. Looks at the differences up to `until`.
  void expect_addresses(uint64_t until) {
    const auto same = [&](uint64_t at) {
      const uint64_t now = load_word(got_, at);
      const bool one = one_place(instance_, load_word(expected_, at), now, sequence_);
      if (one) store_word(expected_, at, now);
      return one;
    };
    if (expected_.size() < kAddressBytes) return;
    const uint64_t last = expected_.size() - kAddressBytes;
    const std::optional<std::byte> top = instance_.memory().addresses().top_byte();
    const uint64_t size = until - begin_;
    for (uint64_t at = matched_ - begin_; at < size; ++at) {
      at = next_difference(at, size);
      if (at == size) return;
      if (top) {
        // No word that has this byte is an address where none of its bytes can be the top one.
        const void* const next =
            std::memchr(got_.data() + at, std::to_integer<int>(*top), got_.size() - at);
        if (next == nullptr) return;
        const auto ahead =
            static_cast<uint64_t>(static_cast<const std::byte*>(next) - got_.data()) - at;
        if (ahead >= kAddressBytes) {
          at += ahead - kAddressBytes;  // the next round begins one further
          continue;
        }
      }
      // The window begins at a multiple of a word.
      const uint64_t aligned = at / kAddressBytes * kAddressBytes;
      if (aligned <= last && same(aligned)) continue;
      for (uint64_t offset = at < 7 ? 0 : at - 7; offset <= std::min(at, last) && !same(offset);) {
        ++offset;
      }
    }
  }

  void count(uint64_t until) {
    const uint64_t size = until - begin_;
    for (uint64_t at = next_difference(0, size); at < size; at = next_difference(at + 1, size)) {
      const uint64_t offset = begin_ + at;
      if (is_remaining(remaining_, offset, expected_[at], got_[at])) continue;
      plain_.add(offset, expected_[at], got_[at]);
      if (origins_ != nullptr) look_closer(at, offset);
    }
  }

  // A byte that no run writes may be left out only if the recorded program can have found there
  // what the trace says it left: it is what stood at the address before, as far as that is known,
  // or zero, as memory of the system is. Else a write may be missing in the trace.
  void look_closer(uint64_t at, uint64_t offset) {
    const Origin origin = origins_->of(offset, got_[at]);
    if (origin == Origin::kDerived) {
      if (fresh_.derived++ == 0) fresh_.first_derived = offset;
    } else if (origin == Origin::kUnwritten &&
               (recorded_[at] == std::byte{0} || recorded_[at] == origins_->earlier[offset])) {
      ++fresh_.left_out;
    } else {
      Difference& kind = origin == Origin::kUnwritten ? unknown_ : written_;
      kind.add(offset, expected_[at], got_[at]);
    }
  }

  // `size` if there is none before it.
  uint64_t next_difference(uint64_t at, uint64_t size) const {
    if (at >= size || std::memcmp(expected_.data() + at, got_.data() + at, size - at) == 0)
      return size;
    const auto from = expected_.begin() + static_cast<ptrdiff_t>(at);
    const auto [left, right] = std::mismatch(from, expected_.begin() + static_cast<ptrdiff_t>(size),
                                             got_.begin() + static_cast<ptrdiff_t>(at));
    return static_cast<uint64_t>(left - expected_.begin());
  }

  const Instance& instance_;
  const std::span<const format::Relocation> words_;
  const uint64_t sequence_;
  const ReadBytes& read_;
  const Origins* const origins_;
  const std::string& where_;
  const std::span<const RemainingWord> remaining_;
  std::vector<std::byte> expected_, got_;
  std::vector<std::byte> recorded_;  // as expected_ was; with origins only
  uint64_t begin_ = 0;               // of the window; a multiple of a word
  uint64_t matched_ = 0;             // differences before it were looked at
  size_t next_ = 0;                  // of words_
  std::vector<format::Relocation> inside_;
  size_t unmoved_ = 0;
  Difference plain_;              // all that differs
  Difference written_, unknown_;  // with origins: what a run wrote, and what none did
  FreshBytes fresh_;
};

Result<void> visit_read(uint64_t size, const ReadBytes& read,
                        const std::function<Result<void>(uint64_t, std::span<std::byte>)>& visit) {
  std::vector<std::byte> piece;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(std::min(kComparedAtOnceBytes, size - at));
    GFXGRAPH_TRY(read(at, piece));
    GFXGRAPH_TRY(visit(at, piece));
  }
  return {};
}

// Of bytes of the replay, with the recorded addresses in its words.
Result<format::BlobId> recorded_hash(const Instance& instance, uint64_t size,
                                     std::span<const format::Relocation> words,
                                     const ReadBytes& read, const std::string& where) {
  format::RunningBlobId hash;
  size_t next = 0;
  std::vector<std::byte> held;  // between two pieces: of the word at `next`, less than all of it
  std::vector<format::Relocation> inside;
  const auto add = [&](uint64_t at, std::span<std::byte> piece) -> Result<void> {
    const uint64_t begin = at - held.size();
    held.insert(held.end(), piece.begin(), piece.end());
    const uint64_t end = begin + held.size();
    inside.clear();
    for (; next < words.size() && words[next].offset_bytes <= end - kAddressBytes &&
           end >= kAddressBytes;
         ++next) {
      inside.push_back(words[next]);
      inside.back().offset_bytes -= begin;
    }
    GFXGRAPH_TRY(instance.memory().addresses().unapply(held, inside, where));
    const uint64_t whole = next < words.size() ? std::min(end, words[next].offset_bytes) : end;
    hash.add(std::span(held).first(whole - begin));
    held.erase(held.begin(), held.begin() + static_cast<ptrdiff_t>(whole - begin));
    return {};
  };
  GFXGRAPH_TRY(visit_read(size, read, add));
  if (next == words.size()) return hash.value();
  return fail(Status::kCorrupt, fmt::format("{}: relocation at byte {} of {}", where,
                                            words[next].offset_bytes, size));
}

// For a content of which the trace has only a hash, which differs.
Result<void> look_closer_at_hash(uint64_t size, const ReadBytes& read, const Origins* origins,
                                 ContentComparison& result) {
  result.comparison = Comparison::kDifferent;
  if (origins == nullptr) return {};
  uint64_t unwritten = 0;
  GFXGRAPH_TRY(visit_read(size, read, [&](uint64_t at, std::span<std::byte> piece) -> Result<void> {
    for (size_t i = 0; i < piece.size(); ++i) {
      const Origin origin = origins->of(at + i, piece[i]);
      unwritten += origin == Origin::kUnwritten ? 1 : 0;
      if (origin == Origin::kDerived && result.fresh.derived++ == 0)
        result.fresh.first_derived = at + i;
    }
    return {};
  }));
  if (result.fresh.derived != 0) {
    result.reason = derived_reason(result.fresh);
  } else if (unwritten != 0) {
    result.reason = fmt::format(
        "only its hash was recorded, and it covers {} bytes that were never written", unwritten);
  }
  if (!result.reason.empty()) result.comparison = Comparison::kUncompared;
  return {};
}

}  // namespace

Result<ContentComparison> compare_content(const Instance& instance, const format::Content& expected,
                                          std::span<const format::Relocation> words,
                                          uint64_t sequence, const ReadBytes& read,
                                          const Origins* origins, const std::string& where,
                                          std::span<const RemainingWord> remaining) {
  ContentComparison result;
  if (!expected.stored) {
    result.by_hash = true;
    GFXGRAPH_ASSIGN_OR_RETURN(const format::BlobId hash,
                              recorded_hash(instance, expected.size_bytes, words, read, where));
    result.comparison = Comparison::kIdentical;
    if (hash != expected.hash)
      GFXGRAPH_TRY(look_closer_at_hash(expected.size_bytes, read, origins, result));
    return result;
  }
  Window window(instance, words, sequence, read, origins, where, remaining);
  const auto add = [&](uint64_t, std::span<const std::byte> bytes) -> Result<void> {
    if (bytes.size() > expected.size_bytes - window.end())
      return fail(Status::kCorrupt, where + ": wrong size");
    for (uint64_t at = 0; at < bytes.size(); at += kComparedAtOnceBytes)
      GFXGRAPH_TRY(
          window.add(bytes.subspan(at, std::min(kComparedAtOnceBytes, bytes.size() - at))));
    return {};
  };
  GFXGRAPH_TRY(instance.program().trace().visit_content(expected, add));
  if (window.end() != expected.size_bytes) return fail(Status::kCorrupt, where + ": wrong size");
  GFXGRAPH_TRY(window.finish());
  window.take_result(result);
  return result;
}

}  // namespace gfxgraph::replayer
