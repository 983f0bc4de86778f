// gfxgraph-replay: replays a trace, says whether memory ends up as recorded, and how long it took.
#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/output.h"
#include "base/cli/print.h"
#include "base/cli/progress.h"
#include "base/demangle.h"
#include "base/file/new_file.h"
#include "base/log.h"
#include "base/process/device.h"
#include "base/process/preload.h"
#include "base/result.h"
#include "replayer/check/fingerprint.h"
#include "replayer/tool/bench.h"
#include "replayer/tool/device_map.h"
#include "replayer/tool/interrupt.h"
#include "replayer/tool/iterate.h"
#include "replayer/tool/options.h"
#include "replayer/tool/prove.h"
#include "replayer/tool/prove_order.h"
#include "replayer/tool/range_end.h"
#include "replayer/tool/report.h"
#include "replayer/tool/run.h"
#include "replayer/tool/schedule.h"
#include "replayer/tool/watchdog.h"

namespace gfxgraph::replayer {
namespace {

constexpr const char* kNothingProven =
    ": the trace does not say which words are pointers; gfxgraph provenance TRACE --write finds "
    "out";

Mode parse_mode(const std::string& text) {
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kPackets}) {
    if (text == mode_name(mode)) return mode;
  }
  return Mode::kAuto;
}

Result<void*> load(std::string_view library) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::filesystem::path path, private_library(library));
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL); handle != nullptr) return handle;
  const char* reason = dlerror();
  return fail(Status::kDevice, fmt::format("the software agent cannot be loaded: {}",
                                           reason == nullptr ? path.string() : reason));
}

// The HIP runtime names its HSA runtime by soname: one that is loaded already is taken. A kernel
// that faults on the agent is an error of HIP: where HIP's functions are to be found then.
Result<HipLibrary::Lookup> load_software_agent() {
  GFXGRAPH_TRY(load("libhsa-runtime64.so.1"));
  GFXGRAPH_ASSIGN_OR_RETURN(void* const errors, load(kHipErrorsLibrary));
  const auto find = reinterpret_cast<HipLibrary::Lookup>(dlsym(errors, preload::kHipErrorsDlsym));
  if (find == nullptr) {
    return fail(Status::kDevice, fmt::format("{} lacks {}: it is of another version of gfxgraph",
                                             kHipErrorsLibrary, preload::kHipErrorsDlsym));
  }
  // Where this replay is recorded itself, the recorder's dlsym() calls that one.
  if (dlsym(RTLD_DEFAULT, "gfxgraph_recorder_mark") != nullptr) return &dlsym;
  return find;
}

Result<std::shared_ptr<const Program>> open_program(const Arguments& arguments) {
  format::ReadOptions options;
  options.allow_torn = arguments.allow_torn;
  options.lazy = true;
  options.pointers = arguments.pointers == "typed"     ? format::PointerUse::kTyped
                     : arguments.pointers == "matched" ? format::PointerUse::kRecorded
                                                       : format::PointerUse::kProven;
  Result<std::shared_ptr<const format::Trace>> trace =
      format::Trace::open(arguments.trace, options);
  if (!trace) return tl::unexpected<Error>(std::move(trace).error());
  if (arguments.pointers == "proven" && !(*trace)->provenance().made)
    return fail(Status::kInvalidArgument, arguments.trace + kNothingProven);
  if (!(*trace)->sealed())
    console::message(fmt::format("truncated trace: {}", (*trace)->torn_reason()));
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                            Program::build(std::move(*trace), arguments.max_operations));
  const Result<void> complete = program->check_complete(arguments.allow_torn);
  if (!complete && !arguments.allow_incomplete) return tl::unexpected<Error>(complete.error());
  if (!complete) console::message("warning: " + complete.error().message);
  if (const size_t more = program->trace().devices().size(); more != 0) {
    console::message(fmt::format("one device does the work of the program's {} devices", more + 1));
  }
  return program;
}

// A part of the trace that a step is made of.
struct Selected {
  std::shared_ptr<const Program> whole;
  std::shared_ptr<const Range> range;  // all of it without --range
  EventRange events() const { return {range->program->first_event(), range->program->end_event()}; }
};

