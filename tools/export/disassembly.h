// The code objects of a trace as text: functions, source lines and instructions.
#pragma once

#include "base/result.h"
#include "format/read/reader.h"
#include "tools/text_sink.h"

namespace gfxgraph::tools {

// Code that the decoder does not know, for another GPU or damaged, is named and left out. Fails if
// the trace's bytes cannot be read.
Result<void> write_disassembly(const format::Trace& trace, TextSink& sink);

}  // namespace gfxgraph::tools
