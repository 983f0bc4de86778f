#include "lanecheck/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "base/demangle.h"
#include "codeobj/inline_stack.h"
#include "lanecheck/budget_engine.h"
#include "lanecheck/call_sites.h"
#include "lanecheck/code_window.h"
#include "lanecheck/deep_observer.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/grouping.h"
#include "lanecheck/host_services.h"
#include "lanecheck/images.h"
#include "lanecheck/init_check.h"
#include "lanecheck/init_events.h"
#include "lanecheck/kernel_fault.h"
#include "lanecheck/launch_frame.h"
#include "lanecheck/loaded_code.h"
#include "lanecheck/ordered_ends.h"
#include "lanecheck/race_check.h"
#include "lanecheck/race_events.h"
#include "lanecheck/replay_memory.h"
#include "lanecheck/sites.h"
#include "lanecheck/trace_analysis.h"
#include "lanecheck/user_line.h"

namespace gfxgraph::lanecheck {
namespace {

Severity severity_of(FindingClass finding_class, const CheckOptions& options) {
  Severity severity = class_text(finding_class).severity;
  if (finding_class == FindingClass::kW1 && options.masked_lane != MaskedLaneMode::kWarn)
    severity = Severity::kError;
  return severity == Severity::kWarning && options.strict ? Severity::kError : severity;
}

// One pass over a trace.
class TraceCheck {
 public:
  // `analysis`: in place of findings; may be null.
  TraceCheck(const format::Trace& trace, const CheckOptions& options, Selection selection,
             Budget& budget, TraceAnalysis* analysis)
      : trace_(trace),
        options_(options),
        selection_(std::move(selection)),
        budget_(budget),
        analysis_(analysis),
        memory_(trace.events(), budget_),
        images_(trace, memory_),
        services_(memory_, sites_, budget_),
        race_(selection_.has(Tool::kRacecheck)
                  ? std::make_unique<RaceCheck>(memory_.map(), sites_, budget_)
                  : nullptr),
        init_(selection_.has(Tool::kInitcheck) ? std::make_unique<InitCheck>(sites_, budget_)
                                               : nullptr),
        observer_(budget_, memory_.map(), sites_,
                  LaneObserver::Options{
                      options.masked_lane != MaskedLaneMode::kOff && selection_.has(Tool::kLanes),
                      options.masked_lane == MaskedLaneMode::kLiteral, &waits_, &memory_.freed(),
                      &services_.heap()},
                  race_.get(), init_.get()),
        provenance_(budget_, analysis == nullptr ? nullptr : analysis->words(),
                    analysis == nullptr ? nullptr : analysis->order()),
        events_(trace, memory_, images_, budget_, report_.notes),
        ends_(trace) {
    report_.tools = options.selection.tools;
    sites_.set_budget(budget_);
    sites_.set_filter([this](uint32_t kernel, const LaneEvent& event) {
      return selection_.has(class_text(event.finding_class).tool) &&
             selection_.has_launch(kernel, event.place.launch);
    });
  }

  Result<Report> run() {
    if (options_.progress) all_launches_ = count_launches(trace_);
    if (Result<void> ready = set_up(); !ready) {
      if (!budget_.exhausted()) return tl::unexpected<Error>(std::move(ready).error());
      stop(0);
      return std::move(report_);
    }
    const std::vector<format::Event>& events = trace_.events();
    for (size_t at = 0; at < events.size(); ++at) {
      sequence_ = events[at].sequence;
      if (analysis_ != nullptr) analysis_->next_event(sequence_);
      launches_before_ = report_.launches;
      Result<void> done = within_budget();
      if (done) {
        done = ends_.visit(at, [this](const format::Event& event) {
          return std::visit([this](const auto& action) { return apply(action); }, event.action);
        });
      }
      if (budget_.exhausted()) {
        stop(at);
        break;
      }
      if (!done) {
        return with_context(std::move(done).error(), fmt::format("event {}", sequence_));
      }
    }
    finish();
    return std::move(report_);
  }

