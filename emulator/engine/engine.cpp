#include "emulator/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "base/cli/print.h"
#include "base/environment.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/code/code_cache.h"
#include "emulator/engine/gws.h"
#include "emulator/engine/launch.h"
#include "emulator/engine/schedule/scheduler.h"

namespace gfxgraph::emulator {

GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);

namespace {

unsigned thread_count(unsigned asked) {
  if (asked != 0) return asked;
  return static_cast<unsigned>(environment_number(
      "GFXGRAPH_THREADS", 1, 1024, std::max(1u, std::thread::hardware_concurrency())));
}
unsigned time_slice(unsigned asked) {
  if (asked != 0) return asked;
  return static_cast<unsigned>(environment_number("GFXGRAPH_TIME_SLICE", 0, 1000000, 0));
}

std::string region_kind_name(RegionKind kind) {
  switch (kind) {
    case RegionKind::kDevice: return "an allocation of device memory";
    case RegionKind::kHost: return "an allocation of host memory";
    case RegionKind::kKernarg: return "kernel arguments";
    case RegionKind::kCode: return "code";
    case RegionKind::kSystem: return "memory of the runtime";
  }
  return "a region";
}

// "64 bytes past the end of `x` (0x7f00, 4096 bytes)".
std::string place_of(uint64_t address, uint32_t bytes, bool write, const RegionTable& table) {
  const Region* region = table.find(address);
  const Region* nearest = region != nullptr ? region : table.nearest(address);
  if (nearest == nullptr) return "; nothing is mapped";
  const std::string name = nearest->name.empty() ? region_kind_name(nearest->kind)
                                                 : "\"" + printable(nearest->name) + "\"";
  const std::string what =
      fmt::format("{} ({:#x}, {} bytes)", name, nearest->address, nearest->requested_bytes);
  if (region != nullptr) {
    if (write && region->read_only && region->kind == RegionKind::kCode)
      return fmt::format("is in code, which kernels cannot change: {}", what);
    if (write && region->read_only) return fmt::format("is in read-only memory: {}", what);
    return fmt::format("runs {} bytes past the end of {}",
                       address + bytes - (region->address + region->mapped_bytes), what);
  }
  if (address < nearest->address)
    return fmt::format("is {} bytes before {}", nearest->address - address, what);
  return fmt::format("is {} bytes past the end of {}",
                     address - nearest->address - nearest->requested_bytes, what);
}

class EngineImpl final : public Engine {
 public:
  EngineImpl(MemoryMap& memory, const EngineOptions& options, const Backend& backend,
             void* observer)
      : memory_(memory),
        options_(options),
        backend_(backend),
        observer_(observer),
        space_(CodeMemory{options.take_code, options.give_code}),
        code_(space_, memory, backend, observer, CodeCache::WaveSize::k32, options.host_functions),
        code64_(space_, memory, backend, observer, CodeCache::WaveSize::k64,
                options.host_functions),
        scheduler_(thread_count(options.threads), time_slice(options.time_slice)) {}

  Result<void> add_code(uint64_t load_address,
                        std::shared_ptr<const codeobj::CodeObject> code) override {
    if (code == nullptr) return fail(Status::kInvalidArgument, "engine: no code object");
    const std::unique_lock lock(objects_mutex_);
    if (objects_.contains(load_address))
      return fail(Status::kInvalidArgument,
                  fmt::format("engine: code is already loaded at {:#x}", load_address));
    for (const codeobj::Segment& segment : code->segments()) {
      if (!segment.executable) continue;
      if (auto added =
              add_range(load_address, load_address + segment.address, segment.memory_bytes);
          !added) {
        space_.remove(load_address);
        return added;
      }
    }
    objects_.emplace(load_address, std::move(code));
    return {};
  }

  Result<void> add_raw_code(uint64_t address, uint64_t size_bytes) override {
    return add_range(address, address, size_bytes);
  }

  void remove_code(uint64_t load_address) override {
    space_.remove(load_address);
    const std::unique_lock lock(objects_mutex_);
    objects_.erase(load_address);
  }