Result<Selected> select_range(const Arguments& arguments, std::shared_ptr<const Program> whole) {
  std::optional<ranges::RangeSummary> found;
  if (!arguments.range.empty()) {
    GFXGRAPH_ASSIGN_OR_RETURN(found, find_range_or_period(whole->trace(), arguments.range));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Range> range,
                            open_range(whole, found ? &*found : nullptr));
  return Selected{std::move(whole), std::move(range)};
}

// "kernel scale arguments x (kernarg offset 8), y (kernarg offset 16), first in launch 3"
std::string ambiguous_kernel(std::span<const AmbiguousWord> words) {
  constexpr size_t kMostName = 80;
  constexpr size_t kMostArguments = 4;
  std::string text =
      fmt::format("kernel {} argument{}", short_function_name(demangle(words[0].kernel), kMostName),
                  words.size() == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(words.size(), kMostArguments); ++i) {
    text += fmt::format("{} {} (kernarg offset {})", i == 0 ? "" : ",", words[i].argument,
                        words[i].offset_bytes);
  }
  if (words.size() > kMostArguments)
    text += fmt::format(" and {} more", words.size() - kMostArguments);
  const auto first = std::ranges::min_element(words, {}, &AmbiguousWord::first_launch);
  return text + fmt::format(", first in launch {}", first->first_launch);
}

// The text for all ambiguous words of one kernel, or of one place in memory.
std::string ambiguous_text(std::span<const AmbiguousWord> words) {
  const AmbiguousWord& first = words[0];
  uint64_t count = 0;
  bool one_target = true;
  for (const AmbiguousWord& word : words) {
    count += word.words;
    one_target = one_target && word.targets == 1 && word.allocation == first.allocation;
  }
  std::string target = fmt::format("buffer #{}", first.allocation);
  if (!one_target) {
    target = words.size() == 1
                 ? fmt::format("{} buffers (the first: #{})", first.targets, first.allocation)
                 : fmt::format("several buffers (the first: #{})", first.allocation);
  }
  const std::string place =
      first.content.empty()
          ? ambiguous_kernel(words)
          : fmt::format("{} buffer #{} (event {}), first at byte {}", first.content, first.buffer,
                        first.first_event, first.offset_bytes);
  return fmt::format("{}: {} with a value inside {}", place, counted(count, "word"), target);
}

// One line for each kernel and each place in memory.
void warn_ambiguous(const Arguments& arguments, std::span<const AmbiguousWord> words) {
  const char* const done = arguments.ambiguous == "keep" ? "left alone" : "relocated";
  constexpr size_t kMostLines = 20;
  size_t lines = 0;
  while (!words.empty()) {
    size_t same = 1;
    while (words[0].content.empty() && same < words.size() && words[same].content.empty() &&
           words[same].kernel == words[0].kernel) {
      ++same;
    }
    if (lines++ < kMostLines) {
      console::message(fmt::format("ambiguous: {}; {}, but nothing proves what they are",
                                   ambiguous_text(words.first(same)), done));
    }
    words = words.subspan(same);
  }
  if (lines > kMostLines) {
    console::message(
        fmt::format("ambiguous: {} more kernels and places, which gfxgraph info "
                    "--relocations lists",
                    lines - kMostLines));
  }
}

Result<void> write_json(const Arguments& arguments, const std::string& json) {
  if (arguments.json == "-") {
    write_text(stdout, json);
    return {};
  }
  return write_new_file(arguments.json, FileUse::kReport, std::as_bytes(std::span(json)));
}

Verification verification(const Arguments& arguments) {
  if (arguments.no_verify) return Verification::kNone;
  return arguments.verify ? Verification::kEveryRun : Verification::kFirstAndLast;
}

// Calls the line, which must outlive it; empty if nothing is shown.
Progress listener(ProgressLine& line) {
  if (!line.listens()) return {};
  return {[&line](const std::string& text) { line.at(text); },
          [&line](const std::string& text) { line.found(text); },
          [&line](const std::string& text, uint64_t done, uint64_t total) {
            line.at(text, done, total);
          }};
}

