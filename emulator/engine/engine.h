// Runs dispatches of gfx1030 kernels on this machine's cores.
//
// The engine emits, observers judge: which observer is compiled in is a template parameter of the
// implementation (emulator/engine/observer.h); this header is what callers without an observer see.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <tl/expected.hpp>
#include <unordered_map>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/engine/fault.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator {

// The fields of an AQL kernel dispatch packet that a kernel can see, and what the queue adds.
// Source: HSA System Architecture 2.9.6; AMDGPUUsage "Initial Kernel Execution State".
struct Dispatch {
  uint64_t kernel_object = 0;                          // device address of the kernel descriptor
  std::array<uint32_t, 3> grid_size = {1, 1, 1};       // work items
  std::array<uint16_t, 3> workgroup_size = {1, 1, 1};  // work items
  uint32_t group_segment_bytes = 0;                    // static and dynamic LDS
  uint32_t private_segment_bytes =
      0;  // per work item; the larger of this and the descriptor's is used
  uint64_t kernarg_address = 0;
  uint64_t packet_address = 0;  // device address of the packet (dispatch_ptr); 0 when there is none
  uint64_t queue_address = 0;   // device address of amd_queue_t (queue_ptr); 0 when there is none
  uint64_t dispatch_id = 0;
  uint32_t group_aperture_base_hi = kDefaultGroupApertureHi;
  uint32_t private_aperture_base_hi = kDefaultPrivateApertureHi;
  // A cooperative launch: all workgroups must fit on the device at a time, else it is refused.
  bool cooperative = false;
  // Counter of the first grid barrier (GWS resource 0) set to the number of workgroups, which a HIP
  // runtime does by a kernel of its own; for those who run a launch without one.
  bool set_grid_barrier = false;
  // The device clock (clock.h) does not pass: kernels of a HIP runtime itself.
  bool keeps_clock = false;
  static constexpr uint32_t kDefaultGroupApertureHi = 0x00010000;
  static constexpr uint32_t kDefaultPrivateApertureHi = 0x00020000;
};

struct RunStatistics {
  uint64_t wave_instructions = 0;
  uint64_t waves = 0;
  uint64_t workgroups = 0;
};

// A dispatch whose waves can make progress only if somebody outside of it changes memory: every
// live wave comes back to the same state without a change of memory, or waits for such waves
// (progress_check.h).
struct BlockedDispatch {
  const Dispatch* dispatch = nullptr;
  std::chrono::nanoseconds lasted{0};  // since it was first seen to be so
  bool reads_host_memory = false;      // a wave looks at memory that the host may write
  bool sent_message = false;           // a wave of this dispatch has sent the host a message
};

// A dispatch of which no wave has ended for a while: it computes long, or is in a loop that never
// ends.
struct LongRun {
  const Dispatch* dispatch = nullptr;
  std::chrono::nanoseconds without_end{0};  // since a wave ended
  uint32_t reports = 0;                     // that were asked for before, of this dispatch
  bool blocked = false;                     // the waves of the worker that asks are
};
enum class LongRunAnswer : uint8_t {
  kGoOn,
  kReport,  // and go on: on_warning is told where all waves are
  kEnd,     // with kDeadlock
};

// A barrier that not all waves of a workgroup pass together: some are at another s_barrier, or have
// ended.
struct UnevenBarrier {
  const Dispatch* dispatch = nullptr;
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  // Of two waves, the first of which is at a barrier: device addresses of the s_barrier, or of the
  // s_endpgm.
  std::array<uint64_t, 2> pc = {0, 0};
  std::array<uint32_t, 2> wave = {0, 0};
  bool ended = false;  // the second one has ended
};

// A wave that arrives at a grid barrier.
struct GridBarrier {
  const Dispatch* dispatch = nullptr;
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  uint64_t pc = 0;
};

struct Wave;

// Functions of device code that this process performs in place of the wave that calls them, by the
// device address of their first instruction: an allocator, for example. They are called with the
// wave as it enters the function, from workers, several at a time. Change it only before the code
// runs.
using HostFunctions = std::unordered_map<uint64_t, std::function<void(Wave& wave)>>;