  tl::expected<RunStatistics, Fault> run(const Dispatch& dispatch) override {
    try {
      return run_checked(dispatch);
    } catch (const std::bad_alloc&) {
      Fault fault;
      fault.kind = FaultKind::kOutOfMemory;
      return tl::unexpected<Fault>(std::move(fault));
    }
  }

  uint64_t clock() const noexcept override { return clock_.load(std::memory_order_relaxed); }

  void stop() noexcept override { scheduler_.stop(); }

 private:
  tl::expected<RunStatistics, Fault> run_checked(const Dispatch& dispatch) {
    const CodeSpace::Hold hold(space_);  // outlives the waves and what reports of them
    auto launch = prepare_launch(dispatch, memory_, code_, code64_);
    if (!launch) {
      Fault fault = std::move(launch.error());
      fault.kernel = kernel_name(dispatch.kernel_object);
      return tl::unexpected<Fault>(std::move(fault));
    }
    launch->first_clock = clock_.load(std::memory_order_relaxed);
    Job job(*launch, backend_, observer_);
    job.context.dispatch = &launch->dispatch;
    job.context.memory = &memory_;
    job.context.code = &launch->code->default_mode;
    job.context.code_any_mode = &launch->code->any_mode;
    job.context.gws = &gws_;
    job.context.options = &options_;
    job.context.address_mask = ~options_.ignored_address_bits;
    job.context.group_aperture_hi = dispatch.group_aperture_base_hi;
    job.context.private_aperture_hi = dispatch.private_aperture_base_hi;
    job.describe = [&](const Wave& wave, const ResidentGroup& group) {
      return describe(dispatch, wave, group);
    };
    job.warn_of_barriers = [&](const UnevenBarrier& pair, const ResidentGroup& group) {
      warn_of_barriers(dispatch, pair, group);
    };
    job.watch.tell_long_run = [&](std::chrono::nanoseconds without_end,
                                  const WaveSnapshot& snapshot) {
      tell_long_run(dispatch, job, without_end, snapshot);
    };
    if (backend_.dispatch_begin != nullptr) {
      const std::string name = kernel_name(dispatch.kernel_object);
      backend_.dispatch_begin(observer_, DispatchInfo{&launch->dispatch, &launch->descriptor, name,
                                                      launch->scratch_lane_bytes});
    }
    if (dispatch.set_grid_barrier) gws_.init(0, static_cast<uint32_t>(launch->group_count - 1));
    scheduler_.run(job);
    if (!dispatch.keeps_clock) advance_clock(job.last_clock.load(std::memory_order_relaxed));
    if (backend_.dispatch_end != nullptr) backend_.dispatch_end(observer_);
    if (job.fault) return tl::unexpected<Fault>(std::move(*job.fault));
    if (!job.watch.given_up.empty()) return tl::unexpected<Fault>(describe_deadlock(dispatch, job));
    RunStatistics statistics;
    statistics.wave_instructions = job.instructions.load();
    statistics.workgroups = launch->group_count;
    statistics.waves = job.waves.load();
    return statistics;
  }

