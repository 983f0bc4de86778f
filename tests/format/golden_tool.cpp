// format_golden --update-golden: rewrites tests/golden/. Nothing else ever does. A released file is
// never rewritten: it shows that old traces stay readable.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

Result<void> write_text(const std::filesystem::path& path, const std::string& text) {
  return write_file_atomic(path, to_bytes(text));
}

Result<void> update() {
  const std::filesystem::path folder = golden_folder();
  std::filesystem::create_directories(folder / "bad");
  for (const GoldenCase& golden : golden_cases()) {
    GFXGRAPH_TRY(write_file_atomic(folder / (golden.name + ".gfxg"), golden.bytes));
    GFXGRAPH_ASSIGN_OR_RETURN(const auto trace,
                              Trace::from_bytes(golden.bytes, {.allow_torn = golden.torn}));
    GFXGRAPH_TRY(write_text(folder / (golden.name + ".json"), dump_json(*trace)));
  }
  for (const GoldenCase& bad : bad_cases()) {
    const std::string error = first_error(bad.bytes);
    if (error.empty()) return fail(Status::kInternal, bad.name + " is readable");
    GFXGRAPH_TRY(write_file_atomic(folder / "bad" / (bad.name + ".gfxg"), bad.bytes));
    GFXGRAPH_TRY(write_text(folder / "bad" / (bad.name + ".txt"), error + "\n"));
  }
  return {};
}

}  // namespace
}  // namespace gfxgraph::format

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--update-golden") != 0) {
    std::fputs("usage: format_golden --update-golden\n", stderr);
    return 2;
  }
  const gfxgraph::Result<void> done = gfxgraph::format::update();
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
