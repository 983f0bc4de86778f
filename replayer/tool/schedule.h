// Tells a program that computes something else each time from a replay that is wrong: runs the same
// operations again, one after another, with another number of threads under the software agent, and
// with memory at other addresses. What differs then depends on the order of a kernel's own
// workgroups, or on an address that a kernel computes with as a number.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "replayer/check/verify.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// What a probe places elsewhere than other probes do.
enum class Elsewhere : uint32_t { kNothing, kHostMemory, kBuffers };

// Fingerprints (fingerprint.h) of some runs of the first `operations` operations, made in a process
// of its own whose agent has `threads` threads.
struct ProbeRequest {
  uint32_t threads = 1;
  uint32_t runs = 2;
  uint32_t operations = UINT32_MAX;
  bool long_slices = true;  // of waves, if there are several threads
  Elsewhere elsewhere = Elsewhere::kNothing;
};
using Fingerprints = std::vector<std::vector<format::BlobId>>;
using Probe = std::function<Result<Fingerprints>(const ProbeRequest&)>;

// Processes that have not loaded HIP yet, on demand: one is forked before this one loads it, and
// forks one per probe. Ends with its owner.
class ProbeServer {
 public:
  // `probe` runs in the forked processes. None when the system has no process left.
  static std::optional<ProbeServer> start(const Probe& probe);
  ~ProbeServer();
  ProbeServer(ProbeServer&& other) noexcept;
  ProbeServer& operator=(ProbeServer&&) = delete;

  Result<Fingerprints> run(const ProbeRequest& request);

 private:
  ProbeServer(pid_t process, int socket) : process_(process), socket_(socket) {}
  pid_t process_ = -1;
  int socket_ = -1;
};

// Buffers and copies whose bytes depend on where memory lies.
struct AddressReport {
  std::vector<format::AllocationId> buffers;
  size_t copies = 0;
  // The first operation seen to leave other bytes; none where the search was cut short.
  std::optional<uint32_t> operation;
  bool empty() const { return buffers.empty() && copies == 0; }
};

struct ScheduleReport {
  std::string failure;                        // why it is not known; the rest is empty then
  uint32_t threads = 0;                       // compared with 1
  uint32_t runs = 0;                          // that were compared
  std::vector<format::AllocationId> varying;  // with the order of workgroups
  size_t varying_copies = 0;
  // Host memory lies elsewhere in each process, the recorded one too: as varying bytes, these are
  // the program's own.
  AddressReport host_addresses;
  // What only the layout of buffers changes is not: the allocator gives a program the same
  // addresses each time. Of buffers and copies that differ from the recording for no other reason.
  AddressReport buffer_addresses;
  // Whether every buffer and copy that differs from the recording varies or depends on the
  // addresses of host memory.
  bool explains = false;
  // Whether each of these is in one of the lists.
  bool complete = false;
  // The first operation seen to leave other bytes; none where the search was cut short.
  std::optional<uint32_t> operation;
  const char* cause = nullptr;  // with `operation`: cause_of()
};

// What can make a kernel leave other bytes in another order of its workgroups, by what its code has
// (emulator/decode/memory_effects.h): "floating-point atomics", "atomics", "a data race", or
// "atomics or a data race" where the code does not tell.
const char* cause_name(uint32_t effects) noexcept;
// The same of an operation of a program. The last of these names for code of other GPUs than
// gfx1030. Null: it is no launch, and depends on no order.
const char* cause_of(const Program& program, uint32_t operation);

// `report` is of a run that differs, of a program with so many allocation ids and operations. Takes
// some seconds, at most about a minute.
ScheduleReport compare_schedules(const Probe& probe, const VerifyReport& report, size_t allocations,
                                 uint32_t operations);

}  // namespace gfxgraph::replayer
