#include "replayer/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/checked.h"
#include "format/writer.h"

namespace gfxgraph::replayer {
namespace {

struct Difference {
  uint64_t first = 0;
  uint64_t count = 0;
};

Difference difference(std::span<const std::byte> expected, std::span<const std::byte> got) {
  Difference result;
  const auto [left, right] = std::mismatch(expected.begin(), expected.end(), got.begin());
  if (left == expected.end()) return result;
  result.first = static_cast<uint64_t>(left - expected.begin());
  for (size_t i = result.first; i < expected.size(); ++i)
    result.count += expected[i] != got[i] ? 1 : 0;
  return result;
}

// The result of a comparison of bytes, without bytes that were never written.
struct Findings {
  Difference different;
  FreshBytes fresh;
  std::string reason;  // why it cannot be compared

  Comparison comparison() const {
    if (different.count != 0) return Comparison::kDifferent;
    return reason.empty() ? Comparison::kIdentical : Comparison::kUncompared;
  }
};

std::string derived_reason(const FreshBytes& fresh) {
  return fmt::format(
      "{} bytes, the first at offset {}, come from memory that nobody had written: the program "
      "reads uninitialised memory",
      fresh.derived, fresh.first_derived);
}

// A byte that no run writes may be left out only if the recorded program can have found there what
// the trace says it left: it is what stood at the address before, as far as that is known, or zero,
// as memory of the system is. Else a write may be missing in the trace.
Findings look_closer(std::span<const std::byte> recorded, std::span<const std::byte> expected,
                     std::span<const std::byte> got, const Origins* origins) {
  Findings found;
  Difference unknown;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    const Origin origin = origins == nullptr ? Origin::kWritten : origins->of(i, got[i]);
    if (origin == Origin::kDerived) {
      if (found.fresh.derived++ == 0) found.fresh.first_derived = i;
    } else if (origin == Origin::kUnwritten &&
               (recorded[i] == std::byte{0} || recorded[i] == origins->earlier[i])) {
      ++found.fresh.left_out;
    } else if (origin == Origin::kUnwritten) {
      if (unknown.count++ == 0) unknown.first = i;
    } else if (found.different.count++ == 0) {
      found.different.first = i;
    }
  }
  if (found.fresh.derived != 0) {
    found.reason = derived_reason(found.fresh);
  } else if (unknown.count != 0) {
    found.reason = fmt::format(
        "{} bytes, the first at offset {}, were never written in the replay, and the trace does "
        "not hold what the memory held before the program got it",
        unknown.count, unknown.first);
  }
  return found;
}

// For a content of which the trace has only a hash, which differs.
Findings look_closer_at_hash(std::span<const std::byte> got, const Origins* origins) {
  Findings found;
  uint64_t unwritten = 0;
  for (size_t i = 0; origins != nullptr && i < got.size(); ++i) {
    const Origin origin = origins->of(i, got[i]);
    unwritten += origin == Origin::kUnwritten ? 1 : 0;
    if (origin == Origin::kDerived && found.fresh.derived++ == 0) found.fresh.first_derived = i;
  }
  if (found.fresh.derived != 0) {
    found.reason = derived_reason(found.fresh);
  } else if (unwritten != 0) {
    found.reason = fmt::format(
        "only its hash was recorded, and it covers {} bytes that were never written", unwritten);
  } else {
    found.different.count = 1;
  }
  return found;
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

// Where nothing said that a word is a pointer, but both sides hold the address of one place, it is
// one: the memory that it points to had been freed, the kernel made it, or it stands in no aligned
// place.
void expect_addresses(const Instance& instance, std::span<std::byte> expected,
                      std::span<const std::byte> got, uint64_t sequence) {
  const auto same = [&](uint64_t offset) {
    const uint64_t now = load_word(got, offset);
    const bool one = one_place(instance, load_word(expected, offset), now, sequence);
    if (one) store_word(expected, offset, now);
    return one;
  };
  if (expected.size() < sizeof(uint64_t)) return;
  const uint64_t last = expected.size() - sizeof(uint64_t);
  const std::optional<std::byte> top = instance.memory().addresses().top_byte();
  for (uint64_t at = 0; at < expected.size(); ++at) {
    const auto [left, right] =
        std::mismatch(expected.begin() + static_cast<ptrdiff_t>(at), expected.end(),
                      got.begin() + static_cast<ptrdiff_t>(at));
    if (left == expected.end()) return;
    at = static_cast<uint64_t>(left - expected.begin());
    if (top) {
      // No word that has this byte is an address where none of its bytes can be the top one.
      const void* const next =
          std::memchr(got.data() + at, std::to_integer<int>(*top), got.size() - at);
      if (next == nullptr) return;
      const auto ahead =
          static_cast<uint64_t>(static_cast<const std::byte*>(next) - got.data()) - at;
      if (ahead >= sizeof(uint64_t)) {
        at += ahead - sizeof(uint64_t);  // the next round begins one further
        continue;
      }
    }
    const uint64_t aligned = at / sizeof(uint64_t) * sizeof(uint64_t);
    if (aligned <= last && same(aligned)) continue;
    for (uint64_t offset = at < 7 ? 0 : at - 7; offset <= std::min(at, last) && !same(offset);) {
      ++offset;
    }
  }
}

// `expected` holds recorded bytes; makes them what this replay should hold. A word that only looked
// like a pointer may as well have been a number that the program computed: where the replay holds
// the recorded value, that is what it should hold.
Result<size_t> expect_relocated(const Instance& instance, std::span<std::byte> expected,
                                std::span<const std::byte> got,
                                const std::vector<format::Relocation>& relocations,
                                uint64_t sequence, const std::string& where) {
  const AddressMap& addresses = instance.memory().addresses();
  std::vector<format::Relocation> applied;
  applied.reserve(relocations.size());
  size_t unmoved = 0;
  for (const format::Relocation& relocation : relocations) {
    const bool readable = range_fits(relocation.offset_bytes, sizeof(uint64_t), expected.size());
    if (!readable) {
      applied.push_back(relocation);  // apply() says what is wrong with it
      continue;
    }
    const uint64_t recorded = load_word(expected, relocation.offset_bytes);
    const uint64_t now = load_word(got, relocation.offset_bytes);
    if (relocation.ambiguous && recorded == now) {
      ++unmoved;
    } else if (one_place(instance, recorded, now, sequence)) {
      store_word(expected, relocation.offset_bytes, now);
    } else {
      applied.push_back(relocation);
    }
  }
  GFXGRAPH_TRY(addresses.apply(expected, applied, where));
  expect_addresses(instance, expected, got, sequence);
  return unmoved;
}

const char* unknown_reason(const format::Content& content) {
  return content.stored || content.hash ? nullptr : "its state was not recorded";
}

std::string copy_unknown_reason(const format::Content& expected, uint64_t size_bytes) {
  if (unknown_reason(expected) != nullptr) return "the bytes that it received were not recorded";
  if (expected.size_bytes == size_bytes) return {};
  return fmt::format("only {} of the {} bytes that it received were recorded", expected.size_bytes,
                     size_bytes);
}

// `result`: of a buffer or copy.
void take(Findings found, auto& result) {
  result.comparison = found.comparison();
  result.first_difference = found.different.first;
  result.fresh = found.fresh;
  if (result.comparison == Comparison::kUncompared) result.reason = std::move(found.reason);
}

void count_left_out(const auto& result, VerifyReport& report) {
  if (result.comparison != Comparison::kIdentical || result.fresh.left_out == 0) return;
  report.unwritten_bytes += result.fresh.left_out;
  ++report.unwritten_places;
}

Result<void> compare_copy(const Instance& instance, const HostResult& result,
                          const Origins* origins, VerifyReport& report) {
  CopyResult copy;
  copy.operation = result.operation;
  copy.sequence = instance.program().operations()[result.operation].sequence;
  const format::Content& expected = *result.expected;
  const std::string where = instance.program().describe(result.operation) + ": received bytes";
  copy.reason = copy_unknown_reason(expected, result.size_bytes);
  if (copy.reason.empty()) {
    const std::span<const std::byte> got =
        std::as_bytes(std::span(result.bytes, result.size_bytes));
    if (expected.stored) {
      GFXGRAPH_ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                                instance.program().trace().content(expected));
      if (bytes.size() != got.size()) return fail(Status::kCorrupt, where + ": wrong size");
      const std::vector<std::byte> recorded = origins == nullptr ? std::vector<std::byte>() : bytes;
      GFXGRAPH_ASSIGN_OR_RETURN(
          const size_t unmoved,
          expect_relocated(instance, bytes, got, expected.relocations, copy.sequence, where));
      report.ambiguous_words_unmoved += unmoved;
      const Difference found = difference(bytes, got);
      copy.comparison = found.count == 0 ? Comparison::kIdentical : Comparison::kDifferent;
      copy.first_difference = found.first;
      if (found.count != 0 && origins != nullptr)
        take(look_closer(recorded, bytes, got, origins), copy);
    } else {
      std::vector<std::byte> bytes(got.begin(), got.end());
      GFXGRAPH_TRY(instance.memory().addresses().unapply(bytes, expected.relocations, where));
      copy.comparison = format::hash_bytes(bytes) == expected.hash ? Comparison::kIdentical
                                                                   : Comparison::kDifferent;
      if (copy.comparison == Comparison::kDifferent) take(look_closer_at_hash(got, origins), copy);
    }
  }
  count_left_out(copy, report);
  report.copies_identical += copy.comparison == Comparison::kIdentical ? 1 : 0;
  report.copies_different += copy.comparison == Comparison::kDifferent ? 1 : 0;
  report.copies_uncompared += copy.comparison == Comparison::kUncompared ? 1 : 0;
  report.copies.push_back(copy);
  return {};
}

}  // namespace

