// The options of all of gfxgraph's programs and commands. CLI11 itself is not part of this folder:
// App is CLI::App.
#pragma once

#include <string>

#include "base/console.h"
#include "base/help_text.h"

namespace gfxgraph {

// Adds --quiet, --verbose, --color and --version. `quiet`: what --quiet leaves out. `version`: of
// this program.
template <typename App>
void add_common_options(App& app, const std::string& quiet, const std::string& version) {
  console::Options& options = console::options();
  auto* const flag = app.add_flag("--quiet", options.quiet, quiet);
  app.add_flag("--verbose", options.verbose, "print steps with times, files and counts on stderr")
      ->excludes(flag);
  app.add_option("--color", options.color,
                 "colour in headings, findings and errors: auto (on terminals, without the "
                 "environment variable NO_COLOR)")
      ->check(
          [](const std::string& word) {
            const bool known = word == "auto" || word == "always" || word == "never";
            return known ? std::string() : word + " not in {auto,always,never}";
          },
          "{auto,always,never}")
      ->capture_default_str();
  app.set_version_flag("--version", std::string(options.program) + " " + version,
                       "print the version of gfxgraph");
  show_defaults(app);
}

}  // namespace gfxgraph