LoadOptions load_options(const Arguments& arguments, const EventRange& range) {
  LoadOptions options;
  options.mode = parse_mode(arguments.mode);
  options.layout = arguments.layout == "shift" ? Layout::kShift : Layout::kSame;
  options.graph_max_nodes = arguments.graph_max_nodes;
  options.graph_linear = arguments.graph_linear;
  options.keep_ambiguous = arguments.ambiguous == "keep";
  options.zero_unknown = true;  // the report says so, and verification compares nothing of it
  options.poison_fresh = arguments.fresh == "poison";
  options.max_memory_bytes = arguments.max_memory;
  options.auto_seconds = arguments.auto_seconds;
  options.auto_eager = true;  // nothing follows a run but a wait
  options.values_change = !arguments.iterate.empty();
  const bool packed = arguments.memory == "auto"
                          ? arguments.no_verify && arguments.order == "recorded"
                          : arguments.memory == "packed";
  options.memory = packed ? MemoryUse::kPacked : MemoryUse::kApart;
  options.keep_freed = packed && !arguments.no_verify;
  options.only_range = range;
  return options;
}

bool calls_host(const format::Kernel& kernel) {
  return std::ranges::any_of(kernel.arguments, [](const format::Argument& argument) {
    return argument.value_kind == "hidden_hostcall_buffer";
  });
}

Result<std::shared_ptr<const HipLibrary>> load_hip(const Arguments& arguments, bool emulated,
                                                   const Program& program) {
  // Read by the software agent: what a kernel's arguments in a trace ask the host to call is only
  // called in programs, not for a trace.
  ::setenv("GFXGRAPH_HOST_CALLS", arguments.allow_host_calls ? "allow" : "deny", 1);
  // HipQuirk::kHostCallsOfOneQueue: its version is not known before it has read this.
  if (std::ranges::any_of(program.trace().kernels(), calls_host)) {
    ::setenv("GPU_MAX_HW_QUEUES", "1", 0);
  }
  HipLibrary::Lookup find = &dlsym;
  if (emulated) {
    GFXGRAPH_ASSIGN_OR_RETURN(find, load_software_agent());
  }
  return HipLibrary::load(program.trace().environment().hip_runtime_version, find);
}

// Blocks of a page or more that the process allocates from now on lie at other addresses than they
// would: in mappings, below this one.
void move_host_memory() {
  constexpr size_t kDistance = size_t{1} << 30;
  constexpr int kPage = 4096;  // registered memory is made of whole ones
  const void* const distance =
      ::mmap(nullptr, kDistance, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (distance == MAP_FAILED) return;  // an address space with a limit
  ::mallopt(M_MMAP_THRESHOLD, kPage);
  // First the heap, which lies below all mappings, gives what it has free.
  const void* const heap_end = ::sbrk(0);
  const void* block = nullptr;
  do block = std::malloc(kPage);
  while (block != nullptr && std::less<>()(block, heap_end));
}

// Runs in a process of its own: batch mode keeps every operation behind the one before it.
Result<Fingerprints> probe(const Arguments& arguments, bool emulated, const Selected& selected,
                           const ProbeRequest& request) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> library,
                            load_hip(arguments, emulated, *selected.whole));
  if (request.elsewhere == Elsewhere::kHostMemory) move_host_memory();
  LoadOptions load = load_options(arguments, selected.events());
  if (request.elsewhere == Elsewhere::kBuffers)
    load.layout = load.layout == Layout::kSame ? Layout::kShift : Layout::kSame;
  load.memory = MemoryUse::kApart;  // it looks at memory before the end, too
  load.keep_freed = false;
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                            Session::load(selected.whole, std::move(library), load));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Instance> instance,
                            Instance::load(std::move(session), selected.range->program));
  ExecutorOptions options;
  options.operation_limit = request.operations;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                            make_batch_executor(*instance, options));
  Fingerprints runs;
  for (uint32_t i = 0; i < request.runs; ++i) {
    GFXGRAPH_TRY(instance->restore());
    GFXGRAPH_TRY(executor->run(nullptr));
    GFXGRAPH_TRY(executor->wait(nullptr));
    GFXGRAPH_TRY(instance->session().synchronize());
    GFXGRAPH_ASSIGN_OR_RETURN(runs.emplace_back(), fingerprint(*instance));
  }
  return runs;
}

