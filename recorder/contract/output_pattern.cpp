#include "recorder/contract/output_pattern.h"

#include <fmt/format.h>
#include <limits.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace gfxgraph::recorder {
namespace {

// The first variable with a number wins. SLURM_PROCID is last: in a batch script, which may call
// mpirun, it is 0 for every process.
constexpr const char* kRankVariables[] = {
    "OMPI_COMM_WORLD_RANK",  // Open MPI
    "PMIX_RANK",             // launchers with PMIx
    "PMI_RANK",              // MPICH, Intel MPI
    "MV2_COMM_WORLD_RANK",   // MVAPICH2
    "SLURM_PROCID",          // srun
};

bool separates(char c) { return c == '-' || c == '_' || c == '.'; }

}  // namespace

std::optional<uint64_t> rank_from_environment() {
  for (const char* name : kRankVariables) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text(value);
    uint64_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error == std::errc() && end == text.data() + text.size()) return rank;
  }
  return std::nullopt;
}

Result<OutputPattern> OutputPattern::parse(std::string_view file_name) {
  OutputPattern pattern;
  std::string text;
  const auto placeholder = [&](Kind kind) {
    if (!text.empty()) pattern.parts_.push_back({Kind::kText, std::exchange(text, {})});
    pattern.parts_.push_back({kind, {}});
  };
  for (size_t i = 0; i < file_name.size(); ++i) {
    if (file_name[i] != '%') {
      text += file_name[i];
      continue;
    }
    const std::string_view letter = file_name.substr(std::min(++i, file_name.size()), 1);
    if (letter == "p") {
      placeholder(Kind::kPid);
    } else if (letter == "r") {
      placeholder(Kind::kRank);
    } else if (letter == "%") {
      text += '%';
    } else {
      return fail(Status::kInvalidArgument,
                  fmt::format("'%{}' in the name {}: expected %p (process id), %r (rank) or %% (a "
                              "percent sign)",
                              letter, file_name));
    }
  }
  if (!text.empty()) pattern.parts_.push_back({Kind::kText, text});
  return pattern;
}

Result<OutputPattern> OutputPattern::parse_path(std::string_view path) {
  const size_t name = path.rfind('/') + 1;
  for (const std::string_view placeholder : {"%p", "%r"}) {
    if (path.substr(0, name).find(placeholder) == std::string_view::npos) continue;
    return fail(Status::kInvalidArgument,
                fmt::format("{} is in a folder name of {}: only the file name may contain it",
                            placeholder, path));
  }
  return parse(path.substr(name));
}

Result<void> OutputPattern::check_length() const {
  const std::string longest = file_name({9'999'999, 9'999'999}, 1'000) + ".partial.old";
  if (longest.size() <= NAME_MAX) return {};
  return fail(
      Status::kInvalidArgument,
      fmt::format("the name of a trace may grow to {} characters, for example {}: the limit is {}",
                  longest.size(), longest, NAME_MAX));
}

bool OutputPattern::has(Kind kind) const {
  return std::ranges::any_of(parts_, [kind](const Part& part) { return part.kind == kind; });
}

bool OutputPattern::per_process() const { return has(Kind::kPid) || has(Kind::kRank); }

std::string OutputPattern::file_name(const ProcessIdentity& process, unsigned image) const {
  std::string name;
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Kind::kText: name += part.text; break;
      case Kind::kPid: name += std::to_string(process.pid); break;
      case Kind::kRank: name += std::to_string(process.rank.value_or(0)); break;
    }
  }
  if (image == 1) return name;
  const std::string number = "." + std::to_string(image);
  const size_t at = name.ends_with(kExtension) ? name.size() - kExtension.size() : name.size();
  return name.insert(at, number);
}

std::string OutputPattern::key(const ProcessIdentity& process, unsigned image) const {
  std::string key;
  if (has(Kind::kPid)) key += fmt::format(".p{}", process.pid);
  if (has(Kind::kRank)) key += fmt::format(".r{}", process.rank.value_or(0));
  return key + "." + std::to_string(image);
}

std::string OutputPattern::manifest(const std::optional<uint64_t>& rank) const {
  std::string name;
  bool dropped = false;  // right before: a placeholder without a separator in front of it
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.kind == Kind::kRank && rank) {
      name += std::to_string(*rank);
      dropped = false;
    } else if (part.kind != Kind::kText) {
      dropped = name.empty() || !separates(name.back());
      if (!dropped) name.pop_back();
    } else {
      std::string_view text = part.text;
      if (i + 1 == parts_.size() && text.ends_with(kExtension))
        text.remove_suffix(kExtension.size());
      if (dropped && name.empty() && !text.empty() && separates(text.front()))
        text.remove_prefix(1);
      name += text;
      dropped = false;
    }
  }
  if (name.empty()) name = "trace";
  if (rank && !has(Kind::kRank)) name += fmt::format(".rank{}", *rank);
  return name + ".manifest.json";
}

}  // namespace gfxgraph::recorder
