#include "tools/info/order_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/cli/print.h"
#include "tools/info/report_head.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;
using footprint::NeededOrder;
using footprint::Work;

constexpr size_t kMostLines = 10;
// "unknown": the trace has no such kernel.
std::string kernel_name(const format::Trace& trace, format::KernelId kernel) {
  std::string name = short_kernel_name(trace, kernel);
  return name.empty() ? "unknown" : name;
}

// Kernels by how often `counts` accepts their work, most first.
struct Count {
  std::string kernel, reason;
  uint64_t launches = 0;
};
std::vector<Count> sorted(const std::map<std::pair<std::string, std::string>, uint64_t>& counts) {
  std::vector<Count> list;
  for (const auto& [key, count] : counts) list.push_back({key.first, key.second, count});
  std::ranges::stable_sort(list, std::ranges::greater(), &Count::launches);
  return list;
}

std::vector<Count> unknown_kernels(const format::Trace& trace, const NeededOrder& order) {
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  for (const Work& work : order.work)
    if (work.unknown != 0)
      ++counts[{kernel_name(trace, work.kernel), order.reasons[work.unknown - 1]}];
  return sorted(counts);
}

std::vector<Count> chain_kernels(const format::Trace& trace, const NeededOrder& order) {
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  for (const uint32_t n : order.longest)
    if (order.work[n].kind == Work::Kind::kLaunch)
      ++counts[{kernel_name(trace, order.work[n].kernel), ""}];
  return sorted(counts);
}

uint64_t widest(const NeededOrder& order) {
  return order.width.empty() ? 0 : *std::ranges::max_element(order.width);
}

std::string render_text(const format::Trace& trace, const NeededOrder& order,
                        const std::string& name) {
  std::string text =
      head_text(name, order.launches, order.work.size() - order.launches, "copies, memsets") + "\n";
  text += fmt::format("edges: {} recorded, {} needed\n", order.edges_recorded, order.edges_needed);
  text += fmt::format("longest chain: {} launches recorded, {} needed\n", order.longest_recorded,
                      order.longest_needed);
  text += fmt::format("width: at most {} launches at a time\n", widest(order));
  const auto list = [&](const char* what, const std::vector<Count>& counts) {
    if (counts.empty()) return;
    text += fmt::format("{}\n", what);
    for (size_t n = 0; n < std::min(counts.size(), kMostLines); ++n)
      text += format_printable("  {} of {}{}{}\n", counted(counts[n].launches, "launch"),
                               counts[n].kernel, counts[n].reason.empty() ? "" : ": ",
                               counts[n].reason);
    if (counts.size() > kMostLines)
      text += fmt::format("  and {} more\n", counts.size() - kMostLines);
  };
  list("may access anything, so that all waits for them:", unknown_kernels(trace, order));
  list("in the longest chain:", chain_kernels(trace, order));
  return text;
}

std::string render_json(const format::Trace& trace, const NeededOrder& order,
                        const std::string& name) {
  Json json = {{"schema", "gfxgraph-order/1"}, {"trace", name}};
  json["launches"] = order.launches;
  json["operations"] = order.work.size();
  json["edges_recorded"] = order.edges_recorded;
  json["edges_needed"] = order.edges_needed;
  json["longest_chain_recorded"] = order.longest_recorded;
  json["longest_chain"] = order.longest_needed;
  json["width"] = order.width;
  json["kernels_analysed"] = order.analysed;
  json["open_arguments"] = order.open.size();
  json["unknown"] = Json::array();
  for (const Count& one : unknown_kernels(trace, order))
    json["unknown"].push_back(
        {{"kernel", one.kernel}, {"reason", one.reason}, {"launches", one.launches}});
  json["longest_chain_kernels"] = Json::array();
  for (const Count& one : chain_kernels(trace, order))
    json["longest_chain_kernels"].push_back({{"kernel", one.kernel}, {"launches", one.launches}});
  json["work"] = Json::array();
  for (const Work& work : order.work) {
    Json one = {{"kind", work.kind == Work::Kind::kLaunch ? "launch"
                         : work.kind == Work::Kind::kCopy ? "copy"
                                                          : "memset"},
                {"event", work.event}};
    if (work.kind == Work::Kind::kLaunch) {
      one["launch"] = work.launch;
      one["kernel"] = kernel_name(trace, work.kernel);
      one["footprint"] = work.unknown == 0 ? "proven" : "unknown";
    }
    one["recorded"] = work.recorded;
    one["needed"] = work.needed;
    json["work"].push_back(std::move(one));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string render_order(const format::Trace& trace, const NeededOrder& order,
                         const std::string& name, bool json) {
  return json ? render_json(trace, order, name) : render_text(trace, order, name);
}

}  // namespace gfxgraph::tools
