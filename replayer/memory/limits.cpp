#include "replayer/memory/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/agent_memory.h"
#include "base/amount.h"
#include "base/available_memory.h"
#include "base/checked.h"
#include "base/file/file.h"
#include "replayer/abi/hsa_library.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"

namespace gfxgraph::replayer {
namespace {

// Estimated bytes per operation in this library's tables and the runtime's nodes.
constexpr uint64_t kOperationBytes = 1024;
constexpr uint32_t kCallsPerLook = 64;

// A sum that stays empty after an overflow.
class Sum {
 public:
  void add(std::optional<uint64_t> bytes) {
    sum_ = sum_ && bytes ? checked_add(*sum_, *bytes) : std::nullopt;
  }
  std::optional<uint64_t> value() const { return sum_; }

 private:
  std::optional<uint64_t> sum_ = 0;
};

bool is_host(const format::AllocationBegin& begin) {
  return begin.kind == format::AllocationKind::kHostPinned ||
         begin.kind == format::AllocationKind::kHostRegistered;
}

uint64_t device_memory(const HipLibrary& library) {
  size_t free = 0;
  size_t total = 0;
  const auto get = library.table().hipMemGetInfo;
  if (get == nullptr || get(&free, &total) != hip::kSuccess) return physical_memory_bytes();
  return total;
}

// The bytes that packing saves, or would save.
std::string packing_text(const Program& program, const SessionOptions& options,
                         const MemoryNeed& need) {
  if (options.memory == MemoryUse::kPacked) {
    if (need.device == need.device_apart) return "";
    return fmt::format(" (packed by life time: {} bytes of device memory instead of {})",
                       need.device, need.device_apart);
  }
  SessionOptions packed = options;
  packed.memory = MemoryUse::kPacked;
  const std::optional<MemoryNeed> less =
      memory_need(program, packed, plan_packing(program, packed));
  if (!less || less->device >= need.device) return "";
  return fmt::format(
      " ({} bytes of device memory, which packed by life time (--memory packed) would be {})",
      need.device, less->device);
}

// Of an allocation.
uint64_t held_bytes(const Program& program, const AllocationInfo& info,
                    const SessionOptions& options) {
  const format::Content& initial = info.begin->initial;
  if (initial.unwritten && options.poison_fresh) return info.extent_bytes;
  const format::Trace& trace = program.trace();
  const uint64_t begins = initial.unwritten ? 0 : trace.nonzero_bytes(initial);
  const uint64_t ends = info.end == nullptr ? 0 : trace.nonzero_bytes(info.end->post);
  return std::min(info.extent_bytes, std::max(begins, ends));
}

std::string received_text(const MemoryNeed& need) {
  if (need.received == 0) return "";
  return fmt::format(", {} of them for copies to the host beyond the staging memory",
                     need.received);
}

tl::unexpected<Error> refuse(const std::string& need, uint64_t limit, const char* whose) {
  return fail(Status::kOutOfMemory,
              fmt::format("the trace needs {}, more than {} ({} bytes): nothing was allocated; "
                          "raise the limit (--max-memory) if you trust the trace",
                          need, whose, limit));
}

}  // namespace

std::optional<MemoryNeed> memory_need(const Program& program, const SessionOptions& options,
                                      const Packing& packing) {
  std::vector<bool> packed(program.allocations().size());
  for (const Tenant& tenant : packing.tenants) packed[tenant.allocation - 1] = true;
  Sum device;
  Sum device_apart;
  Sum host;
  Sum held, packed_held;
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || info.begin->kind == format::AllocationKind::kModuleGlobal)
      continue;
    const bool bound =
        std::any_of(options.bindings.begin(), options.bindings.end(),
                    [&](const Binding& binding) { return binding.allocation == info.begin->id; });
    if (bound || !is_made(options, info)) continue;
    if (is_host(*info.begin)) {
      host.add(info.extent_bytes);
      continue;
    }
    device_apart.add(info.extent_bytes);
    const bool apart = !packed[info.begin->id - 1];
    if (apart) device.add(info.extent_bytes);
    (apart ? held : packed_held).add(held_bytes(program, info, options));
  }
  held.add(std::min(packed_held.value().value_or(UINT64_MAX), packing.arena_bytes));
  device.add(packing.arena_bytes);
  if (options.keep_freed) host.add(packing.kept_bytes);
  for (const Operation& operation : program.operations()) {
    host.add(kOperationBytes);
    if (operation.kind == OperationKind::kLaunch) host.add(operation.kernarg().size());
  }
  const Result<StagingPlan> staging = plan_staging(program, options.staging_bytes);
  host.add(staging ? std::optional(staging->host_bytes()) : std::nullopt);
  for (const format::HostWrite* write : program.host_writes()) host.add(write->content.size_bytes);
  if (!device.value() || !device_apart.value() || !host.value()) return std::nullopt;
  return MemoryNeed{*device.value(), *device_apart.value(), *host.value(), staging->received_bytes,
                    held.value().value_or(UINT64_MAX)};
}

