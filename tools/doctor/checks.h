// What gfxgraph doctor finds out, and its two forms: lines for people, and JSON
// (docs/schemas/doctor.json).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph::tools::doctor {

enum class State {
  kOk,
  kOff,         // not there, and what was asked for works without it
  kFailed,      // not there or wrong, and needed
  kNotChecked,  // something that the check needs is missing
};
// "ok", "off", "failed", "not checked".
const char* state_name(State state);

struct Check {
  std::string id;  // stable: "replay-graph"
  State state = State::kNotChecked;
  std::string detail = {};      // what was found, or the reason
  std::string remedy = {};      // what to do about it; empty: nothing
  std::optional<int> gpu = {};  // of checks on a device: its number, as HIP counts
  std::string output = {};      // the end of what a process printed that failed
};

// The last part of a message of the form "problem; next step" is the remedy.
Check check_of(std::string id, State state, std::string_view message);

// A file that is, or could be, the runtime of a program.
struct Library {
  std::string name;     // "libamdhip64", "libhsa-runtime64", "libamd_comgr"
  std::string path;     // as the loader finds it
  std::string file;     // without links: its name has the version
  std::string soname;   // empty: it has none, or cannot be read
  bool loaded = false;  // by a process that opens HIP as replays do
};

struct Device {
  int gpu = 0;  // as HIP counts
  std::string name;
  std::string arch;  // "gfx1030"
  std::string pci;   // empty: HIP does not say
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;
};

struct Host {
  std::string system;     // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;     // "Linux 6.1.0-13-amd64"
  std::string c_library;  // "glibc 2.36"
  unsigned processors = 0;
  uint64_t memory_bytes = 0;
};

struct Report {
  std::string version;  // of gfxgraph
  std::string device;   // "real" or "emulated"
  std::string chosen;   // why: "as asked", "no GPU can be used"
  Host host;
  std::map<std::string, std::string> environment;  // the variables that change what HIP does
  std::vector<Library> libraries;
  std::vector<Device> devices;
  std::vector<Check> checks;

  [[nodiscard]] size_t count(State state) const;
  [[nodiscard]] bool failed() const { return count(State::kFailed) != 0; }
};

// What was checked, one line for each check, and the sums.
std::string render_text(const Report& report);
std::string render_json(const Report& report);

}  // namespace gfxgraph::tools::doctor