// None, with a message, where the whole trace cannot tell it: the buffers are then not compared.
std::optional<RangeEnd> find_range_end(const Arguments& arguments,
                                       const std::shared_ptr<Session>& session,
                                       const Selected& selected, const LoadOptions& options) {
  Result<RangeEnd> found =
      RangeEnd::find(session, selected.whole, *selected.range->program, options);
  if (found) return *std::move(found);
  console::message(fmt::format(
      "the trace does not hold memory at the end of this range, and a replay of the whole trace "
      "does not tell it: {}; \"gfxgraph extract {} --range {} -o NEW.gfxg\" makes a trace of the "
      "range that holds it",
      found.error().message, arguments.trace, arguments.range));
  return std::nullopt;
}

Result<int> bench_trace(const Arguments& arguments, std::shared_ptr<Session> session,
                        std::shared_ptr<const Program> program, const RangeEnd* range_end,
                        const LoadOptions& options, bool emulated, ProgressLine& progress) {
  BenchRequest request;
  request.rounds = arguments.repeat;
  request.range_end = range_end;
  request.step = options;
  request.step.progress = {};
  request.progress = options.progress;
  for (const Mode mode : {Mode::kBatch, Mode::kGraph, Mode::kPackets, Mode::kEager}) {
    const bool asked = options.mode == Mode::kAuto || options.mode == mode;
    if (asked) request.modes.push_back(mode);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(BenchFacts facts,
                            bench(std::move(session), std::move(program), request));
  progress.clear();
  facts.trace_path = arguments.trace;
  facts.range = arguments.range;
  facts.emulated = emulated;
  console::message(fmt::format("device: {} {} ({}), HIP {} from {}", emulated ? "emulated" : "real",
                               facts.device.name, facts.device.arch,
                               version_text(facts.runtime_version), facts.runtime_path));
  if (arguments.json != "-" && !console::options().quiet) {
    const std::string text = bench_text(facts);
    print("{}", Lines{text});
  }
  if (!arguments.json.empty()) GFXGRAPH_TRY(write_json(arguments, bench_json(facts)));
  return bench_exit_code(facts);
}

Result<int> replay_trace(const Arguments& arguments) {
  ReplayFacts facts;
  facts.trace_path = arguments.trace;
  ProgressLine progress(!console::options().quiet && ProgressLine::on_terminal());
  progress.at("reading the trace");
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Program> whole, open_program(arguments));
  GFXGRAPH_ASSIGN_OR_RETURN(const Selected selected, select_range(arguments, std::move(whole)));
  const std::shared_ptr<const Program>& program = selected.range->program;
  LoadOptions options = load_options(arguments, selected.events());
  options.progress = listener(progress);
  progress.clear();
  console::detail(fmt::format("{}: {}, {}, {}", arguments.trace,
                              counted(program->operations().size(), "operation"),
                              counted(program->launch_count(), "launch"),
                              counted(program->allocations().size(), "allocation")));
  if (arguments.no_verify) options.progress.found = nullptr;  // no times then
  facts.mode_asked = options.mode;
  facts.layout = options.layout;
  if (arguments.list) {
    const std::string text = list_text(*selected.range);
    print("{}", Lines{text});
    return kExitOk;
  }
  if (!arguments.device_map.empty()) {
    const size_t recorded = selected.whole->trace().devices().size() + 1;
    GFXGRAPH_ASSIGN_OR_RETURN(options.device, parse_device_map(arguments.device_map, recorded));
  }
  const std::vector<AmbiguousWord> ambiguous = program->ambiguous_words();
  warn_ambiguous(arguments, ambiguous);

  GFXGRAPH_ASSIGN_OR_RETURN(DeviceChoice device, parse_device_choice(arguments.device));
  GFXGRAPH_ASSIGN_OR_RETURN(device, resolve_device(device));
  facts.emulated = device == DeviceChoice::kEmulated;
  // Before any thread starts, and before HIP: neither survives a fork.
  std::optional<ProbeServer> server =
      arguments.no_verify ? std::nullopt : ProbeServer::start([&](const ProbeRequest& request) {
        return probe(arguments, facts.emulated, selected, request);
      });
  std::optional<InterruptNotice> notice(std::in_place);
  Watchdog watchdog(arguments.max_seconds, arguments.trace);
  watchdog.enter("planning its memory");
  options.packing = std::make_shared<const Packing>(plan_packing(*selected.whole, options));
  facts.memory = memory_need(*selected.whole, options, *options.packing);
  if (facts.memory) console::message(memory_text(*facts.memory, options.memory));
  std::shared_ptr<const order::NeededEdges> order;
  if (arguments.order == "proven") {
    watchdog.enter("proving its order");
    progress.at("proving its order");
    GFXGRAPH_ASSIGN_OR_RETURN(
        order, prove_order(arguments.trace, !arguments.range.empty(), arguments.max_seconds));
  }
  watchdog.enter("loading the trace onto the device");
  progress.at("loading the trace onto the device");
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> library,
                            load_hip(arguments, facts.emulated, *selected.whole));
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                            Session::load(selected.whole, std::move(library), options));
  if (order != nullptr) GFXGRAPH_TRY(session->use_order(std::move(order)));
  std::optional<RangeEnd> range_end;
  if (!arguments.no_verify && RangeEnd::is_needed(*selected.whole, *program)) {
    watchdog.enter("replaying the whole trace for the end of the range");
    progress.at("replaying the whole trace for the end of the range");
    range_end = find_range_end(arguments, session, selected, options);
    progress.clear();
  }
  const RangeEnd* const end = range_end ? &*range_end : nullptr;
  if (arguments.bench) {
    watchdog.enter("measuring");
    return bench_trace(arguments, std::move(session), program, end, options, facts.emulated,
                       progress);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Step> replay,
                            Step::prepare(std::move(session), program, options));
  facts.replay = replay.get();
  const Instance& instance = replay->instance();
  progress.clear();
  console::message(
      fmt::format("device: {} {} ({}), HIP {} from {}", facts.emulated ? "emulated" : "real",
                  instance.device().name, instance.device().arch,
                  version_text(instance.library().runtime_version()), instance.library().path()));
  watchdog.enter("replaying and comparing");
  GFXGRAPH_TRY(
      execute({arguments.repeat, verification(arguments), arguments.bisect, options.progress, end},
              *replay, facts));
  notice.reset();

  watchdog.enter("comparing schedules");
  if (facts.report && facts.report->differs()) {
    progress.clear();  // a new line is shown at once, also just after one of the bisection
    progress.at("comparing with other schedules");
  }
  if (facts.report && facts.report->differs() && server) {
    facts.schedule = compare_schedules(
        [&](const ProbeRequest& request) { return server->run(request); }, *facts.report,
        program->allocations().size(), static_cast<uint32_t>(program->operations().size()));
    if (facts.schedule->operation)
      facts.schedule->cause = cause_of(*program, *facts.schedule->operation);
    if (facts.schedule->cause == nullptr) facts.schedule->operation.reset();
    facts.relocates_ambiguous = !ambiguous.empty() && !options.keep_ambiguous;
  }
  watchdog.enter("reporting");
  progress.clear();
  const bool text = arguments.json != "-" && !console::options().quiet;
  if (text) print("{}", Lines{text_report(facts)});
  const Verdict verdict = verdict_of(facts);
  if (!verdict.reason.empty() && !console::options().quiet) console::error(verdict.reason);
  const bool wrong = facts.report && facts.report->differs();
  Result<uint64_t> iterated = 0;
  if (!wrong && !facts.interrupted && !arguments.iterate.empty()) {
    watchdog.enter("running the iterations");
    iterated = iterate(arguments.iterate, *selected.range, *replay, options.progress);
    progress.clear();
    facts.iterations_asked = arguments.iterate.iterations;
    facts.iterations = iterated.value_or(0);
    if (iterated && text) print("{}", Lines{iterations_text(facts)});
  }
  if (!arguments.json.empty()) GFXGRAPH_TRY(write_json(arguments, json_report(facts)));
  if (arguments.report >= 0) GFXGRAPH_TRY(send_report(arguments.report, json_report(facts)));
  if (!iterated) return tl::unexpected<Error>(std::move(iterated).error());
  if (verdict.code == kExitFailed && !ambiguous.empty()) {
    console::message(fmt::format("words that only look like pointers were {}: try --ambiguous {}",
                                 options.keep_ambiguous ? "left alone" : "relocated",
                                 options.keep_ambiguous ? "relocate" : "keep"));
  }
  const bool cut_short = facts.iterations < facts.iterations_asked;
  return cut_short && verdict.code == kExitOk ? kExitInterrupted : verdict.code;
}

