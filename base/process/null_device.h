// What GPU the software agent describes.
#pragma once

#include <string>

namespace gfxgraph {

// What the emulator executes, and the agent describes unless the variable names another target
// (docs/production/targets.md); 1: executes nothing.
inline constexpr const char* kEmulatedProcessor = "gfx1030";
inline constexpr const char* kNullDeviceVariable = "GFXGRAPH_NULL_DEVICE";
// The target of the null device, as this process' environment sets it: "gfx90a:xnack+". "": the
// agent describes kEmulatedProcessor. The agent checks the name.
std::string null_target();
// That, or kEmulatedProcessor.
std::string agent_target();
// The agent's device in a sentence: "emulated gfx1030 (software agent)".
std::string describe_agent_device();

}  // namespace gfxgraph