  void advance_clock(uint64_t to) {
    uint64_t now = clock_.load(std::memory_order_relaxed);
    while (now < to && !clock_.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  }

  struct Object {
    uint64_t address = 0;
    std::shared_ptr<const codeobj::CodeObject> code;
  };

  Result<void> add_range(uint64_t load_address, uint64_t address, uint64_t size_bytes) {
    GFXGRAPH_TRY(space_.add(load_address, address, size_bytes));
    return memory_.make_read_only(address, size_bytes);
  }

  Object object_at(uint64_t address) const {
    const std::shared_lock lock(objects_mutex_);
    const auto after = objects_.upper_bound(address);
    if (after == objects_.begin()) return {};
    const auto& [load_address, code] = *std::prev(after);
    if (address - load_address < code->load_size_bytes()) return {load_address, code};
    return {};
  }

  std::string kernel_name(uint64_t kernel_object) const {
    const Object object = object_at(kernel_object);
    if (object.code == nullptr) return "";
    for (const codeobj::Kernel& kernel : object.code->kernels())
      if (kernel.descriptor_address == kernel_object - object.address)
        return printable(kernel.name);
    return "";
  }

  // Fills in the instruction and the source line at fault.pc.
  void describe_place(Fault& fault) const {
    Inst inst;
    std::array<uint32_t, 5> words = {};
    size_t dwords = 0;
    if (code_.default_mode.decode_at(fault.pc, inst, &words, &dwords) == DecodeStatus::kOk) {
      fault.mnemonic = op_name(inst.op);
      fault.byte_count = inst.size_bytes();
    } else {
      fault.byte_count = static_cast<uint32_t>(std::min<size_t>(dwords, 2) * 4);
    }
    std::memcpy(fault.bytes.data(), words.data(),
                std::min<size_t>(fault.byte_count, sizeof(words)));
    const Object object = object_at(fault.pc);
    if (object.code == nullptr) return;
    fault.code_address = fault.pc - object.address;
    fault.source = object.code->source_location(fault.code_address);
  }

  // Whether `pc` lies in a code segment; also true if no code object contains it.
  bool in_code(uint64_t pc) const {
    const Object object = object_at(pc);
    if (object.code == nullptr) return true;
    const uint64_t address = pc - object.address;
    return std::ranges::any_of(object.code->segments(), [&](const codeobj::Segment& s) {
      return s.executable && address >= s.address && address - s.address < s.memory_bytes;
    });
  }

  // "saxpy+0x40 global_load_dword (saxpy.cpp:12)".
  std::string place_text(uint64_t pc) const {
    Fault fault;
    fault.pc = pc;
    describe_place(fault);
    std::string text = fmt::format("pc {:#x}", fault.code_address != 0 ? fault.code_address : pc);
    const Object object = object_at(pc);
    const codeobj::Kernel* const kernel =
        object.code == nullptr ? nullptr : object.code->kernel_at(fault.code_address);
    if (kernel != nullptr)
      text = format_printable("{}+{:#x}", kernel->name, fault.code_address - kernel->entry_address);
    if (!fault.mnemonic.empty()) text += " " + fault.mnemonic;
    if (fault.source) text += format_printable(" ({}:{})", fault.source->file, fault.source->line);
    return text;
  }

  // "0x7f00 in \"buffer\" + 16".
  std::string buffer_text(uint64_t address) const {
    const auto table = memory_.snapshot();
    const Region* region = table->find(address & ~options_.ignored_address_bits);
    std::string text = fmt::format("{:#x}", address);
    if (region != nullptr && !region->name.empty())
      text += format_printable(" (\"{}\" + {})", region->name, address - region->address);
    return text;
  }

  // ": it is in \"buffer\" + 16".
  std::string target_text(uint64_t address) const {
    const auto table = memory_.snapshot();
    const Region* const region = table->find(address & ~options_.ignored_address_bits);
    if (region == nullptr) return ", to memory that is not mapped";
    const std::string name = region->name.empty() ? region_kind_name(region->kind)
                                                  : format_printable("\"{}\"", region->name);
    return fmt::format(", into {} + {}", name,
                       (address & ~options_.ignored_address_bits) - region->address);
  }

  // "; 904 workgroups are not started ...", and a line for each place with waves.
  std::string places_text(const Job& job, const WaveSnapshot& snapshot) const {
    std::string text;
    const uint64_t count = job.launch.group_count;
    const uint64_t waiting = count - std::min(job.next_group.load(), count) + snapshot.claimed;
    if (waiting != 0)
      text = fmt::format("; {} workgroups have not started, at most {} waves are resident", waiting,
                         kMaxResidentWaves);
    return text + list_waves(
                      snapshot.waves, [&](uint64_t pc) { return place_text(pc); },
                      [&](uint64_t address) { return buffer_text(address); });
  }

  void tell_long_run(const Dispatch& dispatch, const Job& job, std::chrono::nanoseconds without_end,
                     const WaveSnapshot& snapshot) {
    if (!options_.on_warning) return;
    const std::string kernel = kernel_name(dispatch.kernel_object);
    const std::string text = fmt::format(
        "kernel {}: no wave finished for {:.3g} s; still running (slow or hung); "
        "GFXGRAPH_HANG_SECONDS limits it{}",
        kernel.empty() ? "(unknown)" : kernel, std::chrono::duration<double>(without_end).count(),
        places_text(job, snapshot));
    const std::scoped_lock lock(warned_mutex_);
    options_.on_warning(text);
  }

  Fault describe_deadlock(const Dispatch& dispatch, Job& job) const {
    Fault fault;
    fault.kind = FaultKind::kDeadlock;
    fault.kernel = kernel_name(dispatch.kernel_object);
    fault.detail = job.watch.given_up;
    fault.proven = job.watch.blocked;
    fault.detail += places_text(job, job.watch.stuck);
    const std::vector<WavePlace>& waves = job.watch.stuck.waves;
    if (waves.empty()) return fault;
    const WavePlace& first =
        *std::min_element(waves.begin(), waves.end(), [](const WavePlace& a, const WavePlace& b) {
          return std::tie(a.workgroup[2], a.workgroup[1], a.workgroup[0], a.wave) <
                 std::tie(b.workgroup[2], b.workgroup[1], b.workgroup[0], b.wave);
        });
    fault.workgroup = first.workgroup;
    fault.wave = first.wave;
    fault.pc = first.pc;
    fault.address = first.loop.address;
    describe_place(fault);
    return fault;
  }

  void warn_of_barriers(const Dispatch& dispatch, const UnevenBarrier& pair,
                        const ResidentGroup& group) {
    if (!options_.on_warning) return;
    const std::scoped_lock lock(warned_mutex_);
    if (!warned_.insert(dispatch.kernel_object).second) return;
    const std::string kernel = kernel_name(dispatch.kernel_object);
    options_.on_warning(
        fmt::format("kernel {}, workgroup ({},{},{}): waves arrive at different barriers: wave {} "
                    "at {}, wave {} at {}; all work items must reach the same __syncthreads",
                    kernel.empty() ? "(unknown)" : kernel, group.shape.id[0], group.shape.id[1],
                    group.shape.id[2], pair.wave[0], place_text(pair.pc[0]), pair.wave[1],
                    place_text(pair.pc[1])));
  }

  Fault describe(const Dispatch& dispatch, const Wave& wave, const ResidentGroup& group) const {
    const PendingFault& pending = wave.fault;
    Fault fault;
    fault.kind = pending.kind;
    fault.kernel = kernel_name(dispatch.kernel_object);
    fault.workgroup = group.shape.id;
    fault.wave = wave.index;
    fault.lane = pending.lane;
    fault.pc = wave.resume->pc;
    fault.address = pending.address;
    fault.access_bytes = pending.access_bytes;
    fault.write = pending.write;
    describe_place(fault);
    if (fault.kind == FaultKind::kMemory && pending.detail == nullptr)
      fault.detail = place_of(fault.address & ~options_.ignored_address_bits, fault.access_bytes,
                              fault.write, *memory_.snapshot());
    else if (pending.detail != nullptr)
      fault.detail = pending.detail;
    if (pending.jump) fault.detail += target_text(pending.address);
    if (fault.kind == FaultKind::kIllegal && fault.mnemonic.empty() && !in_code(fault.pc))
      fault.detail = "execution ran off the end of code";
    return fault;
  }

  MemoryMap& memory_;
  const EngineOptions options_;
  const Backend& backend_;
  void* observer_;
  CodeSpace space_;
  CodeCaches code_;
  CodeCaches code64_;
  Gws gws_;
  Scheduler scheduler_;
  std::atomic<uint64_t> clock_{kFirstClock};
  mutable std::shared_mutex objects_mutex_;
  std::map<uint64_t, std::shared_ptr<const codeobj::CodeObject>> objects_;  // by load address
  std::mutex warned_mutex_;
  std::set<uint64_t> warned_;  // kernel objects
};

}  // namespace

std::unique_ptr<Engine> create_engine(MemoryMap& memory, const EngineOptions& options,
                                      const Backend& backend, void* observer) {
  return std::make_unique<EngineImpl>(memory, options, backend, observer);
}

std::unique_ptr<Engine> Engine::create(MemoryMap& memory, const EngineOptions& options) {
  static const Backend& backend = select_backend(GFXGRAPH_BACKEND_SET(kPlainBackend));
  return create_engine(memory, options, backend, nullptr);
}

}  // namespace gfxgraph::emulator