 private:
  Result<void> within_budget() {
    if (budget_.go_on()) return {};
    return fail(Status::kOutOfMemory, budget_.reason());
  }

  // Ends at the event with this index. Those of its launches that were executed count as checked.
  void stop(size_t at) {
    const std::vector<format::Event>& events = trace_.events();
    Stop stop;
    stop.reason = budget_.reason();
    stop.event_sequence = at < events.size() ? events[at].sequence : events.size();
    stop.launches = count_launches(trace_, at);
    stop.launches -= report_.launches - launches_before_;
    report_.stopped = std::move(stop);
  }

  Result<void> set_up() {
    if (race_ != nullptr) race_events_.emplace(trace_, *race_, memory_, budget_);
    if (init_ != nullptr) init_events_.emplace(*init_);
    if (race_events_ && race_events_->order().limited)
      report_.notes.push_back(
          fmt::format("racecheck compares each launch, copy and memset with only the last {} that "
                      "it is not ordered after",
                      WorkOrder::kMostUnordered));
    emulator::EngineOptions engine_options;
    engine_options.threads = deep() ? 1 : options_.threads;
    engine_options.livelock_instructions = options_.livelock_instructions;
    engine_options.on_warning = [this](const std::string& text) {
      report_.emulator_notes.push_back(fmt::format("launch {}: {}", report_.launches - 1, text));
    };
    if (selection_.has(Tool::kSynccheck)) {
      engine_options.on_uneven_barrier = [this](const emulator::UnevenBarrier& barrier) {
        sites_.add(observer_.kernel(), barrier_event(barrier, code_, *memory_.map().snapshot()));
      };
      engine_options.on_foreign_grid_barrier = [this](const emulator::GridBarrier& barrier) {
        sites_.add(observer_.kernel(), grid_event(barrier));
      };
    }
    engine_options.host_functions = &services_.functions();
    engine_options.on_message = [this](uint32_t, uint32_t) { services_.on_message(); };
    // Includes the observers' two bits for each dword.
    const auto with_shadow = [](uint64_t size_bytes) { return size_bytes + size_bytes / 16; };
    engine_options.take_scratch = [this, with_shadow](uint64_t size_bytes) {
      return budget_.take_memory(with_shadow(size_bytes), "the scratch memory of a wave")
          .has_value();
    };
    engine_options.give_scratch = [this, with_shadow](uint64_t size_bytes) {
      budget_.give_memory(with_shadow(size_bytes));
    };
    engine_options.take_code = [this](uint64_t size_bytes) {
      return budget_.take_memory(size_bytes, "decoded code").has_value();
    };
    engine_options.give_code = [this](uint64_t size_bytes) { budget_.give_memory(size_bytes); };
    engine_ = make_engine(engine_options);
    observer_.engine = provenance_.engine = engine_.get();
    GFXGRAPH_ASSIGN_OR_RETURN(code_, load_code(trace_, memory_, *engine_, budget_, report_.notes));
    std::set<std::string_view> launched;
    for (const format::Kernel& kernel : trace_.kernels()) launched.insert(kernel.name);
    for (const LoadedCode& code : code_) {
      GFXGRAPH_TRY(within_budget());
      if (!services_.add_code(code)) {
        report_.notes.push_back(
            "the code does not show the sizes of malloc in kernels, because the compiler inlined "
            "them into the device library: only blocks of more than 3072 bytes are told apart "
            "(E10, E11)");
      }
      for (const codeobj::Kernel& kernel : code.object->kernels()) {
        if (!launched.contains(kernel.name)) continue;
        GFXGRAPH_TRY(within_budget());
        if (!options_.watch_all && analysis_ == nullptr)
          observer_.add_kernel(code.load_address + kernel.descriptor_address, most_analysed());
        if (selection_.has(Tool::kSynccheck)) add_waits(code, kernel);
        GFXGRAPH_TRY(take_analyses());
      }
    }
    GFXGRAPH_ASSIGN_OR_RETURN(frame_, LaunchFrame::create(trace_, memory_));
    for (const format::Kernel& kernel : trace_.kernels()) {
      KernelTotals totals;
      totals.kernel = kernel.name;
      report_.kernels.push_back(std::move(totals));
    }
    return {};
  }

