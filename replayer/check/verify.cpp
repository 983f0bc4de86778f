#include "replayer/check/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "format/container/container.h"
#include "replayer/check/stale_words.h"

namespace gfxgraph::replayer {
namespace {

const char* unknown_reason(const format::Content& content) {
  return content.stored || content.hash ? nullptr : "its state was not recorded";
}

std::string copy_unknown_reason(const format::Content& expected, uint64_t size_bytes) {
  if (unknown_reason(expected) != nullptr) return "the bytes that it received were not recorded";
  if (expected.size_bytes == size_bytes) return {};
  return fmt::format("only {} of the {} bytes that it received were recorded", expected.size_bytes,
                     size_bytes);
}

void count_left_out(const auto& result, VerifyReport& report) {
  if (result.comparison != Comparison::kIdentical || result.fresh.left_out == 0) return;
  report.unwritten_bytes += result.fresh.left_out;
  ++report.unwritten_places;
}

// Of the bytes that a copy received.
Result<std::vector<format::Relocation>> received_words(const Instance& instance,
                                                       const HostResult& result,
                                                       uint64_t sequence) {
  const format::Copy& copy = *instance.program().operations()[result.operation].copy;
  if (copy.source.allocation == 0 || copy.width_bytes == 0) return result.expected->relocations;
  const auto place = [&](uint64_t offset) -> std::optional<uint64_t> {
    if (offset % copy.width_bytes + sizeof(uint64_t) > copy.width_bytes) return std::nullopt;
    return source_offset(copy, offset);
  };
  return doubt_stale_words(*instance.session().program(), copy.source.allocation, sequence,
                           result.expected->relocations, place);
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
    const ReadBytes read = [&](uint64_t offset, std::span<std::byte> bytes) -> Result<void> {
      std::memcpy(bytes.data(), result.bytes + offset, bytes.size());
      return {};
    };
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::Relocation> words,
                              received_words(instance, result, copy.sequence));
    GFXGRAPH_ASSIGN_OR_RETURN(
        ContentComparison found,
        compare_content(instance, expected, words, copy.sequence, read, origins, where));
    if (found.comparison == Comparison::kDifferent && !found.by_hash) {
      // Only now: it takes a walk through the trace.
      GFXGRAPH_ASSIGN_OR_RETURN(
          const std::vector<RemainingWord> remaining,
          remaining_words(*instance.session().program(), instance.memory().addresses(),
                          *instance.program().operations()[result.operation].copy, copy.sequence));
      if (!remaining.empty()) {
        GFXGRAPH_ASSIGN_OR_RETURN(found, compare_content(instance, expected, words, copy.sequence,
                                                         read, origins, where, remaining));
      }
    }
    report.ambiguous_words_unmoved += found.ambiguous_words_unmoved;
    copy.comparison = found.comparison;
    copy.first_difference = found.first_difference;
    copy.fresh = found.fresh;
    copy.reason = std::move(found.reason);
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
                                    const Origins* origins) {
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
  const ReadBytes read = [&](uint64_t offset, std::span<std::byte> bytes) {
    return instance.memory().read(id, offset, bytes);
  };
  GFXGRAPH_ASSIGN_OR_RETURN(
      const std::vector<format::Relocation> words,
      doubt_stale_words(*instance.session().program(), id, sequence, expected.relocations,
                        [](uint64_t offset) { return std::optional(offset); }));
  ContentComparison& compared = result;
  GFXGRAPH_ASSIGN_OR_RETURN(
      compared, compare_content(instance, expected, words, sequence, read, origins, where));
  if (compared.comparison != Comparison::kDifferent || compared.by_hash) return result;
  // Only now: it takes a walk through the trace.
  GFXGRAPH_ASSIGN_OR_RETURN(
      const std::vector<RemainingWord> remaining,
      remaining_words(*instance.session().program(), instance.memory().addresses(), id, sequence));
  if (remaining.empty()) return result;
  GFXGRAPH_ASSIGN_OR_RETURN(compared, compare_content(instance, expected, words, sequence, read,
                                                      origins, where, remaining));
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
  report.doubtful = instance.host_writes().doubtful();
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
    report.ambiguous_words_unmoved += result.ambiguous_words_unmoved;
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
  std::vector<std::byte> piece;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (!instance.memory().exists(id)) continue;
    if (instance.program().allocations()[i].begin->object) continue;
    format::RunningBlobId hash;
    const uint64_t size = instance.memory().size(id);
    for (uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(std::min(kComparedAtOnceBytes, size - at));
      GFXGRAPH_TRY(instance.memory().read(id, at, piece));
      hash.add(piece);
    }
    hashes[i] = hash.value();
  }
  return hashes;
}

}  // namespace gfxgraph::replayer