struct EngineOptions {
  // Worker threads, the caller's included. 0: as many as cores, or $GFXGRAPH_THREADS.
  unsigned threads = 0;
  // Instructions of a wave before it is the turn of the workgroup's next wave. Kernels whose waves
  // race may give something else with many. 0: $GFXGRAPH_TIME_SLICE, or without it few after the
  // workgroup's start and each of its barriers, and then more (scheduler.h).
  uint32_t time_slice = 0;
  // s_sendmsg MSG_INTERRUPT: the agent wakes host threads that wait on signals. Called from
  // workers.
  std::function<void(uint32_t message, uint32_t m0)> on_message;
  // Wave-instructions a dispatch may run without any wave ending before it ends with kDeadlock; 0:
  // no limit. A round in which all waves sleep counts as 20000. For waves that run without progress
  // (they count, or take a lock and give it back): it may hit a kernel that would end.
  uint64_t livelock_instructions = 0;
  // Asked about every 50 us for as long as a dispatch is blocked; true ends it with kDeadlock.
  // Called from workers. Null: at once, which is right where nothing outside can change memory.
  std::function<bool(const BlockedDispatch&)> give_up;
  // Asked about every second of a long run. Called from workers. Null: goes on.
  std::function<LongRunAnswer(const LongRun&)> long_run;
  // Called from workers, several at a time, whenever a barrier is passed unevenly; on_warning is
  // not told of it then. Null: on_warning is.
  std::function<void(const UnevenBarrier&)> on_uneven_barrier;
  // A wave of a launch that is not cooperative arrives at a grid barrier, which then has no defined
  // number of waves. Called from workers, several at a time; may be null.
  std::function<void(const GridBarrier&)> on_foreign_grid_barrier;
  // What a kernel does that works here and should not be relied on, with its name, places and
  // source lines: once per kernel. Called from workers, one at a time.
  std::function<void(const std::string& text)> on_warning;
  // Before the emulator takes host memory for the scratch of waves, and after it gave it back: so
  // many bytes. False from take_scratch ends the dispatch with kOutOfMemory. Called from workers.
  std::function<bool(uint64_t size_bytes)> take_scratch;
  std::function<void(uint64_t size_bytes)> give_scratch;
  // The same for decoded code and what an observer keeps for its instructions, which both live as
  // long as the code is loaded. Called with a lock held: it must not call the engine.
  std::function<bool(uint64_t size_bytes)> take_code;
  std::function<void(uint64_t size_bytes)> give_code;
  // Borrowed; null: none.
  const HostFunctions* host_functions = nullptr;
  // Host-registered memory is handed to the device as host | 1 << 47 (design note in hsa/): bits
  // cleared from every address before it is looked up.
  uint64_t ignored_address_bits = 0;
};

// Thread-safe: run() may be called from several threads at once (one per HSA queue).
class Engine {
 public:
  static std::unique_ptr<Engine> create(MemoryMap& memory, const EngineOptions& options = {});
  virtual ~Engine() = default;

  // Tells the engine of a code object loaded at `load_address` (where its virtual address 0 is).
  // Only its executable segments can be executed; in the memory map, where the code must be
  // already, they become read-only, so that no kernel changes code. The caller must not change them
  // either.
  virtual Result<void> add_code(uint64_t load_address,
                                std::shared_ptr<const codeobj::CodeObject> code) = 0;
  // The same for [address, address + size_bytes) without a code object: faults then carry no names.
  virtual Result<void> add_raw_code(uint64_t address, uint64_t size_bytes) = 0;
  // Before the code's memory goes: from then on a wave that jumps there, or continues there beyond
  // what it has executed, faults.
  virtual void remove_code(uint64_t load_address) = 0;

  // Blocks until every wave ended or one faulted.
  virtual tl::expected<RunStatistics, Fault> run(const Dispatch& dispatch) = 0;

  // Where the device clock is, in shader clocks: after all that has ended.
  virtual uint64_t clock() const noexcept = 0;

  // Makes running and future run() calls return kStopped soon: for process exit.
  virtual void stop() noexcept = 0;
};

}  // namespace gfxgraph::emulator