std::string memory_text(const MemoryNeed& need, MemoryUse use) {
  const std::string host = ", at most " + format_bytes(need.host) + " of host memory";
  if (use == MemoryUse::kApart)
    return fmt::format("memory: {} on the device, each buffer apart{}", format_bytes(need.device),
                       host);
  return fmt::format("memory: {} on the device, packed by life time; {} without packing{}",
                     format_bytes(need.device), format_bytes(need.device_apart), host);
}

MachineMemory machine_memory() {
  return {available_memory_bytes(), loaded_hsa_function(kAgentZeroFunction) != nullptr};
}

Result<void> check_memory(const Program& program, const SessionOptions& options,
                          const Packing& packing, const HipLibrary& library,
                          const MachineMemory* given) {
  constexpr uint64_t kLittleBytes = uint64_t{64} << 20;
  const std::optional<MemoryNeed> need = memory_need(program, options, packing);
  const std::optional<uint64_t> sum = need ? checked_add(need->device, need->host) : std::nullopt;
  if (!sum) {
    return fail(Status::kOutOfMemory,
                "the trace needs more memory than an address space has: nothing was allocated");
  }
  if (options.max_memory_bytes != 0) {
    if (*sum <= options.max_memory_bytes) return {};
    return refuse(fmt::format("{} bytes{}{}", *sum, received_text(*need),
                              packing_text(program, options, *need)),
                  options.max_memory_bytes, "the given limit");
  }
  if (options.live != nullptr && *sum <= kLittleBytes) return {};
  const MachineMemory machine = given != nullptr ? *given : machine_memory();
  if (const uint64_t limit = device_memory(library); need->device > limit)
    return refuse(fmt::format("{} bytes of device memory{}", need->device,
                              packing_text(program, options, *need)),
                  limit, "the device has");
  if (machine.holds_device) {
    const uint64_t both = checked_add(need->device_held, need->host).value_or(UINT64_MAX);
    if (both <= machine.available_bytes) return {};
    return refuse(
        fmt::format("at least {} bytes of this machine's memory, where the software agent "
                    "keeps its device's: {} for what device buffers hold and {} for the "
                    "host{}{}",
                    both, need->device_held, need->host, received_text(*need),
                    packing_text(program, options, *need)),
        machine.available_bytes, "this machine has available");
  }
  if (need->host > machine.available_bytes)
    return refuse(fmt::format("{} bytes of host memory{}", need->host, received_text(*need)),
                  machine.available_bytes, "this machine has available");
  return {};
}

Deadline::Deadline(double seconds) : seconds_(seconds) {
  if (seconds <= 0) return;
  end_ = std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

Result<void> Deadline::check(const char* what) {
  if (!end_ || ++calls_ % kCallsPerLook != 0 || std::chrono::steady_clock::now() < *end_) return {};
  return fail(Status::kUnsupported,
              fmt::format("loading took more than {} s: {} is not done; raise the limit "
                          "(max_load_seconds) if you trust the trace",
                          seconds_, what));
}

}  // namespace gfxgraph::replayer
