#include "lanecheck/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "emulator/backend.h"
#include "lanecheck/arguments.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/lane_observer.h"
#include "lanecheck/loaded_code.h"
#include "lanecheck/replay_memory.h"
#include "lanecheck/sites.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kLaneBackend);
}  // namespace gfxgraph::emulator

namespace gfxgraph::lanecheck {
namespace {

// Arguments are padded: the compiler widens loads of the last ones.
constexpr uint64_t kKernargPadBytes = 256;

const emulator::Backend& lane_backend() {
  using namespace emulator;
  return select_backend(GFXGRAPH_BACKEND_SET(kLaneBackend));
}

Severity severity_of(FindingClass finding_class, const CheckOptions& options) {
  switch (finding_class) {
    case FindingClass::kE1:
    case FindingClass::kE3: return Severity::kError;
    case FindingClass::kE2: return options.strict ? Severity::kError : Severity::kWarning;
    case FindingClass::kW1:
      return options.masked_lane == MaskedLaneMode::kWarn ? Severity::kWarning : Severity::kError;
    case FindingClass::kW2: return Severity::kNote;
    case FindingClass::kI1:
    case FindingClass::kI2: return Severity::kError;
  }
  return Severity::kNote;
}

// One pass over a trace.
class TraceCheck {
 public:
  TraceCheck(const format::Trace& trace, const CheckOptions& options)
      : trace_(trace),
        options_(options),
        memory_(trace.events()),
        observer_(memory_.map(), sites_,
                  {options.masked_lane != MaskedLaneMode::kOff,
                   options.masked_lane == MaskedLaneMode::kLiteral}),
        events_(trace, memory_, report_.notes) {}

  Result<Report> run() {
    GFXGRAPH_TRY(set_up());
    for (const format::Event& event : trace_.events()) {
      sequence_ = event.sequence;
      Result<void> done =
          std::visit([this](const auto& action) { return apply(action); }, event.action);
      if (!done) {
        return with_context(std::move(done).error(), fmt::format("event {}", event.sequence));
      }
    }
    finish();
    return std::move(report_);
  }