Result<BufferResult> compare_buffer(const Instance& instance, format::AllocationId id,
                                    const format::Content& expected, uint64_t sequence,
                                    size_t& ambiguous_words_unmoved, const Origins* origins) {
  const format::AllocationBegin& begin = *instance.program().allocations()[id - 1].begin;
  BufferResult result;
  result.allocation = id;
  result.kind = begin.kind;
  result.size_bytes = begin.size_bytes;
  result.recorded_address = begin.recorded_address;
  if (const char* reason = unknown_reason(expected); reason != nullptr) {
    result.reason = reason;
    return result;
  }
  if (expected.size_bytes < begin.size_bytes) {
    result.reason =
        fmt::format("only {} of {} bytes were recorded", expected.size_bytes, begin.size_bytes);
    return result;
  }
  const std::string where = fmt::format("state of allocation {}", id);
  std::vector<std::byte> got(expected.size_bytes);
  GFXGRAPH_TRY(instance.memory().read(id, 0, got));
  if (!expected.stored) {
    result.by_hash = true;
    std::vector<std::byte> bytes = got;
    GFXGRAPH_TRY(instance.memory().addresses().unapply(bytes, expected.relocations, where));
    const bool same = format::hash_bytes(bytes) == expected.hash;
    result.comparison = same ? Comparison::kIdentical : Comparison::kDifferent;
    if (!same) take(look_closer_at_hash(got, origins), result);
    return result;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                            instance.program().trace().content(expected));
  if (bytes.size() != got.size()) return fail(Status::kCorrupt, where + ": wrong size");
  const std::vector<std::byte> recorded = origins == nullptr ? std::vector<std::byte>() : bytes;
  GFXGRAPH_ASSIGN_OR_RETURN(
      const size_t unmoved,
      expect_relocated(instance, bytes, got, expected.relocations, sequence, where));
  ambiguous_words_unmoved += unmoved;
  Difference found = difference(bytes, got);
  if (found.count != 0 && origins != nullptr) {
    Findings closer = look_closer(recorded, bytes, got, origins);
    found = closer.different;
    take(std::move(closer), result);
    if (result.comparison != Comparison::kDifferent) return result;
  }
  result.comparison = found.count == 0 ? Comparison::kIdentical : Comparison::kDifferent;
  result.first_difference = found.first;
  result.differing_bytes = found.count;
  if (found.count != 0) {
    result.expected = static_cast<uint8_t>(bytes[found.first]);
    result.got = static_cast<uint8_t>(got[found.first]);
  }
  return result;
}

