// The options of all of gfxgraph's programs and commands. CLI11 itself is not part of this folder:
// App is CLI::App.
#pragma once

#include <string>

#include "base/cli/console.h"
#include "base/cli/help_text.h"

namespace gfxgraph {

// CLI11 reads "-5" as 2^64 - 5 where an option takes an unsigned number.
template <typename App>
void refuse_negative_numbers(App& app) {
  for (auto* const option : app.get_options()) {
    if (option->get_type_name().find("UINT") == std::string::npos) continue;
    option->check([](const std::string& word) {
      return word.starts_with('-') ? "'" + word + "' is not a number from 0 on" : std::string();
    });
  }
}

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
  refuse_negative_numbers(app);
}

}  // namespace gfxgraph
