#include "check/shard/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/amount.h"
#include "base/cli/print.h"

namespace gfxgraph::check {
namespace {

// How two parts show that they are not of one run; "": they may be.
std::string difference(const Part& a, const Part& b) {
  if (a.shard.of != b.shard.of)
    return fmt::format("{} and {}", counted(a.shard.of, "shard"), counted(b.shard.of, "shard"));
  if (a.names.size() != b.names.size())
    return fmt::format("{} and {}", counted(a.names.size(), "trace"),
                       counted(b.names.size(), "trace"));
  for (size_t n = 0; n < a.names.size(); ++n)
    if (a.names[n] != b.names[n])
      return format_printable("trace {} is {} and {}", n + 1, a.names[n], b.names[n]);
  for (size_t n = 0; n < std::min(a.options.size(), b.options.size()); ++n)
    if (a.options[n].value != b.options[n].value)
      return format_printable("{} is '{}' and '{}'", a.options[n].name, a.options[n].value,
                              b.options[n].value);
  if (a.options.size() != b.options.size() || a.suppressions != b.suppressions)
    return "other options";
  return "";
}

// "3,5-7", as Slurm's --array takes it.
std::string numbers_text(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t n = 0; n < numbers.size();) {
    size_t last = n;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text +=
        last == n ? fmt::format("{}", numbers[n]) : fmt::format("{}-{}", numbers[n], numbers[last]);
    n = last + 1;
  }
  return text;
}

// Which shards `parts` lack.
std::optional<Error> missing(const Part& run, const std::map<uint32_t, PartFile>& parts) {
  std::vector<uint32_t> numbers;
  uint64_t traces = 0;
  for (uint32_t number = 1; number <= run.shard.of; ++number) {
    if (parts.contains(number)) continue;
    numbers.push_back(number);
    const Shard shard = {number, run.shard.of};
    for (size_t place = number - 1; place < run.names.size(); place += run.shard.of)
      if (shard.has(place)) ++traces;
  }
  if (numbers.empty()) return std::nullopt;
  const bool one = numbers.size() == 1;
  return Error{Status::kIncomplete,
               fmt::format("shard{} {} of {} {} missing, with {} of {}; run {} again: gfxgraph "
                           "check --shard {}/{}{}",
                           one ? "" : "s", numbers_text(numbers), run.shard.of, one ? "is" : "are",
                           traces, counted(run.names.size(), "trace"), one ? "it" : "them",
                           numbers.front(), run.shard.of, one ? "" : " and so on")};
}

}  // namespace

MergedParts merge(std::vector<PartFile> files) {
  MergedParts merged;
  // So that the messages, too, do not depend on the order.
  std::ranges::stable_sort(files, {}, &PartFile::path);
  std::map<uint32_t, PartFile> parts;
  const PartFile* first = nullptr;
  bool mixed = false;
  for (PartFile& file : files) {
    if (!file.part) {
      Error error = file.part.error();
      error.message = file.path + ": " + error.message;
      merged.problems.push_back(std::move(error));
      continue;
    }
    const uint32_t number = file.part->shard.number;
    if (first != nullptr) {
      if (const std::string what = difference(*first->part, *file.part); !what.empty()) {
        mixed = true;
        merged.problems.push_back(
            {Status::kInvalidArgument, fmt::format("{} and {} are parts of different runs: {}",
                                                   first->path, file.path, what)});
        continue;
      }
    }
    const auto [at, added] = parts.try_emplace(number, std::move(file));
    if (first == nullptr) first = &at->second;
    if (added) continue;
    // Only if it was not added, `file` is as it was.
    if (encode(*at->second.part) == encode(*file.part)) {
      merged.repeated.push_back(fmt::format("{}: the same as {}", file.path, at->second.path));
      continue;
    }
    merged.problems.push_back(
        {Status::kIncomplete,
         fmt::format("{} and {} are both shard {} of {}, with different reports: remove one, or "
                     "both and run it again",
                     at->second.path, file.path, number, file.part->shard.of)});
  }
  if (first == nullptr) return merged;
  if (!mixed) {
    if (std::optional<Error> lost = missing(*first->part, parts))
      merged.problems.push_back(*std::move(lost));
  }
  if (!merged.problems.empty()) return merged;
  merged.run = *first->part;
  merged.run.traces.clear();
  merged.run.used.assign(merged.run.suppressions.size(), false);
  for (auto& [number, file] : parts) {
    for (size_t n = 0; n < file.part->used.size(); ++n)
      if (file.part->used[n]) merged.run.used[n] = true;
    for (PartTrace& one : file.part->traces) merged.run.traces.push_back(std::move(one));
  }
  std::ranges::sort(merged.run.traces, {}, &PartTrace::place);
  return merged;
}

}  // namespace gfxgraph::check
