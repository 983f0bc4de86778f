// The layout of --help. CLI11 itself is not part of this folder: Formatter is CLI::Formatter,
// Option is CLI::Option, App is CLI::App, Mode is CLI::AppFormatMode.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gfxgraph {

inline constexpr size_t kHelpColumns = 100;

// kHelpColumns, or fewer if the environment variable COLUMNS says so.
size_t help_columns();
// Breaks lines of more than `columns` columns between words; what follows a break is indented. A
// longer word keeps its line.
std::string wrap_lines(std::string_view text, size_t columns, size_t indent = 0);
// A row of a list: the name, and from the column `indent` on its text, whose own breaks vanish.
std::string help_row(std::string_view name, std::string_view text, size_t indent, size_t columns);

// The same text from each version of CLI11, whose own layouts differ: manual pages and shell
// completion are made from it. Programs here have no subcommands of CLI11, and one list of options.
template <typename Formatter, typename Option, typename App, typename Mode>
class HelpFormatter : public Formatter {
 public:
  std::string make_help(const App* app, std::string name, Mode) const override {
    const auto listed = [app](bool positional) {
      return app->get_options([positional](const Option* option) {
        return !option->get_group().empty() && option->get_positional() == positional;
      });
    };
    const auto positionals = listed(true), options = listed(false);
    std::string text = app->get_description() + "\nUsage: " + name;
    if (!options.empty()) text += " [OPTIONS]";
    for (const Option* const one : positionals) text += " " + this->make_option_usage(one);
    text += "\n";
    if (!positionals.empty()) text += this->make_group("Positionals", true, positionals);
    if (!options.empty()) text += this->make_group("Options", false, options);
    text += "\n";
    return app->get_footer().empty() ? text : text + app->get_footer() + "\n";
  }

  std::string make_option(const Option* option, bool is_positional) const override {
    return help_row(
        "  " + this->make_option_name(option, is_positional) + this->make_option_opts(option),
        this->make_option_desc(option), this->column_width_, help_columns());
  }

  std::string make_option_opts(const Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0) {
      if (!option->get_type_name().empty()) text += " " + option->get_type_name();
      if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
      if (option->get_expected_max() > 1) text += " ...";
      if (option->get_required()) text += " REQUIRED";
    }
    const auto list = [&text](const char* title, const auto& others) {
      if (others.empty()) return;
      text += title;
      for (const Option* const other : others) text += " " + other->get_name();
    };
    list(" Needs:", option->get_needs());
    list(" Excludes:", option->get_excludes());
    return text;
  }
};

// Lets --help show the values of options that are not given, unless a description does.
template <typename App>
void show_defaults(App& app) {
  for (auto* const option : app.get_options()) {
    const bool has_value = option->get_items_expected_max() > 0;
    const bool told = option->get_description().find("default") != std::string::npos;
    if (!has_value || told || option->get_required() || option->get_positional()) continue;
    option->capture_default_str();
    // An empty list, as CLI11 2.1 and 2.6 write it.
    const std::string shown = option->get_default_str();
    if (shown == "[]" || shown == "{}") option->default_str("");
  }
}

// app.help() for people.
template <typename App>
std::string help_text(const App& app) {
  return wrap_lines(app.help(), help_columns());
}

}  // namespace gfxgraph
