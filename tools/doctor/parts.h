// What gfxgraph doctor runs in processes of its own, as `gfxgraph doctor --part NAME --into FILE`:
// all that calls HIP. A part appends a line of JSON to the file as soon as it knows something, so
// that what it found stays known if HIP then ends the process.
#pragma once

#include <string>

namespace gfxgraph::tools::doctor {

// The runtime and its devices. Lines: {"hip": path, "version": number}, {"agent": whether},
// {"loaded": {name: path}}, {"device": {...}} for each, or {"error": message}.
inline constexpr const char* kPartDevices = "devices";
// The step, once; for the recorder. No lines: the exit code is 0, or 1 after a message.
inline constexpr const char* kPartStep = "step";
// The step, captured by gfxgraph/capture.h and run again in place, in each mode. Lines:
// {"id": "run" or "run-graph", "state": "ok", "off" or "failed", "detail": text}.
inline constexpr const char* kPartRun = "run";
inline constexpr const char* kPartHold = "hold";

// Returns an exit code.
int run_part(const std::string& part, const std::string& into);

}  // namespace gfxgraph::tools::doctor