  // Instructions of a kernel that an analysis may look at: it needs room for each.
  size_t most_analysed() const {
    constexpr uint64_t kAnalysisBytes = 1024;
    return budget_.memory_left_bytes() / kAnalysisBytes;
  }
  // Counts what the analyses of the kernels keep.
  Result<void> take_analyses() {
    const uint64_t kept = observer_.kept_bytes() + waits_.kept_bytes();
    const uint64_t more = kept - std::min(kept, std::exchange(analysed_bytes_, kept));
    return budget_.take_memory(more, "what is known of a kernel's code");
  }

  std::unique_ptr<emulator::Engine> make_engine(const emulator::EngineOptions& options) {
    if (analysis_ != nullptr) return create_engine(memory_.map(), options, provenance_);
    return create_engine(memory_.map(), options, observer_, deep() ? Watch::kDeep : Watch::kLanes);
  }

  void add_waits(const LoadedCode& code, const codeobj::Kernel& kernel) {
    const auto table = memory_.map().snapshot();
    if (waits_.add_kernel(code.load_address + kernel.entry_address, *table, most_analysed()))
      return;
    report_.notes.push_back(
        fmt::format("kernel {}: too much code to look for missing waits (S3)", kernel.name));
  }

  // ---- events ----

  template <typename Action>
  Result<void> apply(const Action& action) {
    if constexpr (requires { images_.see(action); }) images_.see(action);
    if constexpr (std::is_same_v<Action, format::HostWrite>) GFXGRAPH_TRY(tell_race(action));
    if constexpr (requires { events_.apply(action); }) return carry_out(action);
    return {};  // streams, events, markers: sequence order is a valid order
  }
  Result<void> apply(const format::Copy& copy) {
    images_.see(copy);
    format::Copy room;
    return carry_out(images_.placed(copy, room));
  }
  template <typename Action>
  Result<void> carry_out(const Action& action) {
    GFXGRAPH_TRY(events_.apply(action));
    return tell(action);
  }
  Result<void> apply(const std::monostate&) { return {}; }
  // An event that was carried out.
  template <typename Action>
  Result<void> tell(const Action& action) {
    if (analysis_ != nullptr) analysis_->apply(action);
    if constexpr (std::is_same_v<Action, format::Copy> || std::is_same_v<Action, format::Memset>)
      GFXGRAPH_TRY(tell_race(action));
    if (init_ == nullptr) return {};
    if constexpr (std::is_same_v<Action, format::Copy>) {
      const uint64_t launch = report_.launches == 0 ? 0 : report_.launches - 1;
      GFXGRAPH_ASSIGN_OR_RETURN(const bool found, init_events_->apply(action, launch, sequence_));
      if (found) describe_sites(true);
      return {};
    } else {
      return init_events_->apply(action);
    }
  }
  template <typename Action>
  Result<void> tell_race(const Action& action) {
    if (!race_events_) return {};
    GFXGRAPH_ASSIGN_OR_RETURN(const bool found, race_events_->apply(action, sequence_));
    if (found) describe_sites(true);
    return {};
  }
  bool deep() const { return analysis_ != nullptr || race_ != nullptr || init_ != nullptr; }
  Result<void> apply(const format::AllocationBegin& allocation) {
    images_.see(allocation);
    if (allocation.kind != format::AllocationKind::kModuleGlobal) {
      format::AllocationBegin room;
      GFXGRAPH_ASSIGN_OR_RETURN(const auto* const here, images_.placed(allocation, room));
      GFXGRAPH_TRY(events_.apply(*here));
      if (race_events_) race_events_->apply(*here);
      return tell(*here);
    }
    format::AllocationBegin placed = allocation;
    if (allocation.host_address != 0) {  // a __managed__ variable: memory that a pointer leads to
      point_to_managed(code_, allocation, memory_);
      placed.kind = format::AllocationKind::kManaged;
    } else {
      placed.recorded_address = global_address(code_, allocation);
    }
    GFXGRAPH_TRY(events_.apply(placed));
    if (race_events_) race_events_->apply(placed);
    if (analysis_ != nullptr) analysis_->apply(placed);
    return {};
  }
  Result<void> apply(const format::Launch& launch) { return run_launch(launch); }
  Result<void> apply(const format::GraphLaunch& launch) {
    if (launch.graph == 0 || launch.graph > trace_.graphs().size()) {
      return fail(Status::kCorrupt, fmt::format("graph {} does not exist", launch.graph));
    }
    uint32_t index = 0;
    for (const format::GraphNode& node : trace_.graphs()[launch.graph - 1].nodes) {
      GFXGRAPH_TRY(within_budget());
      if (analysis_ != nullptr) analysis_->next_node(launch.graph, index++);
      GFXGRAPH_TRY(std::visit([this](const auto& action) { return apply(action); }, node.action));
    }
    return {};
  }

