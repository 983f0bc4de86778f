#include "tools/doctor/parts.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <fstream>
#include <gfxgraph/gfxgraph.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/agent_memory.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "replayer/abi/hip_library.h"
#include "tools/doctor/trivial_step.h"

namespace gfxgraph::tools::doctor {
namespace {

using nlohmann::json;
using replayer::HipLibrary;

class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path, std::ios::app) {}
  void add(const json& line) {
    file_ << line.dump(-1, ' ', true, json::error_handler_t::replace) << '\n' << std::flush;
  }

 private:
  std::ofstream file_;
};

// ---- devices ------------------------------------------------------------------------------------

// The libraries of the runtime in this process, by name. Wheels rename theirs.
std::map<std::string, std::string> loaded_libraries() {
  std::map<std::string, std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const std::string_view file = path.substr(path.rfind('/') + 1);
        for (const char* name : {"libamdhip64", "libhsa-runtime64", "libamd_comgr"}) {
          if (file.starts_with(name))
            static_cast<std::map<std::string, std::string>*>(into)->emplace(name, path);
        }
        return 0;
      },
      &found);
  return found;
}

// Whether the HSA runtime is the software agent.
bool is_agent(const std::string& hsa_path) {
  void* const hsa = ::dlopen(hsa_path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return hsa != nullptr && ::dlsym(hsa, kAgentZeroFunction) != nullptr;
}

Result<json> describe_device(const HipLibrary& library, int ordinal) {
  GFXGRAPH_ASSIGN_OR_RETURN(const replayer::HipDevice device, library.select_device(ordinal));
  const replayer::HipTable& hip = library.table();
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (hip.hipMemGetInfo != nullptr)
    GFXGRAPH_TRY(library.check(hip.hipMemGetInfo(&free_bytes, &total_bytes), "hipMemGetInfo"));
  std::array<char, 64> pci{};
  if (hip.hipDeviceGetPCIBusId == nullptr ||
      hip.hipDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()) - 1, ordinal) != 0)
    pci = {};
  return json{{"gpu", ordinal},    {"name", device.name},         {"arch", device.arch},
              {"pci", pci.data()}, {"memory_bytes", total_bytes}, {"free_bytes", free_bytes}};
}

Result<void> find_devices(Lines& lines) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const HipLibrary> library, HipLibrary::load());
  lines.add({{"hip", library->path()}, {"version", library->runtime_version()}});
  const std::map<std::string, std::string> loaded = loaded_libraries();
  lines.add({{"loaded", loaded}});
  if (const auto hsa = loaded.find("libhsa-runtime64"); hsa != loaded.end())
    lines.add({{"agent", is_agent(hsa->second)}});
  const replayer::HipTable& hip = library->table();
  int count = 0;
  GFXGRAPH_TRY(library->check(hip.hipInit(0), "hipInit"));
  GFXGRAPH_TRY(library->check(hip.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  for (int i = 0; i < count; ++i) {
    GFXGRAPH_ASSIGN_OR_RETURN(const json device, describe_device(*library, i));
    lines.add({{"device", device}});
  }
  lines.add({{"loaded", loaded_libraries()}});  // some open the compiler when they need it
  return {};
}

// ---- the step -----------------------------------------------------------------------------------

Result<void> run_step() {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const HipLibrary> library, HipLibrary::load());
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<TrivialStep> step, TrivialStep::make(library));
  GFXGRAPH_TRY(step->spoil());
  GFXGRAPH_TRY(step->submit());
  return step->compare();
}

struct NamedMode {
  const char* name;
  gfxgraph_mode_t mode;
};
constexpr NamedMode kPlaceModes[] = {{"eager", GFXGRAPH_MODE_EAGER},
                                     {"batch", GFXGRAPH_MODE_BATCH},
                                     {"graph", GFXGRAPH_MODE_GRAPH},
                                     {"packets", GFXGRAPH_MODE_PACKETS}};

// The captured step as `mode`. Throws Failure.
Result<void> run_in_place(TrivialStep& step, const Session& session, gfxgraph_range_t range,
                          gfxgraph_mode_t mode) {
  constexpr int kRuns = 3;
  Step prepared(session, range, mode);
  for (int run = 0; run < kRuns; ++run) {
    GFXGRAPH_TRY(step.spoil());
    prepared.run(step.stream());
    prepared.wait();
    GFXGRAPH_TRY(step.compare());
  }
  return {};
}

json line_of(const std::string& id, const char* state, const std::string& detail) {
  return {{"id", id}, {"state", state}, {"detail", detail}};
}

Result<void> run_modes(TrivialStep& step, const Trace& trace, const std::string& part,
                       Lines& lines) {
  const Session session(trace);
  const gfxgraph_range_t range = trace.find_range("step");
  for (const NamedMode& mode : kPlaceModes) {
    const std::string id = part + "-" + mode.name;
    try {
      const Result<void> ran = run_in_place(step, session, range, mode.mode);
      lines.add(ran ? line_of(id, "ok", "ran three times in place, each result identical")
                    : line_of(id, "failed", ran.error().message));
    } catch (const Failure& failure) {
      const bool refused = failure.status() == GFXGRAPH_UNSUPPORTED;
      lines.add(line_of(id, refused ? "off" : "failed", failure.what()));
    }
  }
  return {};
}

Result<void> capture(const std::string& part, Lines& lines) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const HipLibrary> library, HipLibrary::load());
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<TrivialStep> step, TrivialStep::make(library));
  GFXGRAPH_TRY(step->spoil());
  const bool runs = part == kPartRun;
  try {
    gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
    options.mode = runs ? GFXGRAPH_CAPTURE_RUN : GFXGRAPH_CAPTURE_HOLD;
    Capture capture(step->stream(), options);
    GFXGRAPH_TRY(step->submit());
    const Trace trace = capture.end();
    if (runs) GFXGRAPH_TRY(step->compare());
    lines.add(
        line_of(part, "ok",
                runs ? "captured while it ran, the result is right" : "captured without running"));
    return run_modes(*step, trace, part, lines);
  } catch (const Failure& failure) {
    return fail(static_cast<Status>(failure.status()), failure.what());
  }
}

Result<void> run(const std::string& part, Lines& lines) {
  if (part == kPartDevices) return find_devices(lines);
  if (part == kPartStep) return run_step();
  if (part == kPartRun || part == kPartHold) return capture(part, lines);
  return fail(Status::kInvalidArgument, "no part " + part);
}

}  // namespace

int run_part(const std::string& part, const std::string& into) {
  Lines lines(into);
  const Result<void> done = run(part, lines);
  if (done) return kExitOk;
  lines.add({{"error", done.error().message}});
  console::error(done.error().message);
  return kExitFailed;
}

}  // namespace gfxgraph::tools::doctor
