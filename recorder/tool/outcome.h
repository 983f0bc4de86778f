// What came of a recording, for people and for the manifest.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cli/progress.h"
#include "recorder/contract/claim.h"
#include "recorder/tool/closing.h"
#include "recorder/tool/manifest.h"

namespace gfxgraph::recorder {

// A line on stderr: an error, or a loss.
void say(const std::string& text);
// The same without --quiet: summaries, notes, next steps.
void tell(const std::string& text);
// The line of progress, which both erase first.
ProgressLine& progress();

enum class Ending { kComplete, kIncomplete, kLost };

// Both close the traces of processes that died (closing.h). `replace`: also over files that were
// there before.

// One trace for the whole program. kLost: there is none, or more is missing than it says.
Ending explain_recording(const std::string& output, const std::string& status_folder,
                         const Ended& ended, bool replace);

// A trace for each process.
std::vector<ManifestEntry> settle_recordings(const std::string& status_folder, const Ended& ended,
                                             bool replace);
Ending explain_recordings(const std::vector<ManifestEntry>& entries,
                          const std::string& status_folder);
// Processes that were ended by the same signal as the program may be about to seal their traces.
void wait_for_recordings(const std::string& status_folder, std::chrono::milliseconds most);

}  // namespace gfxgraph::recorder
