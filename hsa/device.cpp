#include "hsa/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/demangle.h"
#include "base/log.h"
#include "base/process/device.h"
#include "codeobj/dwarf/function_at.h"
#include "hsa/host_kernels.h"
#include "hsa/memory.h"
#include "hsa/queue/host_calls.h"
#include "hsa/queue/wait.h"
#include "hsa/queue/watchdog.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

namespace gfxgraph::hsa {
namespace {

struct RetiredCode {
  uint32_t device = 0;
  uint64_t load_address = 0;
  std::byte* memory = nullptr;
};

struct DeviceCode {
  uint64_t load_address = 0;
  std::shared_ptr<const codeobj::CodeObject> object;
  uint32_t device = 0;
};

struct DeviceState {
  emulator::MemoryMap map;
  struct EngineOfDevice {
    std::once_flag once;
    std::atomic<emulator::Engine*> engine{nullptr};
  };
  std::array<EngineOfDevice, kMaxDevices> engines;

  // Kernels that run now, and code to release once none runs.
  std::mutex code_mutex;
  uint32_t running = 0;
  std::vector<RetiredCode> retired;
  // Code of HIP's own kernels (fills, copies), which the program did not launch: [begin, end).
  std::vector<std::pair<uint64_t, uint64_t>> runtime_code;
  std::vector<DeviceCode> code;  // all that is loaded
  uint64_t launches = 0;         // of other kernels

  std::atomic<uint64_t> skipped{0};
  std::mutex fault_mutex;
  std::string fault_text;
};

// The first fault. Not a member of DeviceState, because memory for that may be exhausted.
constinit std::atomic<uint32_t> first_fault{GFXGRAPH_AGENT_FAULT_NONE};

constinit std::atomic<bool> stopped{false};  // Device::stop() was called

DeviceState& device_state() {
  static DeviceState* const instance = [] {
    auto* const made = new DeviceState();
    demangle_without_process();
    return made;
  }();
  return *instance;
}

// A kernel whose host call is unsupported would wait forever for the reply, so the device stops.
void deliver() {
  const std::optional<std::string> refused = deliver_host_calls();
  if (!refused || Device::faulted()) return;
  Device::record_fault(*refused, GFXGRAPH_AGENT_FAULT_ILLEGAL, 0);
  Device::stop();
}

emulator::Engine& engine(uint32_t device) {
  DeviceState& s = device_state();
  DeviceState::EngineOfDevice& own = s.engines[device];
  std::call_once(own.once, [&s, &own] {
    emulator::EngineOptions options;
    // Device code sends a message after it wrote a signal that host threads may be waiting for.
    options.on_message = [](uint32_t, uint32_t) {
      if (host_calls_denied()) deliver();
      notify_all_watchers();
    };
    options.ignored_address_bits = kLockedBit;
    options.on_warning = [](const std::string& text) {
      log(LogLevel::kWarning, "{}", Lines{text});
    };
    options.give_up = [&s](const emulator::BlockedDispatch& blocked) {
      uint32_t running = 0;
      {
        const std::lock_guard lock(s.code_mutex);
        running = s.running;
      }
      return ends_blocked_kernel(blocked, running);
    };
    options.long_run = on_long_run;
    own.engine.store(emulator::Engine::create(s.map, options).release(), std::memory_order_release);
  });
  return *own.engine.load(std::memory_order_acquire);
}

void forget(const RetiredCode& code) {
  if (execution() == Execution::kEmulated) engine(code.device).remove_code(code.load_address);
  std::erase_if(device_state().runtime_code,
                [&](const auto& range) { return range.first == code.load_address; });
  std::erase_if(device_state().code,
                [&](const DeviceCode& loaded) { return loaded.load_address == code.load_address; });
  release_agent_memory(code.memory);
}

class RunningKernel {
 public:
  RunningKernel(uint64_t kernel_object, uint32_t device) : device_(device) {
    DeviceState& s = device_state();
    const std::lock_guard lock(s.code_mutex);
    ++s.running;
    const bool of_runtime =
        std::any_of(s.runtime_code.begin(), s.runtime_code.end(), [&](const auto& range) {
          return kernel_object >= range.first && kernel_object < range.second;
        });
    if (!of_runtime) launch_ = ++s.launches;
  }
  ~RunningKernel() {
    DeviceState& s = device_state();
    const std::lock_guard lock(s.code_mutex);
    if (--s.running != 0) return;
    try {
      for (const auto& code : s.retired) forget(code);
    } catch (const std::bad_alloc&) {  // the rest stays
    }
    s.retired.clear();
  }
  RunningKernel(const RunningKernel&) = delete;
  RunningKernel& operator=(const RunningKernel&) = delete;
  bool of_runtime() const { return launch_ == 0; }
  // "launch 3", counted from 1 over the process; with several devices "launch 3 on device 1".
  std::string name() const {
    const std::string kernel =
        launch_ == 0 ? "HIP's own kernel" : fmt::format("launch {}", launch_);
    return gpu_count() == 1 ? kernel : fmt::format("{} on device {}", kernel, device_);
  }

