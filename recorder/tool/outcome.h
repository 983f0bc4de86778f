// What came of a recording, for people and for the manifest.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "recorder/tool/claim.h"
#include "recorder/tool/manifest.h"

namespace gfxgraph::recorder {

// A line on stderr.
void say(const std::string& text);

// Whether a recording holds the file.
bool partial_in_use(const std::filesystem::path& partial);

enum class Ending { kComplete, kIncomplete, kLost };

// One trace for the whole program. kLost: there is none, or more is missing than it says.
Ending explain_recording(const std::string& output, const std::string& status_folder);

// A trace for each process. `first_process` ended with `exit_status`.
std::vector<ManifestEntry> settle_recordings(const std::string& status_folder, pid_t first_process,
                                             int exit_status);
Ending explain_recordings(const std::vector<ManifestEntry>& entries,
                          const std::string& status_folder);
// Processes that were ended by the same signal as the program may be about to seal their traces.
void wait_for_recordings(const std::string& status_folder, std::chrono::milliseconds most);

}  // namespace gfxgraph::recorder
