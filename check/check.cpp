#include "check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "check/calls/call_check.h"
#include "check/calls/leak_check.h"
#include "check/deep/deep_observer.h"
#include "check/init/init_check.h"
#include "check/init/init_events.h"
#include "check/launch/host_services.h"
#include "check/launch/kernel_fault.h"
#include "check/order/data_order_events.h"
#include "check/race/race_check.h"
#include "check/race/race_events.h"
#include "check/report/sites.h"
#include "check/run/budget_engine.h"
#include "check/run/execution.h"
#include "check/run/findings.h"
#include "check/run/trace_analysis.h"

namespace gfxgraph::check {
namespace {

// One pass over a trace.
class TraceCheck final : public Listener {
 public:
  // `analysis`: in place of findings; may be null.
  TraceCheck(const format::Trace& trace, const CheckOptions& options, Selection selection,
             Budget& budget, const TraceAnalysis* analysis)
      : trace_(trace),
        options_(options),
        selection_(std::move(selection)),
        budget_(budget),
        words_(analysis == nullptr ? nullptr : analysis->words),
        order_(analysis == nullptr ? nullptr : analysis->order),
        executed_(analysis == nullptr ? nullptr : analysis->executed),
        execution_(
            trace, budget, report_.notes,
            {.taken = Taken::kStays,
             .failed = [this](uint64_t index, const format::Kernel& kernel,
                              Error why) { return launch_failed(index, kernel, std::move(why)); }}),
        services_(execution_.memory(), sites_, budget_),
        race_(make<RaceCheck>(Tool::kRacecheck, execution_.memory().map(), sites_, budget_)),
        init_(make<InitCheck>(Tool::kInitcheck, sites_, budget_)),
        observer_(budget_, execution_.memory().map(), sites_,
                  LaneObserver::Options{
                      options.masked_lane != MaskedLaneMode::kOff && selection_.has(Tool::kLanes),
                      options.masked_lane == MaskedLaneMode::kLiteral, &waits_,
                      &execution_.memory().freed(), &services_.heap()},
                  race_.get(), init_.get()),
        provenance_(budget_, words_, order_),
        perf_(make<PerfCheck>(Tool::kPerf, budget_)),
        perf_observer_(budget_, perf_.get()),
        executed_observer_(budget_, executed_),
        findings_(trace, options, budget, sites_, execution_.memory(), services_.heap(),
                  execution_.code()) {
    report_.tools = options.selection.tools;
    sites_.set_budget(budget_);
    sites_.set_filter([this](uint32_t kernel, const LaneEvent& event) {
      return selection_.has(class_text(event.finding_class).tool) &&
             selection_.has_launch(kernel, event.place.launch);
    });
    listen();
  }

  Result<Report> run() {
    if (options_.progress) all_launches_ = count_launches(trace_);
    if (Result<void> ready = set_up(); !ready) {
      if (!budget_.exhausted()) return tl::unexpected<Error>(std::move(ready).error());
      stop(0);
      return std::move(report_);
    }
    const size_t events = trace_.events().size();
    for (size_t at = 0; at < events; ++at) {
      launches_before_ = report_.launches;
      Result<void> done = execution_.run_event(at);
      if (budget_.exhausted()) {
        stop(at);
        break;
      }
      if (!done) {
        return with_context(std::move(done).error(),
                            fmt::format("event {}", execution_.sequence()));
      }
    }
    finish();
    return std::move(report_);
  }

