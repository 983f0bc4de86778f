// A step, recorded and replayed by gfxgraph's programs, and captured in its own process.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/process/own_process.h"
#include "tools/doctor/device_checks.h"
#include "tools/doctor/lines.h"
#include "tools/doctor/parts.h"
#include "tools/doctor/trivial_step.h"

namespace gfxgraph::tools::doctor {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::array kModes = {"eager", "batch", "graph", "packets"};
constexpr const char* kSend = "send this report";
constexpr const char* kEmulatedArch = "gfx1030";

// The name by which a process gets this device alone: of those that this process may see.
std::string visible_device(int gpu) {
  const char* text = std::getenv("HIP_VISIBLE_DEVICES");
  if (text == nullptr) text = std::getenv("CUDA_VISIBLE_DEVICES");  // HIP takes it, too
  std::string rest = text == nullptr ? "" : text;
  if (rest.empty()) return std::to_string(gpu);
  for (int i = 0; i < gpu && !rest.empty(); ++i) {
    const size_t comma = rest.find(',');
    rest.erase(0, comma == rest.npos ? rest.size() : comma + 1);
  }
  return rest.substr(0, rest.find(','));
}

Check failed(const std::string& id, const std::string& detail, const ChildEnd& end) {
  return {id, State::kFailed, detail, kSend, {}, end.err};
}

Check check_of_line(const std::string& id, const json& line) {
  const std::string state = line.value("state", "");
  Check check{id, State::kFailed, line.value("detail", "")};
  if (state == "ok") check.state = State::kOk;
  if (state == "off") check.state = State::kOff;
  if (check.state == State::kFailed) check.remedy = kSend;
  return check;
}

// The only variant of a result of gfxgraph-replay --bench; an empty object: there is none.
json variant_of(const fs::path& result) {
  std::ifstream file(result);
  const json report = json::parse(file, nullptr, false);
  const auto variants = report.find("variants");
  const bool found = variants != report.end() && variants->is_array() && !variants->empty() &&
                     variants->front().is_object();
  return found ? variants->front() : json::object();
}

// The checks of one device, in their order.
class StepChecks {
 public:
  StepChecks(const Launcher& launcher, const Device& device, Report& report)
      : launcher_(launcher),
        device_(device),
        report_(report),
        trace_(launcher.folder / fmt::format("step-{}.gfxg", device.gpu)) {}

  void run() {
    if (record()) {
      for (const char* mode : kModes) replay(mode);
      check();
    } else {
      for (const char* mode : kModes) skip(std::string("replay-") + mode, "no recording");
      skip("check", "no recording");
    }
    capture(kPartRun);
    capture(kPartHold);
  }

 private:
  void add(Check check) {
    check.gpu = device_.gpu;
    report_.checks.push_back(std::move(check));
  }
  void skip(const std::string& id, const std::string& reason) {
    add({id, State::kNotChecked, reason});
  }
  Child on_device(Child child) const {
    // The first one is what a process takes in any case.
    if (device_.gpu != 0) child.environment["HIP_VISIBLE_DEVICES"] = visible_device(device_.gpu);
    return child;
  }
  // Nothing if it cannot be started, which becomes a failed check.
  std::optional<ChildEnd> start(const std::string& id, Child child) {
    if (interrupted()) {
      skip(id, "interrupted");
      return std::nullopt;
    }
    Result<ChildEnd> end = run_child(on_device(std::move(child)));
    if (end) return std::move(*end);
    add(check_of(id, State::kFailed, end.error().message));
    return std::nullopt;
  }

  bool record() {
    const std::string program = (own_program().parent_path() / "gfxgraph").string();
    const auto end =
        start("record",
              {own_command("gfxgraph-record", {"--device", launcher_.device, "-o", trace_.string(),
                                               "--strict", "--quiet", "--", program, "doctor",
                                               "--part", kPartStep, "--into", "/dev/null"}),
               {},
               launcher_.seconds});
    if (!end) return false;
    std::error_code error;
    if (end->ok() && fs::exists(trace_, error)) {
      add({"record", State::kOk, "three launches, the result is right, the trace is complete"});
      return true;
    }
    add(failed("record", end->reason(), *end));
    return false;
  }

  void replay(const std::string& mode) {
    const std::string id = "replay-" + mode;
    const fs::path result = launcher_.folder / fmt::format("{}-{}.json", mode, device_.gpu);
    const auto end =
        start(id, {own_command("gfxgraph-replay", {trace_.string(), "--device", launcher_.device,
                                                   "--mode", mode, "--bench", "--repeat", "1",
                                                   "--layout", "shift", "--json", result.string()}),
                   {},
                   launcher_.seconds});
    if (!end) return;
    const json variant = variant_of(result);
    const std::string outputs = variant.value("outputs", "");
    if (end->ok() && outputs == "identical") {
      add({id, State::kOk, "at other addresses, all buffers identical"});
    } else if (outputs == "refused") {
      add({id, State::kOff, variant.value("refused", "refused")});
    } else if (!outputs.empty()) {
      add(failed(id, "buffers " + outputs, *end));
    } else {
      add(failed(id, end->reason(), *end));
    }
  }

  void check() {
    if (device_.arch != kEmulatedArch) {
      add({"check", State::kOff,
           fmt::format("the emulator executes {}, not {}", kEmulatedArch, device_.arch)});
      return;
    }
    const auto end = start(
        "check", {own_command("gfxgraph", {"check", trace_.string(), "--tool", "all", "--strict"}),
                  {},
                  launcher_.seconds});
    if (!end) return;
    if (end->ok()) {
      add({"check", State::kOk, "executed in the emulator, no findings"});
    } else {
      add(failed("check", end->reason(), *end));
    }
  }

  // "run" or "hold".
  void capture(const std::string& part) {
    const fs::path into = launcher_.folder / fmt::format("{}-{}", part, device_.gpu);
    const auto end =
        start("capture-" + part, launcher_.part(part, into, {"--capture", "--capture-api"}));
    if (!end) return;
    for (Check& one : capture_checks(part, read_lines(into), *end)) add(std::move(one));
  }

  const Launcher& launcher_;
  const Device& device_;
  Report& report_;
  fs::path trace_;
};

}  // namespace

std::vector<Check> capture_checks(const std::string& part, const std::vector<json>& lines,
                                  const ChildEnd& end) {
  std::vector<std::string> ids = {part};
  for (const char* mode : kModes) ids.push_back(fmt::format("{}-{}", part, mode));
  std::vector<Check> checks;
  bool explained = end.ok();
  for (const std::string& id : ids) {
    const std::string shown = "capture-" + id;
    const auto line =
        std::ranges::find_if(lines, [&](const json& one) { return one.value("id", "") == id; });
    if (line != lines.end()) {
      checks.push_back(check_of_line(shown, *line));
    } else if (!explained) {
      explained = true;
      checks.push_back(failed(shown, end.reason(), end));
    } else {
      checks.push_back({shown, State::kNotChecked, "the process ended before"});
    }
  }
  if (!explained) checks.push_back(failed("capture-" + part + "-end", end.reason(), end));
  return checks;
}

void check_step(const Launcher& launcher, const Device& device, Report& report) {
  if (!TrivialStep::has_code(device.arch)) {
    skip_step(device.gpu, fmt::format("gfxgraph has no kernels for {}", device.arch), report);
    return;
  }
  StepChecks(launcher, device, report).run();
}

void skip_step(int gpu, const std::string& reason, Report& report) {
  report.checks.push_back({"step", State::kNotChecked, reason, {}, gpu});
}

}  // namespace gfxgraph::tools::doctor