 private:
  uint64_t launch_ = 0;
  uint32_t device_ = 0;
};

// The exit status that the program requested, for at_exit().
std::atomic<int> exit_status{0};
void note_exit_status(int status, void*) { exit_status.store(status); }

// Runs after HIP's own destructors. Without hip_errors/, no HIP runtime reports a kernel's fault
// (copies and synchronisations return success); with it, the program may ignore the error. A
// faulted run must not look successful, so exit status 0 becomes 1.
__attribute__((destructor)) void at_exit() {
  if (Runtime::forked()) return;
  Device::stop();
  DeviceState& s = device_state();
  if (!Device::faulted() || exit_status.load() != 0) return;
  log(LogLevel::kError,
      "exit status 1 instead of 0, because a kernel faulted ({} later kernels were not run): {}",
      s.skipped.load(), Lines{Device::fault_text()});
  std::fflush(nullptr);
  _exit(1);
}

// The code that holds a device address; its object is null if there is none.
DeviceCode code_at(uint64_t place) {
  DeviceState& s = device_state();
  const std::lock_guard lock(s.code_mutex);
  for (const DeviceCode& code : s.code)
    if (place - code.load_address < code.object->load_size_bytes()) return code;
  return {};
}

// HIP 5.2.3 treats a small hipMemset at an odd address as one of nearly 2^64 bytes. Its first
// dispatch faults, and HIP would submit billions more before the call returns and an error is
// visible.
void end_hopeless_fill(const emulator::Dispatch& dispatch) {
  constexpr uint32_t kHugeGrid = 1u << 31;
  constexpr uint32_t kMostDispatches = 1000;
  static std::atomic<uint32_t> dispatches{0};
  if (dispatch.grid_size[0] < kHugeGrid || dispatches.fetch_add(1) < kMostDispatches) return;
  log(LogLevel::kError,
      "exit status 1: after the fault HIP continues a fill with a wrong size, which would not end: "
      "{}",
      Lines{Device::fault_text()});
  std::fflush(nullptr);
  _exit(1);
}

// Whether the instruction belongs to the assert function of HIP's device library, which prints and
// traps.
bool in_assert(uint64_t pc) {
  const DeviceCode code = code_at(pc);
  return code.object != nullptr &&
         codeobj::function_at(*code.object, pc - code.load_address) == "__assert_fail";
}

// Null: none.
const codeobj::Kernel* kernel_at(const DeviceCode& code, uint64_t descriptor) {
  if (code.object == nullptr) return nullptr;
  for (const codeobj::Kernel& kernel : code.object->kernels())
    if (kernel.descriptor_address == descriptor - code.load_address) return &kernel;
  return nullptr;
}

Result<void> guard(const emulator::Dispatch& dispatch) {
  const DeviceCode code = code_at(dispatch.kernel_object);
  const codeobj::Kernel* const kernel = kernel_at(code, dispatch.kernel_object);
  return kernel == nullptr ? Result<void>() : guard_host_calls(*kernel, dispatch.kernarg_address);
}

// Of the null device that describes a target. It rejects what no device could run, as the emulator
// does.
Result<void> run_copies(const emulator::Dispatch& dispatch, uint32_t device) {
  const DeviceCode code = code_at(dispatch.kernel_object);
  const codeobj::Kernel* const kernel = kernel_at(code, dispatch.kernel_object);
  if (kernel == nullptr)
    return fail(Status::kInvalidArgument,
                fmt::format("bad dispatch: there is no kernel at {:#x}", dispatch.kernel_object));
  if (code.device != device)
    return fail(Status::kInvalidArgument,
                fmt::format("bad dispatch: kernel {} is loaded on device {} only", kernel->name,
                            code.device));
  const uint32_t most_lds = target().row().lds_kib << 10;
  const uint32_t lds =
      std::max(dispatch.group_segment_bytes, kernel->descriptor.group_segment_bytes);
  if (lds > most_lds)
    return fail(Status::kInvalidArgument,
                fmt::format("bad dispatch: kernel {}: {} bytes of LDS; {} has {}", kernel->name,
                            lds, target().name(), most_lds));
  uint64_t items = 1;
  for (const uint16_t size : dispatch.workgroup_size) items *= size;
  constexpr uint64_t kMostItems = 1024;
  if (items == 0 || items > kMostItems)
    return fail(
        Status::kInvalidArgument,
        fmt::format("bad dispatch: kernel {}: a workgroup of {} work items; 1 to {} are possible",
                    kernel->name, items, kMostItems));
  return run_on_host(*kernel, dispatch);
}

// Code is loaded for one agent (hsa_executable_load_agent_code_object). HIP 7.2.4 gives a queue the
// kernels of other devices' graph nodes.
std::string explain(const emulator::Fault& fault, const emulator::Dispatch& dispatch,
                    uint32_t device) {
  if (fault.kind == emulator::FaultKind::kBadDispatch) {
    const DeviceCode code = code_at(dispatch.kernel_object);
    const codeobj::Kernel* const kernel = kernel_at(code, dispatch.kernel_object);
    if (kernel != nullptr && code.device != device)
      return fmt::format("bad dispatch: kernel {} is loaded on device {} only", kernel->name,
                         code.device);
  }
  return fault.to_string();
}

gfxgraph_agent_fault kind_of(const emulator::Fault& fault) {
  switch (fault.kind) {
    case emulator::FaultKind::kMemory:
    case emulator::FaultKind::kAlignment: return GFXGRAPH_AGENT_FAULT_MEMORY;
    case emulator::FaultKind::kUnsupported:
    case emulator::FaultKind::kIllegal: return GFXGRAPH_AGENT_FAULT_ILLEGAL;
    case emulator::FaultKind::kTrap:
      return in_assert(fault.pc) ? GFXGRAPH_AGENT_FAULT_ASSERT : GFXGRAPH_AGENT_FAULT_TRAP;
    case emulator::FaultKind::kDeadlock: return GFXGRAPH_AGENT_FAULT_TIMEOUT;
    case emulator::FaultKind::kBadDispatch:
    case emulator::FaultKind::kStopped:
    case emulator::FaultKind::kOutOfMemory: break;
  }
  return GFXGRAPH_AGENT_FAULT_OTHER;
}

}  // namespace

emulator::MemoryMap& Device::memory_map() { return device_state().map; }

bool Device::run(const emulator::Dispatch& dispatch, uint32_t device) {
  DeviceState& s = device_state();
  if (execution() == Execution::kNone) return true;
  if (faulted()) {
    s.skipped.fetch_add(1, std::memory_order_relaxed);
    end_hopeless_fill(dispatch);
    return false;
  }
  const RunningKernel running(dispatch.kernel_object, device);
  if (host_calls_denied()) {
    const Result<void> guarded = guard(dispatch);
    if (!guarded) {
      record_fault(fmt::format("{}: {}", running.name(), guarded.error().message),
                   GFXGRAPH_AGENT_FAULT_ILLEGAL, 0, device);
      return false;
    }
  }
  if (execution() == Execution::kCopies) {
    const Result<void> done = run_copies(dispatch, device);
    if (!done) {
      record_fault(fmt::format("{}: {}", running.name(), done.error().message),
                   GFXGRAPH_AGENT_FAULT_OTHER, 0, device);
    }
    return done.has_value();
  }
  emulator::Dispatch timed = dispatch;
  timed.keeps_clock = running.of_runtime();
  const auto result = engine(device).run(timed);
  if (result) return true;
  const emulator::Fault& fault = result.error();
  if (fault.kind == emulator::FaultKind::kStopped) return false;
  record_fault(fmt::format("{}: {}", running.name(), explain(fault, dispatch, device)),
               kind_of(fault), fault.address, device);
  return false;
}

Result<void> Device::add_code(uint32_t device, uint64_t load_address,
                              std::shared_ptr<const codeobj::CodeObject> code) {
  DeviceState& s = device_state();
  if (execution() == Execution::kNone) return {};
  const auto& kernels = code->kernels();
  const bool of_runtime =
      !kernels.empty() && std::all_of(kernels.begin(), kernels.end(), [](const auto& kernel) {
        return kernel.name.starts_with("__amd_rocclr_");
      });
  const uint64_t end = load_address + code->load_size_bytes();
  if (execution() == Execution::kEmulated)
    GFXGRAPH_TRY(engine(device).add_code(load_address, code));
  const std::lock_guard lock(s.code_mutex);
  s.code.push_back({load_address, std::move(code), device});
  if (of_runtime) s.runtime_code.emplace_back(load_address, end);
  return {};
}

void Device::remove_code(uint32_t device, uint64_t load_address, std::byte* memory) {
  DeviceState& s = device_state();
  const std::lock_guard lock(s.code_mutex);
  if (s.running != 0) {
    s.retired.push_back({device, load_address, memory});
  } else {
    forget({device, load_address, memory});
  }
}

bool Device::has_kernel(uint64_t descriptor) {
  return kernel_at(code_at(descriptor), descriptor) != nullptr;
}

bool Device::faulted() noexcept {
  return first_fault.load(std::memory_order_acquire) != GFXGRAPH_AGENT_FAULT_NONE;
}

const uint32_t* Device::fault_state() noexcept {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
                std::atomic<uint32_t>::is_always_lock_free);
  return reinterpret_cast<const uint32_t*>(&first_fault);
}

