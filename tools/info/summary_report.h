// What a trace contains, as gfxgraph info prints it: one page of text, or JSON.
#pragma once

#include <string>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// What the command line adds to the summary.
struct Sections {
  bool relocations = false, ranges = false, buffers = false, lint = false;
};

void print_summary(const std::string& path, const format::Trace& trace, const Sections& sections);
// Schema gfxgraph-info/1.
void print_summary_json(const std::string& path, const format::Trace& trace,
                        const Sections& sections);

}  // namespace gfxgraph::tools
