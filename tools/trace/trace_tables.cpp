#include "tools/trace/trace_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/cli/console.h"
#include "base/cli/print.h"
#include "base/cli/text_table.h"
#include "base/demangle.h"
#include "codeobj/code_object.h"
#include "format/names.h"
#include "format/site_name.h"
#include "format/walk.h"
#include "tools/trace/trace_buffers.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Column {
  const char* name;
  bool number = false;
  bool if_any = false;   // as text only where a row has it
  bool is_name = false;  // a name, which may be shortened on a terminal
};
using Row = std::vector<std::string>;  // numbers as JSON writes them; empty: not known
using Visit = std::function<void(const Row&)>;
// Rows are made anew whenever they are asked for: a million launches are not held as text.
struct Table {
  std::vector<Column> columns;
  std::function<void(const Visit&)> rows;
};

std::string text(uint64_t number) { return fmt::format("{}", number); }

std::string shape(const std::array<uint32_t, 3>& sizes) {
  return fmt::format("{}x{}x{}", sizes[0], sizes[1], sizes[2]);
}

// As the program launched it: workgroups times work items, less what partial workgroups lack.
double work_items(const format::Launch& launch) {
  double items = 1;
  for (size_t i = 0; i < 3; ++i) {
    double in_dimension = static_cast<double>(launch.grid[i]) * launch.block[i];
    if (launch.grid_remainder[i] != 0)
      in_dimension -= static_cast<double>(launch.block[i]) - launch.grid_remainder[i];
    items *= in_dimension;
  }
  return items;
}

Result<std::shared_ptr<const codeobj::CodeObject>> parse_code(const format::Trace& trace,
                                                              const format::Kernel& kernel) {
  const format::CodeObject& stored = trace.code_objects()[kernel.code_object - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(stored.elf));
  return codeobj::CodeObject::parse(elf);
}

Table kernel_table(const format::Trace& trace, const std::vector<check::KernelTotals>* executed) {
  struct Use {
    uint64_t launches = 0, in_graphs = 0;
    double items = 0;
    uint32_t dynamic_lds = 0;
    std::string shape;  // of all launches; "" before the first
    bool one_shape = true;
  };
  auto uses = std::make_shared<std::vector<Use>>(trace.kernels().size());
  double all_items = 0;
  format::for_each_launch(trace, [&](const format::PlacedLaunch& one) {
    Use& use = (*uses)[one.launch->kernel - 1];
    ++(one.graph == 0 ? use.launches : use.in_graphs);
    use.items += work_items(*one.launch);
    all_items += work_items(*one.launch);
    use.dynamic_lds = std::max(use.dynamic_lds, one.launch->dynamic_lds_bytes);
    const std::string now = shape(one.launch->grid) + " x " + shape(one.launch->block);
    if (use.shape.empty()) use.shape = now;
    use.one_shape = use.one_shape && use.shape == now;
  });
  struct Code {
    std::shared_ptr<const codeobj::CodeObject> object;  // null: see `problem`
    std::string problem;
  };
  std::map<format::CodeObjectId, Code> objects;
  double all_instructions = 0;
  if (executed != nullptr)
    for (const check::KernelTotals& one : *executed)
      all_instructions += static_cast<double>(one.wave_instructions);
  auto rows = std::make_shared<std::vector<std::pair<double, Row>>>();
  for (const format::Kernel& kernel : trace.kernels()) {
    const Use& use = (*uses)[kernel.id - 1];
    if (use.launches + use.in_graphs == 0) continue;
    const auto [at, added] = objects.try_emplace(kernel.code_object);
    Code& object = at->second;
    if (added) {
      Result<std::shared_ptr<const codeobj::CodeObject>> parsed = parse_code(trace, kernel);
      if (parsed) object.object = *std::move(parsed);
      if (!parsed) object.problem = parsed.error().message;
    }
    const codeobj::Kernel* const code =
        object.object == nullptr ? nullptr : object.object->find_kernel(kernel.name);
    std::string problem = object.problem;
    if (code == nullptr) {
      problem = fmt::format("code object {}: {}", kernel.code_object,
                            problem.empty() ? "it has no such kernel" : problem);
    }
    double order = use.items;
    std::string instructions, share;  // empty: not all of its launches could be executed
    if (executed != nullptr) {
      const check::KernelTotals& totals = (*executed)[kernel.id - 1];
      order = static_cast<double>(totals.wave_instructions);
      if (totals.ended == use.launches + use.in_graphs) {
        instructions = text(totals.wave_instructions);
        share = fmt::format("{:.4f}", all_instructions == 0 ? 0 : order / all_instructions);
      }
    }
    rows->push_back(
        {order,
         {demangle(kernel.name), text(use.launches), text(use.in_graphs),
          fmt::format("{:.0f}", use.items),
          fmt::format("{:.4f}", all_items == 0 ? 0 : use.items / all_items),
          use.one_shape ? use.shape : "several", code == nullptr ? "" : text(code->vgpr_count),
          code == nullptr ? "" : text(code->sgpr_count), text(kernel.group_segment_bytes),
          text(use.dynamic_lds), text(kernel.private_segment_bytes),
          text(kernel.kernarg_size_bytes), problem, instructions, share}});
  }
  std::ranges::stable_sort(*rows, std::ranges::greater(), &std::pair<double, Row>::first);
  Table table{{{.name = "kernel", .is_name = true},
               {"launches", true},
               {"launches_in_graphs", true},
               {"work_items", true},
               {"work_item_share", true},
               {"grid_and_block"},
               {"vgprs", true},
               {"sgprs", true},
               {"lds_bytes", true},
               {"dynamic_lds_bytes", true},
               {"scratch_bytes", true},
               {"kernarg_bytes", true},
               {.name = "problem", .if_any = true, .is_name = true}},
              [rows](const Visit& visit) {
                for (const auto& [items, row] : *rows) visit(row);
              }};
  if (executed != nullptr) {
    table.columns.push_back({"wave_instructions", true});
    table.columns.push_back({"wave_instruction_share", true});
  } else {
    for (auto& [items, row] : *rows) row.resize(table.columns.size());
  }
  return table;
}

