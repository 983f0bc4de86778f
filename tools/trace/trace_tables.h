// The kernels, launches and buffers of a trace as tables: for people, spreadsheets and programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/check.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

enum class TableKind : uint8_t { kKernels, kLaunches, kBuffers };
enum class TableFormat : uint8_t { kTable, kJson, kCsv };

// On stdout. New columns are only appended. `executed`: what the kernels of the trace, in their
// order, executed in the emulator: added to a table of kernels, which is sorted by it.
void print_trace_table(const format::Trace& trace, TableKind kind, TableFormat format,
                       const std::vector<check::KernelTotals>* executed = nullptr);
// {"columns": [{"name": "kernel", "number": false}, ...], "rows": [["axpy", ...], ...]}; at most
// `most_rows`.
nlohmann::ordered_json trace_table_json(const format::Trace& trace, TableKind kind,
                                        size_t most_rows);

}  // namespace gfxgraph::tools
