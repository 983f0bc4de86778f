// The contract between gfxgraph-record and the library that it preloads: environment variables of
// the recorded program, and a folder through which the library reports back.
//
//   GFXGRAPH_RECORD_OUTPUT       absolute path of the trace; unset: the library only passes calls
//   on GFXGRAPH_RECORD_STATUS       a folder, claim.h: the first process image that makes a HIP
//   call
//                                claims the recording, and it alone records
//   GFXGRAPH_RECORD_PER_PROCESS  1: the file name of the path is an OutputPattern, and each image
//                                that makes a HIP call records under a name of its own
//   GFXGRAPH_RECORD_REPLACE      1: with PER_PROCESS, traces of earlier recordings are replaced
//   GFXGRAPH_RECORD_POST         full | hash | none: what is kept of buffers at free and at exit
//   GFXGRAPH_RECORD_CHECKPOINTS  1: the hashes of all buffers after every piece of device work
//   GFXGRAPH_RECORD_RANGES       the ranges to record, one in a line; unset: the whole program
//   GFXGRAPH_RECORD_LAUNCHES     the launches to record, one N:M in a line
//   GFXGRAPH_RECORD_KERNELS      the kernels whose launches to record, one GLOB#N in a line
//   GFXGRAPH_RECORD_FLIGHT       5000 | 64MiB: a flight recorder, with the size of its segments
//   GFXGRAPH_RECORD_KEEP_SEGMENTS  1: with it, none of them is replaced by a later one (for tests;
//                                gfxgraph-record passes it on)
//   GFXGRAPH_RECORD_CONTENTS     touched | all | none: of which memory the initial content is kept
//   GFXGRAPH_RECORD_WAIT         1: launches may wait for kernels that reach memory of the host
//   GFXGRAPH_RECORD_COMPRESS     zstd level of blobs, 0: plain
//   GFXGRAPH_RECORD_ALL_TARGETS  1: of fat programs, the code for all targets, not the device's
//   alone GFXGRAPH_RECORD_REDACT       1: no command line in the trace GFXGRAPH_RECORD_EMULATED 1:
//   the device is the software agent GFXGRAPH_RECORD_IN_PROCESS   1: without OUTPUT: the program
//   records sections of itself
//                                (gfxgraph/capture.h), and nothing else is recorded
//
// A recording ends, and its trace is sealed, at exit(), _exit(), quick_exit() and before exec*()
// (also when that fails), and at SIGINT, SIGTERM and SIGHUP unless the program handles or ignores
// them. fork(): the parent goes on recording, the child of a parent that records does not: HIP does
// not work in it. Programs that look HIP's functions up with dlsym() or hipGetProcAddress() are
// recorded; those that use dlvsym() are not, and the trace is incomplete and says so.
//
// If the process dies otherwise, or recording stops (a full disk), the tool seals what was written
// (closing.h).
//
// Flush policy. What was handed to the kernel survives the death of the program, kill -9 included:
// the events gathered so far are handed over at every synchronisation, every 256 events, and by a
// thread of the recorder at least every 100 ms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::recorder {

enum class PostState { kFull, kHash, kNone };

// Whose initial content is kept: of memory that a recorded stretch touches, of all memory that is
// live when a stretch begins, or of host-visible memory only. kInPlace: no memory is looked at, as
// for a step that will run over it.
enum class WhichContents { kTouched, kAll, kNone, kInPlace };
// kInvalidArgument: none of "touched", "all", "none".
Result<WhichContents> parse_contents(const std::string& word);

struct Options {
  std::string output;         // empty: not recording
  std::string status_folder;  // empty: no tool is listening
  // A file for a process that may use neither of the two any more. Only who is told knows its name.
  std::string denied_file;
  bool per_process = false;
  bool replace = false;
  PostState post = PostState::kFull;
  bool checkpoints = false;
  bool wait = false;  // for kernels that reach memory of the host: less is in doubt
  // What is recorded of the program, as parse_range_pattern() takes it; empty: all of it.
  std::vector<std::string> ranges;
  std::vector<std::string> launches;  // as parse_launch_interval() takes them
  std::vector<std::string> kernels;   // as parse_kernel_pattern() takes them
  // As parse_segment_size() takes it; empty: one file holds all that is recorded. Without any of
  // the three above, and without checkpoints.
  std::string flight_recorder;
  bool keep_segments = false;
  WhichContents contents = WhichContents::kTouched;
  int compression_level = 1;
  bool all_targets = false;
  bool redact = false;
  bool emulated = false;
  bool in_process = false;  // by calls of the program, live_captures.h; `output` is empty
  bool end_signals =
      false;  // seal at SIGINT and the like (end_signals.h); set in a recorded program
};

Options options_from_environment();
// "NAME=value" strings for the recorded program's environment.
std::vector<std::string> options_to_environment(const Options& options);

// A kernel with arguments whose words only their value marks as pointers.
struct AmbiguousKernel {
  std::string name;                    // as its code object has it
  std::vector<std::string> arguments;  // "argument 2 'n'", in the order in which they were found
};

// How a recording went, as the tool shows it.
struct Report {
  std::string trace;  // path of the sealed file, or of the .partial one
  bool sealed = false;
  uint64_t launches = 0, kernels = 0, events = 0, copies = 0, allocations = 0, graph_launches = 0;
  uint64_t relocations_typed = 0, relocations_matched = 0, relocations_ambiguous = 0;
  std::vector<AmbiguousKernel> ambiguous_kernels;
  std::vector<std::string> ambiguous;  // places in memory
  std::vector<std::string> incomplete;
  std::vector<std::string> notes;
  std::string error;   // the first internal error; empty: none
  bool whole = false;  // of a parsed one: nothing is missing at its end
  std::string device;
};

std::string write_report(const Report& report);
Report parse_report(const std::string& text);

}  // namespace gfxgraph::recorder