  Result<void> run_launch(const format::Launch& launch) {
    const uint64_t index = report_.launches++;
    if (options_.progress) options_.progress(index, all_launches_);
    RaceCheck::Work work;
    if (race_events_) work = race_events_->next_work(sequence_);
    if (launch.kernel == 0 || launch.kernel > trace_.kernels().size()) {
      return fail(Status::kCorrupt, fmt::format("kernel {} does not exist", launch.kernel));
    }
    const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
    Result<void> done = dispatch(index, kernel, launch, std::move(work));
    describe_sites();
    if (budget_.exhausted()) {
      --report_.launches;  // not, or not wholly
      return {};
    }
    if (!done && !selection_.has_launch(launch.kernel, index)) {
      ++report_.failed_launches;
      if (unselected_failed_++ == 0) {
        report_.notes.push_back(
            fmt::format("launch {} of {}, which is not selected, failed: {}; later launches may "
                        "compute on wrong data",
                        index, kernel.name, done.error().message));
      }
      return {};
    }
    if (!done && report_.failed_launches++ < Report::kMaxFailed) {
      report_.failed.push_back({index, sequence_, kernel.name, done.error().message,
                                done.error().status == Status::kDevice,
                                std::exchange(fault_, std::nullopt)});
    }
    return {};
  }

  Result<void> dispatch(uint64_t index, const format::Kernel& kernel, const format::Launch& launch,
                        RaceCheck::Work work) {
    GFXGRAPH_ASSIGN_OR_RETURN(const LaunchCode launched, find_launch_code(code_, kernel));
    const LoadedCode& code = *launched.code;
    const codeobj::Kernel* const found = launched.kernel;
    GFXGRAPH_ASSIGN_OR_RETURN(const LaunchShape shape, launch_shape(launch));
    GFXGRAPH_TRY(can_run(shape));
    if (std::optional<std::string> why = images_.refuses(launch))
      return fail(Status::kUnsupported, *std::move(why));
    GFXGRAPH_ASSIGN_OR_RETURN(const emulator::Dispatch dispatch,
                              frame_.fill(index, launch, kernel, shape, code, *found, &services_));

    static std::atomic<uint64_t> launches{0};
    observer_.launch = provenance_.launch = ++launches;
    if (analysis_ != nullptr) analysis_->begin_launch(index, launch, dispatch.kernarg_address);
    observer_.next_launch(index, launch.kernel);
    if (race_ != nullptr)
      race_->next_launch(index, launch.kernel, race_code_of(code), std::move(work));
    if (init_ != nullptr) init_->next_launch(launch.kernel, sequence_);
    KernelTotals& totals = report_.kernels[launch.kernel - 1];
    ++totals.launches;
    const tl::expected<emulator::RunStatistics, emulator::Fault> ran = engine_->run(dispatch);
    if (analysis_ != nullptr) analysis_->end_launch(ran ? ran->wave_instructions : 0);
    for (const WaitCheck::Place& place :
         waits_.reached_places(code.load_address + found->entry_address))
      sites_.add(launch.kernel, wait_event(place, index, code_));
    budget_.settle(ran ? ran->wave_instructions : UINT64_MAX);
    totals.dropped_lanes += observer_.take_dropped_lanes();
    if (!ran) {
      if (ran.error().kind == emulator::FaultKind::kOutOfMemory) {
        budget_.host_is_out_of_memory();
        return fail(Status::kOutOfMemory, budget_.reason());
      }
      const auto event = fault_event(ran.error(), dispatch, services_.error_text());
      if (event && selection_.has(class_text(event->finding_class).tool)) {
        sites_.add(launch.kernel, *event);
        fault_ = event->finding_class;
      }
      return fail(Status::kDevice, ran.error().to_string());
    }
    ++totals.ended;
    totals.wave_instructions += ran->wave_instructions;
    report_.wave_instructions += ran->wave_instructions;
    if (!services_.refused().empty()) return fail(Status::kUnsupported, services_.refused());
    return {};
  }

