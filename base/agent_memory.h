// Memory of the software agent that reads as zero. On a GPU a fill takes no memory of the machine;
// the agent's device memory is the machine's, so that a fill with zeros takes as much of it. The
// agent exports a function that gives the pages back instead; the replay library calls it by name.
#pragma once

#include <cstddef>
#include <string_view>

namespace gfxgraph {

// Makes bytes of one allocation of the agent zero, and returns whole pages of them to the system.
// False, and nothing is changed: they are no such bytes. No work may use them meanwhile. Throws
// nothing; any thread.
using AgentZeroFunction = bool (*)(void* memory, size_t bytes);
inline constexpr const char* kAgentZeroFunction = "gfxgraph_agent_zero";

// The name of each of its devices. They are threads of the process that loaded the agent.
inline constexpr const char* kAgentDeviceName = "gfxgraph emulated gfx1030";
// And of devices that describe another target and execute nothing, with that target behind it.
inline constexpr std::string_view kNullDeviceName = "gfxgraph null ";
constexpr bool is_agent_device(std::string_view name) noexcept {
  return name == kAgentDeviceName || name.starts_with(kNullDeviceName);
}

}  // namespace gfxgraph
