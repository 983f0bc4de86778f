// gfxgraph recover: makes a sealed trace of what is readable in a torn one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "format/recover.h"
#include "tools/cli.h"
#include "tools/commands.h"

namespace gfxgraph::tools {

int recover_command(int argc, char** argv) {
  CLI::App app(
      "Copies every whole record of a damaged trace into a new, sealed one. Exit code 0: nothing "
      "was\n"
      "lost; 3: the new trace lacks what the damage took, and says so.\n\n"
      "Example: gfxgraph recover app.gfxg.partial -o app.gfxg",
      "gfxgraph recover");
  std::string input, output;
  app.add_option("TRACE", input, "damaged trace")->required();
  app.add_option("-o,--output", output, "new trace")->required();
  if (const int code = parse(app, argc, argv); code >= 0) return code;

  const Result<format::RecoverReport> recovered = format::recover(input, output);
  if (!recovered) return report(recovered.error());
  fmt::print("{}: {} records, {} events, {} launches\n", output, recovered->kept_records,
             recovered->statistics.events, recovered->statistics.launches);
  if (recovered->intact) return kExitOk;
  fmt::print(stderr, "gfxgraph: {}: {} of {} lost: {}\n", input,
             format_bytes(recovered->lost_bytes),
             format_bytes(recovered->kept_bytes + recovered->lost_bytes), recovered->reason);
  return kExitDataLost;
}

}  // namespace gfxgraph::tools
