#include "tools/doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cli/print.h"

namespace gfxgraph::tools::doctor {
namespace {

using nlohmann::ordered_json;

constexpr State kStates[] = {State::kOk, State::kOff, State::kFailed, State::kNotChecked};

// "replay-graph" on a device: "replay graph [0]".
std::string shown_name(const Check& check) {
  std::string name = check.id;
  std::ranges::replace(name, '-', ' ');
  return check.gpu ? fmt::format("{} [{}]", name, *check.gpu) : name;
}

// The state that needs attention stands out.
std::string shown_state(State state) {
  return state == State::kFailed ? "FAILED" : state_name(state);
}

// "not checked" as a name in JSON.
std::string json_state(State state) {
  std::string name = state_name(state);
  std::ranges::replace(name, ' ', '_');
  return name;
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json or_null(uint64_t number) {
  return number == 0 ? ordered_json(nullptr) : ordered_json(number);
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::kOk: return "ok";
    case State::kOff: return "off";
    case State::kFailed: return "failed";
    case State::kNotChecked: break;
  }
  return "not checked";
}

Check check_of(std::string id, State state, std::string_view message) {
  const size_t last = message.rfind("; ");
  if (last == message.npos) return {std::move(id), state, std::string(message)};
  return {std::move(id), state, std::string(message.substr(0, last)),
          std::string(message.substr(last + 2))};
}

size_t Report::count(State state) const {
  return static_cast<size_t>(std::ranges::count(checks, state, &Check::state));
}

std::string render_text(const Report& report) {
  size_t width = 0;
  for (const Check& check : report.checks) width = std::max(width, shown_name(check).size());
  std::string text = format_printable(
      "gfxgraph {} on {} ({})\n", report.version,
      report.device == "real" ? "a GPU" : "the software agent, without a GPU", report.chosen);
  for (const Check& check : report.checks) {
    text += format_printable("{:<12} {:<{}}  {}{}{}\n", shown_state(check.state), shown_name(check),
                             width, check.detail, check.remedy.empty() ? "" : "; ", check.remedy);
  }
  text += fmt::format("{} ok, {} off, {} failed, {} not checked\n", report.count(State::kOk),
                      report.count(State::kOff), report.count(State::kFailed),
                      report.count(State::kNotChecked));
  return text;
}

std::string render_json(const Report& report) {
  ordered_json counts = ordered_json::object();
  for (const State state : kStates) counts[json_state(state)] = report.count(state);
  ordered_json libraries = ordered_json::array();
  for (const Library& library : report.libraries) {
    libraries.push_back({{"name", library.name},
                         {"path", library.path},
                         {"file", library.file},
                         {"soname", or_null(library.soname)},
                         {"loaded", library.loaded}});
  }
  ordered_json devices = ordered_json::array();
  for (const Device& device : report.devices) {
    devices.push_back({{"gpu", device.gpu},
                       {"name", device.name},
                       {"arch", device.arch},
                       {"pci", or_null(device.pci)},
                       {"memory_bytes", or_null(device.memory_bytes)},
                       {"free_bytes", or_null(device.free_bytes)}});
  }
  ordered_json checks = ordered_json::array();
  for (const Check& check : report.checks) {
    checks.push_back({{"id", check.id},
                      {"gpu", check.gpu ? ordered_json(*check.gpu) : ordered_json(nullptr)},
                      {"state", json_state(check.state)},
                      {"detail", check.detail},
                      {"remedy", or_null(check.remedy)},
                      {"output", or_null(check.output)}});
  }
  const ordered_json json = {{"schema", "gfxgraph-doctor/1"},
                             {"version", report.version},
                             {"device", report.device},
                             {"chosen", report.chosen},
                             {"ok", !report.failed()},
                             {"counts", std::move(counts)},
                             {"host",
                              {{"system", report.host.system},
                               {"kernel", report.host.kernel},
                               {"c_library", report.host.c_library},
                               {"processors", report.host.processors},
                               {"memory_bytes", report.host.memory_bytes}}},
                             {"environment", report.environment},
                             {"libraries", std::move(libraries)},
                             {"devices", std::move(devices)},
                             {"checks", std::move(checks)}};
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace gfxgraph::tools::doctor
