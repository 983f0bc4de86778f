// The file that this process records into: who records, what stands at its beginning and its end,
// and the report for gfxgraph-record.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "format/write/writer.h"
#include "recorder/contract/claim.h"
#include "recorder/core.h"
#include "recorder/memory/contents.h"
#include "recorder/recording/handover.h"

namespace gfxgraph::recorder {

class TraceFile : private Part {
 public:
  TraceFile(const Core& core, Contents& contents, Handover& handover) noexcept
      : Part(core), contents_(contents), handover_(handover) {}

  // Once. False: another process of this recording records.
  bool claim();
  const Claim& claimed() const noexcept { return claim_; }
  // In a forked child.
  void leave() noexcept { claim_.report.close(); }

  // The first record of each file.
  format::Environment environment() const;
  Result<std::unique_ptr<format::Writer>> new_writer() const;
  // All that it is to hold has been appended. With both locks.
  void seal();
  // Other processes of the program gave work to the device and were not recorded.
  void note_unrecorded_processes();
  // Leaves a mark for gfxgraph-record, once in a process: this one gave work to the device that no
  // trace holds. Allocates little and takes no lock: in a forked child, threads that no longer
  // exist may hold locks.
  void mark_unrecorded(std::string_view call, bool behind_the_end) noexcept;

  void write_report(const Report& report) noexcept;

 private:
  Contents& contents_;
  Handover& handover_;
  Claim claim_;
  std::atomic<bool> denied_{false};
};

}  // namespace gfxgraph::recorder
