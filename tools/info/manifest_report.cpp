#include "tools/info/manifest_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/cli/print.h"

namespace gfxgraph::tools {

using recorder::Manifest;
using recorder::ManifestEntry;

bool is_whole(const Manifest& manifest) {
  return std::ranges::all_of(manifest.traces, &ManifestEntry::complete);
}

void print_manifest(const std::string& path, const Manifest& manifest) {
  const auto command = [](const std::vector<std::string>& words) {
    return words.empty() ? "(redacted)" : fmt::format("{}", fmt::join(words, " "));
  };
  const auto or_dash = [](const auto& value) { return value ? std::to_string(*value) : "-"; };
  print("{}\n", path);
  print("  recorded by  gfxgraph {}\n", manifest.gfxgraph_version);
  print("  program      {}\n", command(manifest.program));
  print("  exit status  {}\n", manifest.exit_status);
  std::map<std::string, size_t> states;
  for (const ManifestEntry& entry : manifest.traces) ++states[word(entry.state)];
  std::string counts;
  for (const auto& [state, count] : states) counts += fmt::format(", {} {}", count, state);
  print("\ntraces: {}{}\n", manifest.traces.size(), counts);
  print("  {:>8} {:>8} {:>5} {:<9} {:>9} {:>6}  {}\n", "pid", "parent", "rank", "state", "launches",
        "status", "file, command line");
  for (const ManifestEntry& entry : manifest.traces) {
    print("  {:>8} {:>8} {:>5} {:<9} {:>9} {:>6}  {}  {}\n", entry.pid, entry.parent_pid,
          or_dash(entry.rank), word(entry.state), or_dash(entry.launches),
          or_dash(entry.exit_status), entry.file.empty() ? "-" : entry.file,
          command(entry.command_line));
    for (const std::string& file : entry.earlier) print("           before it: {}\n", file);
    if (!entry.error.empty()) print("           {}\n", entry.error);
    for (const std::string& line : entry.incomplete) print("           incomplete: {}\n", line);
    for (const std::string& line : entry.notes) print("           note: {}\n", line);
  }
}

}  // namespace gfxgraph::tools
