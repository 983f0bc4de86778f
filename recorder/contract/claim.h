// Which process images record, and under which names: files in the status folder of options.h, with
// which the images of one recording agree on that among themselves and tell the tool of it.
//
//   claim[KEY]           made by an image that records, before it does: who it is
//   report[KEY]          its Report, at the end
//   sealing[KEY]         how far it is in its sealing, while it seals (sealing.h)
//   unrecorded[KEY].PID  a text: another process gave work to the GPU that is in no trace
//
// KEY is empty where one image records for all, else OutputPattern::key().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/result.h"
#include "recorder/contract/options.h"

namespace gfxgraph::recorder {

struct Claim {
  bool mine = false;   // this image records
  std::string output;  // the path of its trace
  std::string key;
  // Open from the beginning: at the end there may be no descriptor, no right or no path for it.
  File report;
};

// By the process that records, once in an image. An error: it should record and cannot.
Result<Claim> claim_recording(const Options& options);

// ---- the tool's side ----------------------------------------------------------------------------

// At the end of what an unrecorded process says of itself: it was recorded, up to its end.
inline constexpr const char* kBehindTheEnd = ", at exit, behind the end of the recording";

struct ClaimRecord {
  std::string key;
  std::string output;  // empty: the image could not say who it is
  pid_t pid = 0;
  pid_t parent_pid = 0;
  std::optional<uint64_t> rank;
  uint64_t start_unix_ns = 0;
  std::vector<std::string> command_line;  // empty with --redact
};

// In the order in which they began.
std::vector<ClaimRecord> read_claims(const std::string& status_folder);
// Nothing: there is none, or its end is missing.
std::optional<Report> read_report(const std::string& status_folder, const std::string& key);
// The marks of processes that gave work to the GPU and did not record, as texts. Empty without a
// folder.
// What processes wrote that may use neither their trace nor the status folder: empty if there is
// none.
std::string denied_processes(const std::string& denied_file);
std::vector<std::string> unrecorded_processes(const std::string& status_folder,
                                              const std::string& key);

}  // namespace gfxgraph::recorder
