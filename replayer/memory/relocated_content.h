// Contents of a trace with their pointers moved, piece by piece.
#pragma once

#include <string>

#include "base/result.h"
#include "format/read/reader.h"
#include "replayer/memory/relocation.h"

namespace gfxgraph::replayer {

// Calls `visit` with pieces of the content in order, without gaps; a word is never in two of them.
// Keeps no piece in memory. Returns kCorrupt, with `where` in the message, if a relocation lies
// outside of the content.
Result<void> visit_relocated(const format::Trace& trace, const format::Content& content,
                             const AddressMap& addresses, const std::string& where,
                             const format::Trace::Visitor& visit);

}  // namespace gfxgraph::replayer