  // Each wave executes one instruction at least.
  Result<void> can_run(const LaunchShape& shape) {
    constexpr uint64_t kMaxLanes = 64;
    unsigned __int128 items = 1;
    unsigned __int128 groups = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      items *= shape.grid_items[axis];
      groups *= (uint64_t{shape.grid_items[axis]} + shape.block[axis] - 1) / shape.block[axis];
    }
    const unsigned __int128 waves = std::max(groups, items / kMaxLanes);
    if (budget_.can_spend(waves > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(waves)))
      return {};
    return fail(Status::kOutOfMemory, budget_.reason());
  }

  // ---- findings ----

  // Buffers come and go, so the nearest one is looked up while the launch's buffers live.
  // `of_transfers`: the hazard was found after the launch.
  void describe_sites(bool of_transfers = false) {
    for (auto& [key, site] : sites_.all()) {
      const bool late =
          key.finding_class == FindingClass::kR7 || key.finding_class == FindingClass::kR8 ||
          key.finding_class == FindingClass::kU3 || key.finding_class == FindingClass::kU4;
      if (site.nearest) continue;
      if (!(of_transfers && late) && site.first.place.launch + 1 != report_.launches) continue;
      site.event_sequence = site.first.trace_event != 0 ? site.first.trace_event : sequence_;
      if (site.first.access_bytes == 0) continue;  // no access
      site.nearest = nearest_to(site.first);
      add_heap_places(site.first);
      if (site.first.pointer != 0) site.owner = memory_.owner(site.first.address);
    }
  }

  // Where the block of an access to the heap was requested, and freed.
  void add_heap_places(LaneEvent& event) const {
    if (event.space != emulator::Space::kGlobal || !services_.heap().holds(event.address)) return;
    const auto block = services_.heap().nearest(event.address);
    if (!block || block->allocated_at == 0) return;
    event.detail = "allocated at " + place_text(code_, block->allocated_at);
    if (event.finding_class == FindingClass::kE11)
      event.detail += " and freed at " + place_text(code_, block->freed_at);
  }

  std::optional<NearestBuffer> nearest_to(const LaneEvent& event) const {
    if (event.pointer != 0) return memory_.relative_to(event.pointer, event.address);
    if (event.space == emulator::Space::kGlobal && services_.heap().holds(event.address)) {
      const auto block = services_.heap().nearest(event.address);
      return block ? std::optional(lanecheck::describe(*block, event.address)) : std::nullopt;
    }
    if (event.space == emulator::Space::kGlobal) return memory_.nearest(event.address);
    NearestBuffer local;
    local.name =
        event.space == emulator::Space::kLds ? "the workgroup's LDS" : "the lane's scratch";
    local.size_bytes = local.mapped_bytes = event.space_bytes;
    local.distance_bytes = static_cast<int64_t>(event.address - event.space_bytes);
    return local;
  }