std::string Device::fault_text() {
  DeviceState& s = device_state();
  const std::lock_guard lock(s.fault_mutex);
  return s.fault_text;
}

void Device::record_fault(const std::string& text, gfxgraph_agent_fault kind, uint64_t address,
                          uint32_t device) {
  DeviceState& s = device_state();
  log(LogLevel::kError, "device fault: {}", Lines{text});
  {
    const std::lock_guard lock(s.fault_mutex);
    if (s.fault_text.empty()) s.fault_text = text;
  }
  uint32_t none = GFXGRAPH_AGENT_FAULT_NONE;
  if (first_fault.compare_exchange_strong(none, kind)) on_exit(note_exit_status, nullptr);
  if (kind == GFXGRAPH_AGENT_FAULT_MEMORY) Runtime::report_memory_fault(device, address);
}

void Device::record_out_of_memory() noexcept {
  try {
    record_fault("the host has no memory left to run a kernel", GFXGRAPH_AGENT_FAULT_OTHER, 0);
  } catch (const std::bad_alloc&) {
    std::fputs("gfxgraph: device fault: the host has no memory left to run a kernel\n", stderr);
    uint32_t none = GFXGRAPH_AGENT_FAULT_NONE;
    if (first_fault.compare_exchange_strong(none, GFXGRAPH_AGENT_FAULT_OTHER))
      on_exit(note_exit_status, nullptr);
  }
}

uint64_t Device::clock(uint32_t device) { return engine(device).clock(); }

bool Device::stopping() noexcept { return stopped.load(std::memory_order_relaxed); }

void Device::stop() noexcept {
  stopped.store(true, std::memory_order_relaxed);
  for (DeviceState::EngineOfDevice& own : device_state().engines) {
    emulator::Engine* const running = own.engine.load(std::memory_order_acquire);
    if (running != nullptr) running->stop();
  }
}

}  // namespace gfxgraph::hsa

// The word stays valid for the lifetime of the process.
extern "C" __attribute__((visibility("default"))) const uint32_t* gfxgraph_agent_fault_state() {
  return gfxgraph::hsa::Device::fault_state();
}