Table launch_table(const format::Trace& trace) {
  return {{{"launch", true},
           {"event", true},
           {"time_us", true},
           {"thread", true},
           {"stream", true},
           {"graph", true},
           {"grid"},
           {"block"},
           {"dynamic_lds_bytes", true},
           {.name = "kernel", .is_name = true},
           {.name = "called_from", .is_name = true}},
          [&trace](const Visit& visit) {
            std::vector<std::string> names(trace.kernels().size());
            uint64_t number = 0;
            format::for_each_launch(trace, [&](const format::PlacedLaunch& one) {
              std::string& name = names[one.launch->kernel - 1];
              if (name.empty()) name = demangle(trace.kernels()[one.launch->kernel - 1].name);
              const format::SiteId site = one.event->site;
              visit({text(number++), text(one.event->sequence),
                     fmt::format("{:.3f}", static_cast<double>(one.event->time_ns) / 1000),
                     text(one.event->thread), text(one.stream), text(one.graph),
                     shape(one.launch->grid), shape(one.launch->block),
                     text(one.launch->dynamic_lds_bytes), name,
                     site == 0 ? "" : format::site_name(trace.sites()[site - 1])});
            });
          }};
}

Table buffer_table(const format::Trace& trace) {
  auto buffers = std::make_shared<std::vector<BufferSummary>>(summarize_buffers(trace));
  return {{{"buffer", true},
           {.name = "name", .is_name = true},
           {"name_from"},
           {"kind"},
           {"size_bytes", true},
           {"address"},
           {"first_event", true},
           {"end_event", true},
           {"launches", true},
           {.name = "first_argument", .is_name = true}},
          [buffers](const Visit& visit) {
            for (const BufferSummary& buffer : *buffers) {
              visit({text(buffer.begin->id), buffer.name, name_source_name(buffer.name_source),
                     name_of(buffer.begin->kind).key, text(buffer.begin->size_bytes),
                     fmt::format("{:#x}", buffer.begin->recorded_address), text(buffer.first_event),
                     text(buffer.end_event), text(buffer.launches), buffer.used_by});
            }
          }};
}

