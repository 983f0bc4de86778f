// The layout of --help. CLI11 itself is not part of this folder: Formatter is CLI::Formatter,
// Option is CLI::Option, App is CLI::App.
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

template <typename Formatter, typename Option>
class HelpFormatter : public Formatter {
 public:
  std::string make_option(const Option* option, bool is_positional) const override {
    return help_row(
        "  " + this->make_option_name(option, is_positional) + this->make_option_opts(option),
        this->make_option_desc(option), this->column_width_, help_columns());
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
    if (option->get_default_str() == "[]") option->default_str("");
  }
}

// app.help() for people.
template <typename App>
std::string help_text(const App& app) {
  return wrap_lines(app.help(), help_columns());
}

}  // namespace gfxgraph