  Finding make_finding(const Sites::Key& key, const Site& site) const {
    Finding finding;
    finding.finding_class = key.finding_class;
    finding.severity = severity_of(key.finding_class, options_);
    finding.kernel = key.kernel == 0 ? "(none)" : trace_.kernels()[key.kernel - 1].name;
    finding.mnemonic =
        site.first.mnemonic.empty() ? emulator::op_name(site.first.op) : site.first.mnemonic;
    if (const LoadedCode* const code = find_code(code_, key.pc)) {
      finding.code_address = key.pc - code->load_address;
      finding.source = user_line(*code->object, finding.code_address);
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
    finding.in_launches = site.launches;
    finding.launches = count_of(site.launches);
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
    if (site.first.other_pc != 0) finding.detail += " at " + place_text(code_, site.first.other_pc);
    finding.places = {
        {finding.code_address, finding.kernel_offset, finding.mnemonic, finding.events}};
    if (!site.owner.empty()) finding.detail = "lands in " + site.owner;
    return finding;
  }

  // Reports repeat names and texts in several forms; names are readable there, too.
  static constexpr uint64_t kCopies = 8;
  // Counts a finding's text. False: over the budget, and the report says so.
  bool take_text(uint64_t size_bytes) {
    if (budget_.take_memory(kCopies * size_bytes, "the report's text")) return true;
    if (!report_.stopped) stop(trace_.events().size());
    return false;
  }
  uint64_t text_bytes(const Sites::Key& key, const Site& site) {
    uint64_t size = sizeof(Finding) + site.first.detail.size() + site.owner.size();
    if (site.nearest) size += site.nearest->name.size();
    if (key.kernel == 0) return size;
    const std::string& name = trace_.kernels()[key.kernel - 1].name;
    uint64_t& readable = readable_bytes_[key.kernel];
    if (readable == 0) readable = 1 + demangle(name).size();
    return size + name.size() + readable;
  }
  static uint64_t text_bytes(const std::vector<codeobj::SourceLocation>& stack) {
    uint64_t size = sizeof(FindingPlace);
    for (const codeobj::SourceLocation& frame : stack)
      size += sizeof(frame) + frame.file.size() + frame.function.size();
    return size;
  }

  void finish() {
    // Kernels with the same name may come from several objects.
    std::map<std::tuple<std::string, uint64_t>, const codeobj::CodeObject*> objects;
    for (const auto& [key, site] : sites_.all()) {
      if (!take_text(text_bytes(key, site))) break;
      const Finding& finding = report_.findings.emplace_back(make_finding(key, site));
      if (const LoadedCode* const code = find_code(code_, key.pc))
        objects.try_emplace({finding.kernel, finding.code_address}, code->object.get());
    }
    group_by_line(report_.findings);
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) {
                       return std::tuple(-static_cast<int>(a.severity), a.launch, a.code_address) <
                              std::tuple(-static_cast<int>(b.severity), b.launch, b.code_address);
                     });
    const CallSites calls(trace_);
    CodeWindows windows;
    for (const Finding& finding : report_.findings) {
      FindingPlace& place = report_.places.emplace_back();
      const auto object = objects.find({finding.kernel, finding.code_address});
      if (object != objects.end()) {
        place.inline_stack = codeobj::inline_stack(*object->second, finding.code_address);
        if (!take_text(text_bytes(place.inline_stack))) place.inline_stack.clear();
        place.code = windows.around(*object->second, finding.code_address);
      }
      report_.calls.push_back(
          {calls.of_event(finding.event_sequence),
           finding.nearest ? calls.of_allocation(finding.nearest->allocation) : std::string(),
           calls.site_of_event(finding.event_sequence),
           finding.nearest ? calls.site_of_allocation(finding.nearest->allocation) : 0});
    }
    report_.empty_exec_scalar_loads = observer_.empty_exec_loads();
    report_.buffers_compared = events_.comparison().compared;
    report_.buffers_equal = events_.comparison().equal;
    if (report_.buffers_equal != report_.buffers_compared) {
      report_.notes.push_back(
          fmt::format("{} of {} buffers differ from the recording (first: {}); the run diverged, "
                      "for example by the order of atomics",
                      report_.buffers_compared - report_.buffers_equal, report_.buffers_compared,
                      events_.comparison().first_different));
    }
    if (race_ != nullptr)
      report_.notes.insert(report_.notes.end(), race_->notes().begin(), race_->notes().end());
    if (!trace_.complete()) {
      report_.notes.push_back(
          "the recording lacks calls that changed device state; gfxgraph-record and "
          "gfxgraph info list them");
    }
  }