 private:
  template <typename Made, typename... Arguments>
  std::unique_ptr<Made> make(Tool tool, Arguments&&... arguments) {
    return selection_.has(tool) ? std::make_unique<Made>(std::forward<Arguments>(arguments)...)
                                : nullptr;
  }
  // A tool is an observer of accesses, a listener, or both. This one listens last.
  void listen() {
    const auto late = [this] { findings_.describe(report_.launches, execution_.sequence(), true); };
    if (words_ != nullptr) {
      words_->follow(execution_.memory());
      execution_.add(*words_);
    }
    if (order_ != nullptr) execution_.add(order_events_.emplace(*order_));
    if (race_ != nullptr)
      execution_.add(race_events_.emplace(trace_, *race_, execution_.memory(), budget_, late));
    if (init_ != nullptr) execution_.add(init_events_.emplace(*init_, late));
    if (selection_.has(Tool::kApicheck) && !analyses())
      execution_.add(calls_.emplace(trace_, execution_.memory(), sites_));
    if (perf_ != nullptr) execution_.add(*perf_);
    execution_.add(*this);
  }

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
        sites_.add(observer_.kernel(), barrier_event(barrier, execution_.code(),
                                                     *execution_.memory().map().snapshot()));
      };
      engine_options.on_foreign_grid_barrier = [this](const emulator::GridBarrier& barrier) {
        sites_.add(observer_.kernel(), grid_event(barrier));
      };
    }
    engine_options.host_functions = &services_.functions();
    engine_options.on_message = [this](uint32_t, uint32_t) { services_.on_message(); };
    // The observers have two bits for each dword.
    constexpr uint64_t kScratchShadow = 16;
    engine_ = make_engine(execution_.with_budget(std::move(engine_options), kScratchShadow));
    observer_.engine = provenance_.engine = perf_observer_.engine = executed_observer_.engine =
        engine_.get();
    GFXGRAPH_TRY(execution_.load(*engine_, &services_));
    std::set<std::string_view> launched;
    for (const format::Kernel& kernel : trace_.kernels()) launched.insert(kernel.name);
    for (const LoadedCode& code : execution_.code()) {
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
        if (!options_.watch_all && !analyses() && perf_ == nullptr)
          observer_.add_kernel(code.load_address + kernel.descriptor_address, most_analysed());
        if (selection_.has(Tool::kSynccheck)) add_waits(code, kernel);
        GFXGRAPH_TRY(take_analyses());
      }
    }
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

  bool analyses() const { return words_ != nullptr || order_ != nullptr || executed_ != nullptr; }
  bool deep() const {
    return analyses() || race_ != nullptr || init_ != nullptr || perf_ != nullptr;
  }
  std::unique_ptr<emulator::Engine> make_engine(const emulator::EngineOptions& options) {
    emulator::MemoryMap& memory = execution_.memory().map();
    if (executed_ != nullptr) return create_engine(memory, options, executed_observer_);
    if (analyses()) return create_engine(memory, options, provenance_);
    if (perf_ != nullptr) return create_engine(memory, options, perf_observer_);
    return create_engine(memory, options, observer_, deep() ? Watch::kDeep : Watch::kLanes);
  }

  void add_waits(const LoadedCode& code, const codeobj::Kernel& kernel) {
    const auto table = execution_.memory().map().snapshot();
    const std::string why =
        waits_.add_kernel(code.load_address + kernel.entry_address, *table, most_analysed());
    if (why.empty()) return;
    report_.notes.push_back(
        fmt::format("kernel {}: not all missing waits (S3, S7) are found: {}", kernel.name, why));
  }

  // ---- launches ----

  void next_launch(uint64_t index, const format::Launch&) override {
    report_.launches = index + 1;
    if (options_.progress) options_.progress(index, all_launches_);
  }
  void before_run(const LaunchRun& run) override {
    observer_.launch = provenance_.launch = perf_observer_.launch = executed_observer_.launch =
        next_launch_number();
    observer_.next_launch(run.index, run.launch.kernel);
    ++totals_of(run).launches;
  }
  void after_run(const LaunchRun& run,
                 const tl::expected<emulator::RunStatistics, emulator::Fault>& ran) override {
    const uint32_t kernel = run.launch.kernel;
    for (const MissingWait& place :
         waits_.reached_places(run.code.load_address + run.kernel.entry_address))
      sites_.add(kernel, wait_event(place, run.index, execution_.code()));
    KernelTotals& totals = totals_of(run);
    totals.dropped_lanes += observer_.take_dropped_lanes();
    if (ran) {
      ++totals.ended;
      totals.wave_instructions += ran->wave_instructions;
      report_.wave_instructions += ran->wave_instructions;
    } else if (ran.error().kind != emulator::FaultKind::kOutOfMemory) {
      const auto event = fault_event(ran.error(), run.dispatch, services_.error_text());
      if (event && selection_.has(class_text(event->finding_class).tool)) {
        sites_.add(kernel, *event);
        fault_ = event->finding_class;
      }
    }
    findings_.describe(report_.launches, execution_.sequence());
  }
  KernelTotals& totals_of(const LaunchRun& run) { return report_.kernels[run.launch.kernel - 1]; }

  Result<void> launch_failed(uint64_t index, const format::Kernel& kernel, Error why) {
    const std::optional<FindingClass> finding = std::exchange(fault_, std::nullopt);
    if (budget_.exhausted()) {
      --report_.launches;  // not, or not wholly
      return {};
    }
    if (!selection_.has_launch(kernel.id, index)) {
      ++report_.failed_launches;
      if (unselected_failed_++ == 0) {
        report_.notes.push_back(
            fmt::format("launch {} of {}, which is not selected, failed: {}; later launches may "
                        "compute on wrong data",
                        index, kernel.name, why.message));
      }
      return {};
    }
    if (report_.failed_launches++ < Report::kMaxFailed) {
      report_.failed.push_back({index, execution_.sequence(), kernel.name, std::move(why.message),
                                why.status == Status::kDevice, finding});
    }
    return {};
  }

  void finish() {
    if (selection_.has(Tool::kLeakcheck) && !report_.stopped)
      find_leaks(trace_, sites_, report_.notes);
    if (perf_ != nullptr) report_.perf = perf_->finish(trace_, execution_.code(), sites_);
    if (executed_ != nullptr) executed_->finish(execution_.code());
    if (!findings_.finish(report_) && !report_.stopped) stop(trace_.events().size());
    report_.empty_exec_scalar_loads = observer_.empty_exec_loads();
    const Comparison& comparison = execution_.events().comparison();
    report_.buffers_compared = comparison.compared;
    report_.buffers_equal = comparison.equal;
    if (report_.buffers_equal != report_.buffers_compared) {
      report_.notes.push_back(
          fmt::format("{} of {} buffers differ from the recording (first: {}); the run diverged, "
                      "for example by the order of atomics",
                      report_.buffers_compared - report_.buffers_equal, report_.buffers_compared,
                      comparison.first_different));
    }
    if (race_ != nullptr)
      report_.notes.insert(report_.notes.end(), race_->notes().begin(), race_->notes().end());
    if (!trace_.complete()) {
      report_.notes.push_back(
          "the trace is incomplete, so memory may not be that of the program; gfxgraph info says "
          "why");
    }
  }

  const format::Trace& trace_;
  const CheckOptions& options_;
  Selection selection_;
  Report report_;
  Budget& budget_;
  Provenance* const words_;  // null: not asked for, as the following
  DataOrder* const order_;
  ExecutedCode* const executed_;
  Execution execution_;
  Sites sites_;
  HostServices services_;
  WaitCheck waits_;
  const std::unique_ptr<RaceCheck> race_;
  const std::unique_ptr<InitCheck> init_;
  BudgetObserver observer_;
  BudgetProvenance provenance_;
  const std::unique_ptr<PerfCheck> perf_;
  BudgetPerf perf_observer_;
  BudgetExecuted executed_observer_;
  std::unique_ptr<emulator::Engine> engine_;  // its observers outlive it
  Findings findings_;
  std::optional<DataOrderEvents> order_events_;
  std::optional<RaceEvents> race_events_;
  std::optional<InitEvents> init_events_;
  std::optional<CallCheck> calls_;
  std::optional<FindingClass> fault_;  // of the launch that has just ended
  uint64_t launches_before_ = 0;       // this event
  uint64_t unselected_failed_ = 0;
  uint64_t all_launches_ = 0;  // for progress
  uint64_t analysed_bytes_ = 0;
};

}  // namespace

Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options) {
  GFXGRAPH_ASSIGN_OR_RETURN(Selection selection, Selection::make(trace, options.selection));
  Budget budget(options.limits);
  return TraceCheck(trace, options, std::move(selection), budget, nullptr).run();
}

Result<Report> run_analysis(const format::Trace& trace, const CheckOptions& options, Budget& budget,
                            const TraceAnalysis& analysis) {
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

std::vector<uint64_t> Report::findings_of_executed() const {
  std::vector<uint64_t> counts;
  for (const ExecutedKernel& kernel : execution.kernels) {
    counts.push_back(
        static_cast<uint64_t>(std::ranges::count_if(findings, [&](const Finding& finding) {
          return finding.kernel == kernel.kernel && finding.severity != Severity::kNote &&
                 finding.suppressed_by.empty();
        })));
  }
  return counts;
}

std::string Report::tool_list() const {
  std::string list;
  for (size_t n = 0; n < kTools; ++n)
    if (tools[n]) list += (list.empty() ? "" : ", ") + std::string(tool_name(static_cast<Tool>(n)));
  return list;
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

}  // namespace gfxgraph::check
