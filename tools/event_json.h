// The events of a trace as JSON: a field for each of the trace's own, in snake case, addresses as
// strings. docs/export.md lists them; fields are only ever added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "format/reader.h"

namespace gfxgraph::tools {

nlohmann::ordered_json event_json(const format::Trace& trace, const format::Event& event);
// One line of text, in which what is no UTF-8 is replaced.
std::string one_line(const nlohmann::ordered_json& value);

nlohmann::ordered_json graph_json(const format::Trace& trace, const format::Graph& graph);

}  // namespace gfxgraph::tools
