#include "recorder/queue/findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfxgraph::recorder {
namespace {

constexpr size_t kMostFindings = 1000;  // distinct ones; one is enough to call a trace incomplete
constexpr size_t kMostAmbiguousLines = 100;
constexpr size_t kMostNearNotes = 20;

}  // namespace

Result<void> Findings::add(HeldFinding found) {
  if (held_ == nullptr) return count({std::move(found)});
  held_->push_back(std::move(found));
  return {};
}

Result<void> Findings::add_now(format::FindingKind kind, std::string_view call,
                               std::string_view detail) {
  for (Count& known : counts_) {
    if (known.kind == kind && known.call == call && known.detail == detail) {
      ++known.count;
      return {};
    }
  }
  if (counts_.size() >= kMostFindings) return {};
  counts_.push_back({kind, std::string(call), std::string(detail), 1});
  // Written immediately, so that the trace contains it even if the program crashes.
  if (writer_ == nullptr) return {};
  Result<void> added =
      writer_->add(format::Finding{kind, std::string(call), 1, std::string(detail)});
  if (added) counts_.back().count = 0;
  return added;
}

Result<void> Findings::count(const HeldFindings& held) {
  for (const HeldFinding& one : held) {
    if (one.found_before != nullptr) {
      if (*one.found_before) continue;
      *one.found_before = true;
    }
    if (Result<void> added = add_now(one.kind, one.call, one.detail); !added) return added;
  }
  return {};
}

Result<void> Findings::write_counts() {
  for (const Count& found : counts_) {
    if (found.count == 0) continue;
    Result<void> added =
        writer_->add(format::Finding{found.kind, found.call, found.count, found.detail});
    if (!added) return added;
  }
  return {};
}

bool Findings::has(std::string_view call) const {
  return std::ranges::any_of(counts_, [&](const Count& one) { return one.call == call; });
}

bool Findings::has(std::string_view call, std::string_view detail) const {
  return std::ranges::any_of(
      counts_, [&](const Count& one) { return one.call == call && one.detail == detail; });
}

void Findings::ambiguous(const std::string& kernel, std::string argument) {
  auto known = std::ranges::find(ambiguous_kernels_, kernel, &AmbiguousKernel::name);
  if (known == ambiguous_kernels_.end()) {
    if (ambiguous_kernels_.size() >= kMostAmbiguousLines) return;
    known = ambiguous_kernels_.insert(known, AmbiguousKernel{kernel, {}});
  }
  if (std::ranges::find(known->arguments, argument) == known->arguments.end())
    known->arguments.push_back(std::move(argument));
}

void Findings::near(const format::Content& content, const std::optional<pointers::NearWord>& word) {
  if (word && near_words_.size() < kMostNearNotes) near_words_.emplace(content.hash, *word);
}

Result<void> Findings::look_at(std::string_view what, format::AllocationId id,
                               const format::Content& content) {
  const auto near = near_words_.empty() ? near_words_.end() : near_words_.find(content.hash);
  if (near != near_words_.end() && near_memory_.insert(id).second) {
    const auto [offset_bytes, value] = near->second;
    Result<void> added = add(
        {format::FindingKind::kNote, "memory",
         fmt::format("{} buffer #{} holds {:#x} at byte {}, which is near a buffer but in none: a "
                     "pointer outside its buffer, or a number; a replay keeps it as recorded",
                     what, id, value, offset_bytes)});
    if (!added) return added;
  }
  const auto first =
      std::ranges::find_if(content.relocations, [](const auto& word) { return word.ambiguous; });
  if (first == content.relocations.end() || !ambiguous_memory_.emplace(what, id).second) return {};
  if (ambiguous_.size() < kMostAmbiguousLines) {
    ambiguous_.push_back(
        fmt::format("{} buffer #{}, the first word at byte {}", what, id, first->offset_bytes));
  }
  return {};
}

Result<void> Findings::look_at(const format::Action& action) {
  if (const auto* begin = std::get_if<format::AllocationBegin>(&action))
    return look_at("initial content of", begin->id, begin->initial);
  if (const auto* write = std::get_if<format::HostWrite>(&action))
    return look_at("host write to", write->allocation, write->content);
  if (const auto* copy = std::get_if<format::Copy>(&action))
    return look_at("copy to", copy->destination.allocation, copy->host_source);
  return {};
}

std::vector<Findings::Count> Findings::take() {
  ambiguous_kernels_.clear();
  ambiguous_.clear();
  ambiguous_memory_.clear();
  near_words_.clear();
  near_memory_.clear();
  return std::exchange(counts_, {});
}

void Findings::add_to(Report& report) const {
  report.ambiguous_kernels = ambiguous_kernels_;
  report.ambiguous = ambiguous_;
  for (const Count& found : counts_) {
    const std::string text =
        found.detail.empty() ? found.call : fmt::format("{}: {}", found.call, found.detail);
    const std::string line =
        fmt::format("{} ({} time{})", text, found.count + 1, found.count == 0 ? "" : "s");
    const bool incomplete = found.kind == format::FindingKind::kIncomplete;
    (incomplete ? report.incomplete : report.notes).push_back(line);
  }
}

}  // namespace gfxgraph::recorder