int replay_or_say_why(const Arguments& arguments) {
  const Result<int> result = replay_trace(arguments);
  if (result) return *result;
  console::error(fmt::format("{}: {}", arguments.trace, result.error().message));
  return exit_code(result.error().status);
}

// One of the replays of --prove.
int replay_for_proof(Arguments arguments, const ProveSetting& setting, int report) {
  arguments.layout = setting.layout;
  arguments.fresh = setting.fresh;
  arguments.report = report;
  arguments.json.clear();
  console::options().quiet = true;                         // of this process; its report tells all
  if (arguments.mode == "auto") arguments.mode = "batch";  // nothing is to be measured
  return replay_or_say_why(arguments);
}

// Before the replay, which may be long.
Result<void> check_files(const Arguments& arguments) {
  std::vector<std::string> inputs = {arguments.trace};
  for (const std::string& text : arguments.iterate.inputs)
    inputs.push_back(text.substr(text.rfind('=') + 1));
  std::vector<std::string> outputs;
  for (const std::string& text : arguments.iterate.outputs)
    outputs.push_back(text.substr(text.rfind('=') + 1));
  const std::vector<std::string> memory = outputs;
  const bool json_file = !arguments.json.empty() && arguments.json != "-";
  if (json_file) outputs.push_back(arguments.json);
  // The text report or the JSON report goes to standard output.
  if (!json_file || !console::options().quiet) outputs.emplace_back();
  GFXGRAPH_TRY(check_distinct(outputs, inputs));
  for (const std::string& path : memory) {
    if (!path.empty()) GFXGRAPH_TRY(check_new_file(path, FileUse::kMemory));
  }
  if (json_file) GFXGRAPH_TRY(check_new_file(arguments.json, FileUse::kReport));
  return {};
}