 private:
  Result<void> set_up() {
    emulator::EngineOptions engine_options;
    engine_options.threads = options_.threads;
    engine_options.livelock_instructions = options_.livelock_instructions;
    engine_options.on_warning = [this](const std::string& text) {
      report_.notes.push_back(fmt::format("launch {}: {}", report_.launches - 1, text));
    };
    engine_ = emulator::create_engine(memory_.map(), engine_options, lane_backend(), &observer_);
    GFXGRAPH_ASSIGN_OR_RETURN(code_, load_code(trace_, memory_, *engine_, report_.notes));
    for (const LoadedCode& code : code_) {
      for (const codeobj::Kernel& kernel : code.object->kernels())
        if (!options_.watch_all && is_launched(kernel.name))
          observer_.add_kernel(code.load_address + kernel.descriptor_address);
    }
    GFXGRAPH_ASSIGN_OR_RETURN(packet_, memory_.add_own(kPacketBytes, emulator::RegionKind::kSystem,
                                                       "the dispatch packet"));
    GFXGRAPH_ASSIGN_OR_RETURN(
        queue_, memory_.add_own(kQueueBytes, emulator::RegionKind::kSystem, "the queue"));
    write_queue(memory_.own_bytes(queue_).first(kQueueBytes));
    uint64_t kernarg_bytes = 0;
    for (const format::Kernel& kernel : trace_.kernels()) {
      kernarg_bytes = std::max<uint64_t>(
          {kernarg_bytes, kernel.kernarg_size_bytes, kernel.explicit_size_bytes});
      if (kernarg_bytes > kMaxKernargBytes) {
        return fail(Status::kCorrupt, fmt::format("kernel {}: a kernarg segment of {} bytes",
                                                  kernel.name, kernarg_bytes));
      }
      KernelTotals totals;
      totals.kernel = kernel.name;
      report_.kernels.push_back(std::move(totals));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(
        kernarg_, memory_.add_own(kernarg_bytes + kKernargPadBytes, emulator::RegionKind::kKernarg,
                                  "the kernel arguments"));
    return {};
  }

  bool is_launched(const std::string& name) const {
    return std::any_of(trace_.kernels().begin(), trace_.kernels().end(),
                       [&](const format::Kernel& kernel) { return kernel.name == name; });
  }

  // ---- events ----

  template <typename Action>
  Result<void> apply(const Action& action) {
    if constexpr (requires { events_.apply(action); }) return events_.apply(action);
    return {};  // streams, events, markers: sequence order is a valid order
  }
  Result<void> apply(const std::monostate&) { return {}; }
  Result<void> apply(const format::AllocationBegin& allocation) {
    if (allocation.kind != format::AllocationKind::kModuleGlobal) return events_.apply(allocation);
    format::AllocationBegin placed = allocation;
    if (allocation.host_address != 0) {  // a __managed__ variable: memory that a pointer leads to
      point_to_managed(code_, allocation, memory_);
      placed.kind = format::AllocationKind::kManaged;
      return events_.apply(placed);
    }
    placed.recorded_address = global_address(code_, allocation);
    return events_.apply(placed);
  }
  Result<void> apply(const format::Launch& launch) { return run_launch(launch); }
  Result<void> apply(const format::GraphLaunch& launch) {
    if (launch.graph == 0 || launch.graph > trace_.graphs().size()) {
      return fail(Status::kCorrupt, fmt::format("graph {} does not exist", launch.graph));
    }
    for (const format::GraphNode& node : trace_.graphs()[launch.graph - 1].nodes) {
      GFXGRAPH_TRY(std::visit([this](const auto& action) { return apply(action); }, node.action));
    }
    return {};
  }

  Result<void> run_launch(const format::Launch& launch) {
    const uint64_t index = report_.launches++;
    if (launch.kernel == 0 || launch.kernel > trace_.kernels().size()) {
      return fail(Status::kCorrupt, fmt::format("kernel {} does not exist", launch.kernel));
    }
    const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
    Result<void> done = dispatch(index, kernel, launch);
    if (!done) {
      report_.failed.push_back({index, sequence_, kernel.name, done.error().message});
    }
    describe_new_sites();
    return {};
  }

  Result<void> dispatch(uint64_t index, const format::Kernel& kernel,
                        const format::Launch& launch) {
    if (kernel.code_object == 0 || kernel.code_object > code_.size()) {
      return fail(Status::kCorrupt,
                  fmt::format("code object {} does not exist", kernel.code_object));
    }
    const LoadedCode& code = code_[kernel.code_object - 1];
    const codeobj::Kernel* const found = code.object->find_kernel(kernel.name);
    if (found == nullptr) {
      return fail(Status::kNotFound,
                  fmt::format("code object {} has no kernel {}", kernel.code_object, kernel.name));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const LaunchShape shape, launch_shape(launch));
    HiddenValues hidden;
    hidden.queue_address = queue_;
    hidden.hostcall_address = kHostCallAddress;
    hidden.dynamic_lds_bytes = launch.dynamic_lds_bytes;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> kernarg,
                              kernarg_segment(kernel, launch, hidden));
    const std::span<std::byte> kernarg_bytes = memory_.own_bytes(kernarg_);
    std::fill(kernarg_bytes.begin(), kernarg_bytes.end(), std::byte{0});
    std::copy(kernarg.begin(), kernarg.end(), kernarg_bytes.begin());

    emulator::Dispatch dispatch;
    dispatch.kernel_object = code.load_address + found->descriptor_address;
    dispatch.grid_size = shape.grid_items;
    dispatch.workgroup_size = shape.block;
    dispatch.group_segment_bytes = found->descriptor.group_segment_bytes + launch.dynamic_lds_bytes;
    dispatch.private_segment_bytes = found->descriptor.private_segment_bytes;
    dispatch.kernarg_address = kernarg_;
    dispatch.packet_address = packet_;
    dispatch.queue_address = queue_;
    dispatch.dispatch_id = index;
    dispatch.cooperative = dispatch.set_grid_barrier = launch.cooperative;
    PacketValues packet;
    packet.kernel_object = dispatch.kernel_object;
    packet.kernarg_address = kernarg_;
    packet.group_segment_bytes = dispatch.group_segment_bytes;
    packet.private_segment_bytes = dispatch.private_segment_bytes;
    write_packet(memory_.own_bytes(packet_).first(kPacketBytes), shape, packet);

    observer_.next_launch(index, launch.kernel);
    KernelTotals& totals = report_.kernels[launch.kernel - 1];
    ++totals.launches;
    const tl::expected<emulator::RunStatistics, emulator::Fault> ran = engine_->run(dispatch);
    totals.dropped_lanes += observer_.take_dropped_lanes();
    if (!ran) return fail(Status::kDevice, ran.error().to_string());
    totals.wave_instructions += ran->wave_instructions;
    if (observer_.take_called_host()) {
      report_.wave_instructions += ran->wave_instructions;
      return fail(Status::kUnsupported,
                  "it calls the host (printf, assert): nothing answers such a call here, what the "
                  "kernel did after it is not the recorded run");
    }
    report_.wave_instructions += ran->wave_instructions;
    return {};
  }