size_t VerifyReport::uninitialised() const {
  const auto derived = [](const auto& result) {
    return result.comparison == Comparison::kUncompared && result.fresh.derived != 0;
  };
  return static_cast<size_t>(std::ranges::count_if(buffers, derived) +
                             std::ranges::count_if(copies, derived));
}

Result<VerifyReport> verify(const Instance& instance, const OriginMap* origins) {
  VerifyReport report;
  report.doubtful = instance.doubtful_writes();
  for (const AllocationInfo& info : instance.program().allocations()) {
    if (!instance.program().holds(info)) continue;
    if (info.begin->object) continue;  // no contents
    if (info.end != nullptr && info.end->gone && instance.program().ends_with(info)) {
      ++report.gone;
      continue;
    }
    BufferResult result;
    if (instance.program().ends_with(info) && !instance.memory().overwritten(info.begin->id)) {
      GFXGRAPH_ASSIGN_OR_RETURN(
          result, compare_buffer(instance, info.begin->id, info.end->post, info.end_sequence,
                                 report.ambiguous_words_unmoved,
                                 origins == nullptr ? nullptr : origins->buffer(info.begin->id)));
    } else {
      result.allocation = info.begin->id;
      result.kind = info.begin->kind;
      result.size_bytes = info.begin->size_bytes;
      result.recorded_address = info.begin->recorded_address;
      const bool ends = instance.program().ends_with(info);
      result.behind_range =
          info.end != nullptr && !ends && !instance.memory().overwritten(info.begin->id);
      result.reason = info.end == nullptr ? "the trace ends before it does"
                      : ends
                          ? "another buffer uses its memory now; replay with separate buffers, or "
                            "keep the contents of freed ones"
                          : "work behind the range may have changed it";
    }
    report.identical += result.comparison == Comparison::kIdentical ? 1 : 0;
    report.different += result.comparison == Comparison::kDifferent ? 1 : 0;
    report.uncompared += result.comparison == Comparison::kUncompared ? 1 : 0;
    count_left_out(result, report);
    report.buffers.push_back(std::move(result));
  }
  for (size_t i = 0; i < instance.host_results().size(); ++i) {
    GFXGRAPH_TRY(compare_copy(instance, instance.host_results()[i],
                              origins == nullptr ? nullptr : origins->copy(i), report));
  }
  return report;
}

Result<std::vector<format::BlobId>> snapshot(const Instance& instance) {
  std::vector<format::BlobId> hashes(instance.program().allocations().size());
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (!instance.memory().exists(id)) continue;
    if (instance.program().allocations()[i].begin->object) continue;
    bytes.resize(instance.memory().size(id));
    GFXGRAPH_TRY(instance.memory().read(id, 0, bytes));
    hashes[i] = format::hash_bytes(bytes);
  }
  return hashes;
}

}  // namespace gfxgraph::replayer