// ---- as text ------------------------------------------------------------------------------------

// Replaces characters that end a line or move the cursor; names come from the recorded program.
std::string in_one_line(std::string_view cell) {
  std::string line(cell);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

std::vector<bool> shown_columns(const Table& table) {
  std::vector<bool> shown;
  for (const Column& column : table.columns) shown.push_back(!column.if_any);
  table.rows([&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) shown[i] = shown[i] || !row[i].empty();
  });
  return shown;
}

void print_aligned(const Table& table) {
  const std::vector<bool> shown = shown_columns(table);
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < shown.size(); ++i) {
    const Column& column = table.columns[i];
    if (shown[i])
      columns.push_back({.name = column.name, .right = column.number, .shorten = column.is_name});
  }
  const auto visit_text = [&](const Visit& visit) {
    table.rows([&](const Row& row) {
      Row cells;
      for (size_t i = 0; i < row.size(); ++i)
        if (shown[i]) cells.push_back(printable(in_one_line(row[i])));
      visit(cells);
    });
  };
  const TextTable text(std::move(columns), visit_text, terminal_columns(stdout));
  write_text(stdout, console::styled(stdout, console::Style::kHeading, text.heading()) + "\n");
  visit_text([&](const Row& cells) { write_text(stdout, text.line(cells) + "\n"); });
}

// RFC 4180.
std::string csv_cell(const std::string& text) {
  const std::string cell = printable(text);
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void print_csv(const Table& table) {
  const auto line = [](const Row& row) {
    std::string whole;
    for (size_t i = 0; i < row.size(); ++i) whole += (i == 0 ? "" : ",") + csv_cell(row[i]);
    write_text(stdout, whole + "\r\n");
  };
  Row names;
  for (const Column& column : table.columns) names.emplace_back(column.name);
  line(names);
  table.rows(line);
}

void print_json(const Table& table) {
  bool first = true;
  write_text(stdout, "[");
  table.rows([&](const Row& row) {
    std::string object = std::exchange(first, false) ? "\n  {" : ",\n  {";
    for (size_t i = 0; i < row.size(); ++i) {
      object += fmt::format("{}\"{}\": ", i == 0 ? "" : ", ", table.columns[i].name);
      object += table.columns[i].number
                    ? (row[i].empty() ? "null" : row[i])
                    : Json(row[i]).dump(-1, ' ', true, Json::error_handler_t::replace);
    }
    write_text(stdout, object + "}");
  });
  write_text(stdout, first ? "]\n" : "\n]\n");
}

Table make_table(const format::Trace& trace, TableKind kind,
                 const std::vector<check::KernelTotals>* executed = nullptr) {
  switch (kind) {
    case TableKind::kKernels: return kernel_table(trace, executed);
    case TableKind::kLaunches: return launch_table(trace);
    case TableKind::kBuffers: break;
  }
  return buffer_table(trace);
}

}  // namespace

Json trace_table_json(const format::Trace& trace, TableKind kind, size_t most_rows) {
  const Table table = make_table(trace, kind);
  const std::vector<bool> shown = shown_columns(table);
  Json columns = Json::array(), rows = Json::array();
  for (size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) continue;
    columns.push_back({{"name", table.columns[i].name}, {"number", table.columns[i].number}});
  }
  const auto json = [&](const std::string& cell, bool number) {
    if (!number) return Json(cell);
    return cell.empty() ? Json() : Json::parse(cell);
  };
  table.rows([&](const Row& row) {
    if (rows.size() == most_rows) return;
    Json cells = Json::array();
    for (size_t i = 0; i < row.size(); ++i)
      if (shown[i]) cells.push_back(json(row[i], table.columns[i].number));
    rows.push_back(std::move(cells));
  });
  return Json{{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

void print_trace_table(const format::Trace& trace, TableKind kind, TableFormat format,
                       const std::vector<check::KernelTotals>* executed) {
  const Table table = make_table(trace, kind, executed);
  switch (format) {
    case TableFormat::kTable: print_aligned(table); break;
    case TableFormat::kJson: print_json(table); break;
    case TableFormat::kCsv: print_csv(table); break;
  }
}

}  // namespace gfxgraph::tools
