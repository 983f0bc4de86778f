// gfxgraph verify: reads everything in a trace and says whether it is whole.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/reader.h"
#include "format/writer.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/trace_walk.h"

namespace gfxgraph::tools {
namespace {

// Opening checked every record's hash and meaning; what remains is that compressed bytes expand, and
// expand to what they are named after.
std::optional<Error> verify_contents(const format::Trace& trace, uint64_t& verified_bytes) {
  std::optional<Error> first;
  const auto latch = [&](const Error& error, const std::string& what) {
    if (!first) first = with_context(error, what).value();
  };
  for (const format::CodeObject& object : trace.code_objects()) {
    const Result<std::span<const std::byte>> bytes = trace.blob(object.elf);
    if (!bytes) {
      latch(bytes.error(), fmt::format("code object {}", object.id));
    } else {
      verified_bytes += bytes->size();
    }
  }
  for_each_content(trace, [&](const format::Content& content, const std::string& what) {
    if (!content.stored) return;
    const Result<std::vector<std::byte>> bytes = trace.content(content);
    if (!bytes) {
      latch(bytes.error(), what);
    } else if (content.hash && format::hash_bytes(*bytes) != content.hash) {
      latch({Status::kCorrupt, "the bytes do not have the recorded hash"}, what);
    } else {
      verified_bytes += bytes->size();
    }
  });
  return first;
}

}  // namespace

int verify_command(int argc, char** argv) {
  CLI::App app(
      "Reads every byte of a trace and checks its hashes. Exit code 3: damaged, torn or incomplete.\n\n"
      "Example: gfxgraph verify app.gfxg",
      "gfxgraph verify");
  std::string path;
  app.add_option("TRACE", path, "trace file")->required();
  if (const int code = parse(app, argc, argv); code >= 0) return code;

  const Result<std::shared_ptr<const format::Trace>> opened = format::Trace::open(path);
  if (!opened) return report(opened.error());
  const format::Trace& trace = **opened;
  uint64_t verified_bytes = 0;
  if (const std::optional<Error> error = verify_contents(trace, verified_bytes)) {
    return report({error->status, fmt::format("{}: {}", path, error->message)});
  }
  fmt::print("{}: {} events, {} kernels, {} of contents: intact\n", path, trace.events().size(),
             trace.kernels().size(), format_bytes(verified_bytes));
  if (trace.complete()) return kExitOk;
  for (const format::Finding& finding : trace.findings()) {
    if (finding.kind != format::FindingKind::kIncomplete) continue;
    fmt::print(stderr, "gfxgraph: incomplete: {} x {} was not recorded\n", finding.count,
               finding.call);
  }
  return kExitDataLost;
}

}  // namespace gfxgraph::tools
