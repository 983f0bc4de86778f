// Options of a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/live/objects.h"
#include "format/trace.h"

namespace gfxgraph::replayer {

enum class Mode : uint8_t {
  kEager = 0,    // calls, streams and events as recorded
  kBatch = 1,    // prebuilt launches in one loop on one stream
  kGraph = 2,    // one explicit hipGraph, split where the host must act
  kAuto = 3,     // the one that is faster here
  kPackets = 4,  // prebuilt AQL packets in an HSA queue of the step, one doorbell per run
};
const char* mode_name(Mode mode) noexcept;

enum class Layout : uint8_t {
  kSame = 0,   // addresses as the allocator gives them
  kShift = 1,  // every buffer at another address, to prove that no recorded address is left
};

// Memory of the caller in place of an allocation. Must stay valid as long as the replay.
struct Binding {
  format::AllocationId allocation = 0;
  void* pointer = nullptr;  // device memory; of pinned and registered allocations: host memory
  uint64_t size_bytes = 0;
  bool keep_content = false;  // do not write the recorded initial content
};

enum class MemoryKind : int { kDevice = 0, kManaged = 1, kPinned = 2 };

// The caller's allocator for memory that a session and its steps otherwise take from HIP: device,
// managed and pinned memory of recorded allocations, staging of copies, patterns of memsets. Both
// functions or neither. Not used for memory that the program registered: host memory, registered
// here. Called by the threads that load, set, run and destroy.
struct Allocator {
  void* context = nullptr;
  // A hipError_t; `kind` is a MemoryKind. Aligned to at least 256 bytes, valid until it is
  // released; pinned memory as hipHostMalloc gives it.
  int (*allocate)(void* context, void** pointer, size_t bytes, int kind) = nullptr;
  // Work that uses it has ended.
  void (*release)(void* context, void* pointer) = nullptr;
};

// The placement of recorded allocations that the program freed.
enum class MemoryUse : uint8_t {
  kApart = 0,   // each in its own memory, which keeps its final contents after a run
  kPacked = 1,  // in one arena, whose bytes they have one after another (packing.h)
};

// Events of the trace: [first_event, end_event).
struct EventRange {
  uint64_t first_event = 0;
  uint64_t end_event = 0;
};

// Operations of one run, the nodes of launched graphs included, that a trace may have by default.
inline constexpr uint64_t kDefaultMaxOperations = 4'000'000;

// The initial bytes of fresh, unwritten memory if reads of it should show.
inline constexpr uint8_t kPoison = 0xa5;

struct Packing;

// Receives log messages of the library, a line without its end. Like gfxgraph_log_t.
struct LogSink {
  void (*write)(void* context, int32_t level, const char* text) = nullptr;  // null: none
  void* context = nullptr;
};
inline constexpr int32_t kLogInfo = 0;
inline constexpr int32_t kLogWarning = 1;

// Pinned memory for the host's ends of copies, for each step (staging.h).
inline constexpr uint64_t kStagingBytes = UINT64_C(64) << 20;

struct SessionOptions {
  Layout layout = Layout::kSame;
  int device = -1;              // HIP ordinal; -1: the calling thread's current device
  bool keep_ambiguous = false;  // leave words alone that only look like pointers
  bool zero_unknown = false;    // begin memory with zeros whose content the trace lacks
  bool poison_fresh = false;    // begin memory that nobody had written with kPoison, not zeros
  MemoryUse memory = MemoryUse::kApart;
  // Packed: each run copies the contents of freed allocations to the host before their bytes are
  // reused, so that they can be read and compared.
  bool keep_freed = false;
  // The only range that steps are made of. Empty: any range of the trace, and all of it.
  std::optional<EventRange> only_range;
  std::shared_ptr<const Packing> packing;  // if it was planned before, with these options
  uint64_t max_memory_bytes = 0;           // limits.h; 0: what there is
  double max_load_seconds = 0;             // 0: any time
  uint64_t staging_bytes = kStagingBytes;
  bool concurrent_steps = false;  // the caller orders steps that share written memory
  LogSink log;
  std::vector<Binding> bindings;
  Allocator allocator;
  // In place: of a trace that was captured in this process, the program's code and memory, over
  // which steps run. Nothing of the trace is loaded, copied or restored. Null: the session has its
  // own. The pointer's deleter calls live::Objects::release.
  std::shared_ptr<const live::Objects> live;
};

// The current activity of a long call, for people; either may be empty. Called by the thread that
// makes the call.
struct Progress {
  std::function<void(const std::string&)> at;     // in place of what was said before
  std::function<void(const std::string&)> found;  // a first figure, of a run as recorded
  // As `at`: "run", 3, 100.
  std::function<void(const std::string&, uint64_t done, uint64_t total)> count = {};
};

// How long mode auto measures by default.
inline constexpr double kDefaultAutoSeconds = 3;

struct Border;
// What the caller does at a border of a step in place: its number, from 0. Not 0: the run ends
// there.
using BorderCall = std::function<int32_t(const Border& border, uint32_t index)>;

struct StepOptions {
  Mode mode = Mode::kAuto;
  // kAuto: the first mode always runs once; no other run starts that would, judged by earlier ones,
  // end after this time.
  double auto_seconds = kDefaultAutoSeconds;
  std::function<double()> auto_clock;  // seconds; empty: the machine's. For tests
  // kAuto may choose kEager, behind which work on the caller's stream does not wait.
  bool auto_eager = false;
  // False: nothing will be set and no memory bound between runs, so graph mode needs no trial of
  // updates (graph_updates.h); values that are set anyway are rebuilt.
  bool values_change = true;
  uint32_t graph_max_nodes = 0;  // nodes in one graph at most; 0: kMaxGraphNodes
  bool graph_linear = false;     // make every graph a chain in recorded order
  bool keep_memory = false;      // do not restore the memory of the session; not with kAuto
  Progress progress;
  BorderCall border;  // needed where the program has borders
};

// Of a step in a session of its own.
struct LoadOptions : SessionOptions, StepOptions {};

}  // namespace gfxgraph::replayer
