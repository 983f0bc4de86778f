// Closes the traces of processes that died: by a signal that cannot be handled, a crash, or an end
// that the recorder in them did not see. Who watches such a process from outside, as
// gfxgraph-record does, seals what it had written.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "format/read/recover.h"
#include "recorder/contract/claim.h"

namespace gfxgraph::recorder {

// How the process that gfxgraph-record started ended.
struct Ended {
  pid_t pid = 0;
  int code = 0;    // 128 + n for signal n
  int signal = 0;  // that killed it; 0: none did
};

// "killed by signal 11 (Segmentation fault)", also for the finding.
std::string signal_text(int signal);

// Whether a recording holds the file.
bool partial_in_use(const std::string& partial);
bool lives(pid_t pid);

// Why the recording of `claim` has no end of its own.
std::string reason_of(const ClaimRecord& claim, const Ended& ended);

// Seals `claim.output` + ".partial" under the name `claim.output`, as the process would have at its
// end, with a finding that begins with `reason`. Errors: docs at format::close_recording(), and
// there is a file of that name which `replace` does not allow to be replaced.
Result<format::RecoverReport> close_trace(const ClaimRecord& claim, const std::string& reason,
                                          bool replace);

}  // namespace gfxgraph::recorder
