// The events of a trace as JSON: a field for each of the trace's own, in snake case, addresses as
// strings. docs/export.md lists them; fields are only added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// Of one trace, which outlives it. Not thread-safe: it keeps the readable names of kernels.
class EventJson {
 public:
  explicit EventJson(const format::Trace& trace) : trace_(trace), names_(trace.kernels().size()) {}
  nlohmann::ordered_json event(const format::Event& event);
  nlohmann::ordered_json graph(const format::Graph& graph);
  const std::string& kernel_name(format::KernelId kernel);

 private:
  const format::Trace& trace_;
  std::vector<std::string> names_;  // by kernel; empty: not made yet
};

nlohmann::ordered_json arguments_json(const format::Kernel& kernel);
nlohmann::ordered_json finding_json(const format::Finding& finding);
std::string blob_name(const format::BlobId& id);  // hexadecimal; empty: no blob

// For viewers, which would obey control and bidirectional characters of names: they are escaped in
// all strings and keys, line breaks stay.
nlohmann::ordered_json displayable(const nlohmann::ordered_json& value);

// One line of text, in which what is no UTF-8 is replaced.
std::string one_line(const nlohmann::ordered_json& value);

}  // namespace gfxgraph::tools