  const format::Trace& trace_;
  const CheckOptions& options_;
  Selection selection_;
  Report report_;
  Budget& budget_;
  TraceAnalysis* const analysis_;
  DeviceMemory memory_;
  Images images_;
  Sites sites_;
  HostServices services_;
  WaitCheck waits_;
  std::unique_ptr<RaceCheck> race_;  // null: not asked for
  std::optional<RaceEvents> race_events_;
  std::unique_ptr<InitCheck> init_;  // null: not asked for
  std::optional<InitEvents> init_events_;
  BudgetObserver observer_;
  BudgetProvenance provenance_;
  MemoryEvents events_;
  OrderedEnds ends_;
  std::unique_ptr<emulator::Engine> engine_;
  std::vector<LoadedCode> code_;
  LaunchFrame frame_;
  std::optional<FindingClass> fault_;  // of the launch that has just ended
  uint64_t sequence_ = 0;
  uint64_t launches_before_ = 0;  // this event
  uint64_t unselected_failed_ = 0;
  uint64_t all_launches_ = 0;  // for progress
  uint64_t analysed_bytes_ = 0;
  std::map<uint32_t, uint64_t> readable_bytes_;  // by kernel: of its readable name, and one
};

}  // namespace

Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options) {
  GFXGRAPH_ASSIGN_OR_RETURN(Selection selection, Selection::make(trace, options.selection));
  Budget budget(options.limits);
  return TraceCheck(trace, options, std::move(selection), budget, nullptr).run();
}

Result<Report> run_analysis(const format::Trace& trace, const CheckOptions& options, Budget& budget,
                            TraceAnalysis& analysis) {
  GFXGRAPH_ASSIGN_OR_RETURN(Selection selection, Selection::make(trace, options.selection));
  return TraceCheck(trace, options, std::move(selection), budget, &analysis).run();
}

Result<MaskedLaneMode> parse_masked_lane_mode(std::string_view text) {
  if (text == "off") return MaskedLaneMode::kOff;
  if (text == "warn") return MaskedLaneMode::kWarn;
  if (text == "error") return MaskedLaneMode::kError;
  if (text == "literal") return MaskedLaneMode::kLiteral;
  return fail(Status::kInvalidArgument,
              fmt::format("'{}' is not a masked-lane mode; use off, warn, error or literal", text));
}

uint64_t Report::count(Severity severity) const {
  return static_cast<uint64_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.severity == severity && finding.suppressed_by.empty();
      }));
}

uint64_t Report::lost_launches() const {
  const auto with_finding =
      static_cast<uint64_t>(std::ranges::count_if(failed, [](const FailedLaunch& one) {
        return one.finding && class_text(*one.finding).severity == Severity::kError;
      }));
  return failed_launches - with_finding;
}

uint64_t Report::count_suppressed() const {
  return static_cast<uint64_t>(std::ranges::count_if(
      findings, [](const Finding& finding) { return !finding.suppressed_by.empty(); }));
}

}  // namespace gfxgraph::lanecheck