int run_tool(int argc, char** argv) {
  Arguments arguments;
  if (const std::optional<int> ended = parse_arguments(argc, argv, arguments)) return *ended;
  if (const Result<void> fine = check_files(arguments); !fine) {
    console::error(fmt::format("{}: {}", arguments.trace, fine.error().message));
    return exit_code(fine.error().status);
  }
  if (!arguments.prove) return replay_or_say_why(arguments);
  const Result<int> proven = prove({arguments.trace, arguments.json, console::options().quiet},
                                   [&](const ProveSetting& setting, int report) {
                                     return replay_for_proof(arguments, setting, report);
                                   });
  if (proven) return *proven;
  console::error(proven.error().message);
  return exit_code(proven.error().status);
}

}  // namespace
}  // namespace gfxgraph::replayer

int main(int argc, char** argv) {
  gfxgraph::reserve_standard_descriptors();
  gfxgraph::console::options().program = "gfxgraph-replay";
  int code = gfxgraph::kExitFailed;
  try {
    code = gfxgraph::replayer::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    gfxgraph::console::error("out of host memory");
  } catch (const std::exception& error) {
    gfxgraph::console::error(error.what());
  }
  code = gfxgraph::finish_output("gfxgraph-replay", code);
  gfxgraph::console::finish(code);
  return code;
}
