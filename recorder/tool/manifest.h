// The manifest of a recording that wrote a trace for each process: a JSON file beside the traces.
// Fields are described in docs/processes.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::recorder {

enum class TraceState {
  kSealed,
  kPartial,    // the process died, and its trace could not be closed: `file` is the .partial
  kRecording,  // when the manifest was written; `file` is the name that the trace will get
  kFailed,     // there is no file, `error` says why
};
// "sealed", "partial", "recording", "failed".
const char* word(TraceState state);

struct ManifestEntry {
  pid_t pid = 0;  // 0: unknown
  pid_t parent_pid = 0;
  std::optional<uint64_t> rank;
  std::vector<std::string> command_line;  // empty with --redact
  std::string file;                       // in the manifest's folder
  // Of a flight recorder: the traces of what it did before `file`, in order.
  std::vector<std::string> earlier;
  TraceState state = TraceState::kFailed;
  std::optional<uint64_t> launches;  // unknown unless the trace is sealed
  // Nothing that the process did is missing, as far as is known.
  bool complete = false;
  std::vector<std::string> incomplete;  // one line per finding, as gfxgraph-record prints it
  std::vector<std::string> notes;
  std::string error;
  std::optional<int> exit_status;  // 128 + n for signal n; of the program's first process only
};

struct Manifest {
  std::string gfxgraph_version;
  std::vector<std::string> program;  // empty with --redact
  int exit_status = 0;
  std::vector<ManifestEntry> traces;  // in the order in which they began
};

std::string manifest_text(const Manifest& manifest);
Result<void> write_manifest(const std::filesystem::path& path, const Manifest& manifest);
// kCorrupt: not a manifest, or one of a newer version.
Result<Manifest> parse_manifest(const std::string& text);
// Whether a file that begins with these bytes may be a manifest.
bool looks_like_manifest(const std::string& begin);

}  // namespace gfxgraph::recorder
