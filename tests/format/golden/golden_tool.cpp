// format_golden --update-golden: rewrites tests/golden/. Nothing else ever does. A released file is
// never rewritten: it shows that old traces stay readable.
// format_golden --bad FOLDER: writes the damaged traces there, for readers that are other programs.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "golden/golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

Result<void> write_text(const std::filesystem::path& path, const std::string& text) {
  return write_file_atomic(path, to_bytes(text));
}

Result<void> update() {
  const std::filesystem::path folder = golden_folder();
  for (const GoldenCase& golden : golden_cases()) {
    GFXGRAPH_TRY(write_file_atomic(folder / (golden.name + ".gfxg"), golden.bytes));
    GFXGRAPH_ASSIGN_OR_RETURN(const auto trace,
                              Trace::from_bytes(golden.bytes, {.allow_torn = golden.torn}));
    GFXGRAPH_TRY(write_text(folder / (golden.name + ".json"), dump_json(*trace)));
  }
  return write_text(folder / "bad.txt", bad_messages());
}

Result<void> write_bad(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const GoldenCase& bad : bad_cases())
    GFXGRAPH_TRY(write_file_atomic(folder / (bad.name + ".gfxg"), bad.bytes));
  return {};
}

}  // namespace
}  // namespace gfxgraph::format

int main(int argc, char** argv) {
  const std::string_view option = argc < 2 ? "" : argv[1];
  gfxgraph::Result<void> done;
  if (argc == 2 && option == "--update-golden") {
    done = gfxgraph::format::update();
  } else if (argc == 3 && option == "--bad") {
    done = gfxgraph::format::write_bad(argv[2]);
  } else {
    std::fputs("usage: format_golden --update-golden | --bad FOLDER\n", stderr);
    return 2;
  }
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
