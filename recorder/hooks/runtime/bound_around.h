// Paths by which a program can reach the device past the hooks of this library. They cannot be
// observed when they happen: the process is searched for them.
#pragma once

#include <atomic>
#include <vector>

#include "recorder/device.h"

namespace gfxgraph::recorder {

// A function of the HIP runtime that the program looked up by dlvsym(), which gives the runtime's
// own. Allocates nothing; thread-safe; before the recording begins as well.
void looked_up_around(const char* name) noexcept;

// Whether the code there is of HIP, of HSA or of a profiler, which do so for HIP or look on.
bool is_below_hip(const void* code) noexcept;

// Whether the hooks stand in HIP's own table of functions (api_table.cpp): a call of HIP reaches
// them however the program found it.
extern constinit std::atomic<bool> came_by_table;

// Of a hook that was called within another one, at `site`: whether by the program, and not by HIP
// or what lies below it, or by this library. For signal handlers, too: takes no lock.
bool called_by_program(const void* site) noexcept;

// What is known of it by now:
//  - functions of the HIP runtime without a row that loaded programs and libraries are linked to
//  - libraries whose calls of HIP the dynamic linker has bound to the runtime itself
//  - libraries that are linked to HSA and give it work (look-ups: unknown_calls.h)
//  - functions that were looked up by dlvsym()
//  - a second libamdhip64 in the process, also in another namespace (dlmopen): the calls of one of
//    them are not seen
// Looks at all relocations, a few milliseconds in a large process, where objects were loaded since
// the last time.
std::vector<Device::Bypass> ways_around();

// Whether the process has HSA runtimes, and all of them are the software agent. Not in other
// namespaces (dlmopen).
bool only_agent_is_loaded();

}  // namespace gfxgraph::recorder