  // ---- findings ----

  // Buffers come and go: which one an address is nearest to is asked while the launch's buffers
  // live.
  void describe_new_sites() {
    for (auto& [key, site] : sites_.all()) {
      if (site.nearest || site.first.place.launch + 1 != report_.launches) continue;
      site.event_sequence = sequence_;
      site.nearest = memory_.nearest(site.first.address, site.first.access_bytes);
    }
  }

  Finding make_finding(const Sites::Key& key, const Site& site) const {
    Finding finding;
    finding.finding_class = key.finding_class;
    finding.severity = severity_of(key.finding_class, options_);
    finding.kernel = trace_.kernels()[key.kernel - 1].name;
    finding.mnemonic = emulator::op_name(site.first.op);
    if (const LoadedCode* const code = find_code(code_, key.pc)) {
      finding.code_address = key.pc - code->load_address;
      finding.source = code->object->source_location(finding.code_address);
      const codeobj::Kernel* const kernel = code->object->find_kernel(finding.kernel);
      if (kernel != nullptr) {
        finding.kernel_offset = finding.code_address - kernel->entry_address;
        const uint64_t entry = code->load_address + kernel->entry_address;
        if (site.first.written_by != 0) {
          const uint64_t writer = (key.pc & ~uint64_t{UINT32_MAX}) | site.first.written_by;
          finding.written_by = writer - entry;
        }
      }
    }
    finding.events = site.events;
    finding.lanes_total = site.lanes_total;
    finding.launches = site.launches;
    finding.launch = site.first.place.launch;
    finding.event_sequence = site.event_sequence;
    finding.workgroup = site.first.place.workgroup;
    finding.wave = site.first.place.wave;
    finding.lanes = site.first.lanes;
    finding.exec = site.first.exec;
    finding.address = site.first.address;
    finding.access_bytes = site.first.access_bytes;
    finding.write = site.first.write;
    finding.address_class = site.first.address_class;
    finding.nearest = site.nearest;
    finding.detail = site.first.detail;
    return finding;
  }

  void finish() {
    for (const auto& [key, site] : sites_.all()) {
      report_.findings.push_back(make_finding(key, site));
    }
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) {
                       return std::tuple(-static_cast<int>(a.severity), a.launch, a.code_address) <
                              std::tuple(-static_cast<int>(b.severity), b.launch, b.code_address);
                     });
    report_.empty_exec_scalar_loads = observer_.empty_exec_loads();
    report_.buffers_compared = events_.comparison().compared;
    report_.buffers_equal = events_.comparison().equal;
    if (report_.buffers_equal != report_.buffers_compared) {
      report_.notes.push_back(
          fmt::format("{} of {} buffers end with other bytes than recorded (first: {}): the check "
                      "may have gone "
                      "another way than the recorded run",
                      report_.buffers_compared - report_.buffers_equal, report_.buffers_compared,
                      events_.comparison().first_different));
    }
    if (!trace_.complete()) {
      report_.notes.push_back("the trace lacks calls that changed device state: see gfxgraph info");
    }
  }

  const format::Trace& trace_;
  const CheckOptions& options_;
  Report report_;
  DeviceMemory memory_;
  Sites sites_;
  LaneObserver observer_;
  MemoryEvents events_;
  std::unique_ptr<emulator::Engine> engine_;
  std::vector<LoadedCode> code_;
  uint64_t packet_ = 0;
  uint64_t queue_ = 0;
  uint64_t kernarg_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace

Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options) {
  return TraceCheck(trace, options).run();
}

Result<MaskedLaneMode> parse_masked_lane_mode(std::string_view text) {
  if (text == "off") return MaskedLaneMode::kOff;
  if (text == "warn") return MaskedLaneMode::kWarn;
  if (text == "error") return MaskedLaneMode::kError;
  if (text == "literal") return MaskedLaneMode::kLiteral;
  return fail(Status::kInvalidArgument,
              fmt::format("'{}' is no masked-lane mode; use off, warn, error or literal", text));
}

uint64_t Report::count(Severity severity) const {
  return static_cast<uint64_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

}  // namespace gfxgraph::lanecheck
