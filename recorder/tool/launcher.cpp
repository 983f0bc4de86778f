#include "recorder/tool/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/amount.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/output.h"
#include "base/file/new_file.h"
#include "base/process/null_device.h"
#include "base/process/own_process.h"
#include "base/process/program.h"
#include "codeobj/code_object.h"
#include "recorder/contract/output_pattern.h"
#include "recorder/contract/sealing.h"
#include "recorder/contract/segment_files.h"
#include "recorder/tool/closing.h"
#include "recorder/tool/outcome.h"

namespace gfxgraph::recorder {
namespace {

namespace fs = std::filesystem;

volatile pid_t recorded_program = 0;  // for the signal handler

constexpr int kLoaderFailed = 127;  // ld.so's code when a library is missing
// A recorder seals within about 4 s after a signal, or not at all.
constexpr std::chrono::milliseconds kSealingTime{5'000};

// Statically linked programs and those of other machines load nothing that is preloaded. Scripts
// do: their interpreter.
Result<fs::path> recordable_program(const std::string& name) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path path, find_program(name));
  const ProgramFile file = inspect_program(path);
  if (file.elf && !file.x86_64) {
    return fail(Status::kUnsupported, fmt::format("{} is not a 64-bit x86 program", path.string()));
  }
  if (file.elf && file.interpreter.empty()) {
    return fail(Status::kUnsupported,
                fmt::format("{} is statically linked: the recorder cannot be loaded into it",
                            path.string()));
  }
  return path;
}

// A folder of this run that is gone with it.
class StatusFolder {
 public:
  static Result<std::unique_ptr<StatusFolder>> create() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "gfxgraph-record.XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      return fail(Status::kIo,
                  fmt::format("cannot make a folder {}: {}", name, std::strerror(errno)));
    }
    auto folder = std::make_unique<StatusFolder>();
    folder->path = name;
    // The program may become another user before it uses HIP: it can still write into one file, if
    // it knows its name, which nobody can list.
    folder->denied = name + "/denied.XXXXXX";
    const int file = ::mkstemp(folder->denied.data());
    if (file >= 0) {
      (void)::fchmod(file, 0622);
      ::close(file);
      (void)::chmod(name.c_str(), 0711);
    }
    return folder;
  }
  ~StatusFolder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  fs::path path;
  std::string denied;
};

// Until the process ends: a line while traces are sealed. A short sealing shows none.
void show_sealing(pid_t child, const std::string& status_folder) {
  constexpr int kBetweenMs = 100;
  constexpr int kSilentLooks = 3;
  if (!progress().listens()) return;
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (process < 0) return;  // Linux before 5.3
  pollfd ended{process, POLLIN, 0};
  for (int looks = 0;;) {
    const int ready = ::poll(&ended, 1, kBetweenMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    const std::optional<SealingCount> count = sealing_now(status_folder);
    looks = count ? looks + 1 : 0;
    if (!count) progress().clear();
    if (looks < kSilentLooks) continue;
    constexpr uint64_t kMiB = 1 << 20;
    progress().at("sealing the trace: MiB", count->done_bytes / kMiB, count->total_bytes / kMiB);
  }
  ::close(process);
  progress().clear();
}

Result<Ended> run(const Start& start, const LaunchRequest& request,
                  const std::string& status_folder, const std::vector<std::string>& environment) {
  std::vector<char*> argv;
  for (const std::string& argument : start.arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& variable : environment)
    envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(Status::kIo, fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::execve(start.file.c_str(), argv.data(), envp.data());
    console::error(fmt::format("{}: {}", start.file.string(), std::strerror(errno)));
    ::_exit(kExitFailed);
  }
  // The terminal's interrupt reaches the program as well; this process stays to tell what came of
  // it. Who ends this process means the program.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  recorded_program = child;
  struct sigaction pass_on{};
  pass_on.sa_handler = [](int signal) { (void)::kill(recorded_program, signal); };
  pass_on.sa_flags = SA_RESTART;
  std::vector<int> passed_on = {SIGTERM, SIGHUP};
  if (!request.options.flight_recorder.empty()) passed_on.push_back(SIGUSR2);
  for (const int signal : passed_on) {
    struct sigaction before{};
    const bool ignored = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!ignored) (void)::sigaction(signal, &pass_on, nullptr);
  }
  console::detail(fmt::format("started process {}", child));
  show_sealing(child, status_folder);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(Status::kIo, fmt::format("waitpid: {}", std::strerror(errno)));
  }
  if (WIFSIGNALED(status)) {
    say("the program was " + signal_text(WTERMSIG(status)));
    return Ended{child, 128 + WTERMSIG(status), WTERMSIG(status)};
  }
  return Ended{child, WEXITSTATUS(status), 0};
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> result;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& entry) {
      return std::string_view(entry).substr(0, entry.find('=')) == name;
    });
    if (!replaced) result.emplace_back(text);
  }
  result.insert(result.end(), added.begin(), added.end());
  return result;
}

constexpr std::string_view kDoorLibrary = "libgfxgraph-door.so";

// The library comes into a process that runs: its thread-local variables need a part of what
// glibc has left for such libraries.
std::string tunables_for_table() {
  const char* const before = std::getenv("GLIBC_TUNABLES");
  const std::string own = "glibc.rtld.optional_static_tls=16384";
  return "GLIBC_TUNABLES=" + (before == nullptr || *before == 0 ? own : before + (":" + own));
}

void explain_no_hip(const LaunchRequest& request, const fs::path& program, const Ended& ended,
                    bool other_targets) {
  // Its end has been told; what it would have done later is not known.
  if (ended.signal != 0) {
    say(fmt::format(
        "{}: ended before its first HIP call that succeeds and uses the device, no trace "
        "written",
        request.program[0]));
    return;
  }
  if (ended.code == kLoaderFailed) {
    if (const std::optional<std::string> library = missing_hip_runtime(program)) {
      say(explain_missing_hip_runtime(request.program[0], *library));
      return;
    }
  }
  // Queries and failed calls leave nothing to replay, and may have been made.
  const std::string nothing = fmt::format(
      "{}: no HIP calls that succeeded and use the device, no trace written", request.program[0]);
  // Other targets were named before the program ran.
  if (request.by_table) {
    return say(nothing +
               "; check that it uses HIP, that its calls succeed, and that its HIP was built with "
               "rocprofiler-register (Debian's is not: record without --rocprofiler-register)");
  }
  say(other_targets ? nothing
                    : nothing +
                          "; check that it uses HIP, that its calls succeed, that it is "
                          "not set-user-ID and keeps LD_PRELOAD");
}

// Whether a --range, --launches or --kernel selected nothing in any process; the traces say which.
bool nothing_matched(const std::string& status_folder) {
  size_t missed = 0;
  const std::vector<ClaimRecord> claims = read_claims(status_folder);
  for (const ClaimRecord& claim : claims) {
    const std::optional<Report> report = read_report(status_folder, claim.key);
    const bool misses = report && std::ranges::any_of(report->incomplete, [](const auto& text) {
                          return text.starts_with("--range: ") ||
                                 text.starts_with("--launches: ") || text.starts_with("--kernel: ");
                        });
    missed += misses ? 1 : 0;
  }
  return missed != 0 && missed == claims.size();
}

// --force. Whatever the program does, an earlier trace must not look like its own.
Result<void> remove_earlier(const fs::path& path) {
  std::error_code error;
  (void)fs::remove(path, error);
  if (!error) return {};
  return fail(Status::kIo,
              fmt::format("{}: cannot be replaced: {}", path.string(), error.message()));
}

// The program, and files that it is told to read.
std::vector<std::string> inputs_of(const fs::path& program,
                                   const std::vector<std::string>& command) {
  std::vector<std::string> inputs = {program.string()};
  for (const std::string& word : command) {
    inputs.push_back(word);
    if (const size_t at = word.find('='); at != std::string::npos)
      inputs.push_back(word.substr(at + 1));
  }
  return inputs;
}

// Another gfxgraph-record may have taken the name meanwhile.
fs::path free_name(const fs::path& path, bool force) {
  std::error_code error;
  fs::path name = path;
  for (int number = 2; !force && fs::exists(name, error); ++number) {
    name = path;
    name.replace_extension(fmt::format("{}.json", number));
  }
  return name;
}

Result<Ending> end_of_processes(const LaunchRequest& request, const Options& options,
                                const Ended& ended, const fs::path& manifest_path) {
  if (ended.code > 128) wait_for_recordings(options.status_folder, kSealingTime);
  Manifest manifest;
  manifest.gfxgraph_version = GFXGRAPH_VERSION;
  if (!options.redact) manifest.program = request.program;
  manifest.exit_status = ended.code;
  manifest.traces = settle_recordings(options.status_folder, ended, request.force);
  const Ending ending = explain_recordings(manifest.traces, options.status_folder);
  const fs::path path = free_name(manifest_path, request.force);
  GFXGRAPH_TRY(write_manifest(path, manifest));
  tell(fmt::format("{} names {}; next: gfxgraph info {}", path.string(),
                   counted(manifest.traces.size(), "trace"), path.string()));
  return ending;
}

}  // namespace

Result<void> check_output(const fs::path& output, bool force) {
  std::error_code error;
  const fs::path folder = output.parent_path();
  if (!fs::is_directory(folder, error)) {
    return fail(Status::kIo,
                fmt::format("{}: {} is not a directory; create it or choose another -o path",
                            output.string(), folder.string()));
  }
  if (fs::is_directory(output, error)) {
    return fail(Status::kIo, fmt::format("{} is a directory; name a file in it", output.string()));
  }
  GFXGRAPH_TRY(check_output_path(output));
  GFXGRAPH_TRY(check_output_path(output.string() + ".partial"));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail(Status::kIo, fmt::format("no permission to write into {}", folder.string()));
  }
  if (fs::exists(output, error) && !force) {
    return fail(Status::kIo, fmt::format("{} exists: use --force to replace it", output.string()));
  }
  if (const Result<void> fine = check_new_file(output, FileUse::kTrace); !fine) {
    return fail(
        fine.error().status,
        fine.error().message +
            (fine.error().status != Status::kInvalidArgument ? "; choose another -o path" : ""));
  }
  if (partial_in_use(output.string() + ".partial")) {
    return fail(Status::kIo,
                fmt::format("{} is being recorded by another process", output.string()));
  }
  return {};
}

Result<int> launch(const LaunchRequest& request) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path program, recordable_program(request.program[0]));
  Options options = request.options;
  options.replace = request.force;
  GFXGRAPH_ASSIGN_OR_RETURN(const OutputPattern pattern, OutputPattern::parse_path(options.output));
  options.per_process = pattern.per_process();
  std::error_code error;
  fs::path output = fs::absolute(options.output, error).lexically_normal();
  if (!options.per_process) output.replace_filename(pattern.file_name({}));
  options.output = output.string();
  // What must not be replaced before the program runs: the trace, or what names the traces.
  const fs::path result = options.per_process
                              ? output.parent_path() / pattern.manifest(rank_from_environment())
                              : output;
  std::vector<std::string> replaced = {result.string()};
  if (options.per_process) {
    GFXGRAPH_TRY(pattern.check_length());
  } else if (!options.flight_recorder.empty()) {
    replaced.push_back(previous_segment(options.output));
  }
  GFXGRAPH_TRY(check_distinct(replaced, inputs_of(program, request.program)));
  for (const std::string& path : replaced) GFXGRAPH_TRY(check_output(path, request.force));
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path preload, private_library(kRecorderLibrary));
  GFXGRAPH_ASSIGN_OR_RETURN(const DeviceChoice device, resolve_device(request.device));
  GFXGRAPH_TRY(check_devices(request.devices, device));
  options.emulated = device == DeviceChoice::kEmulated;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StatusFolder> status, StatusFolder::create());
  options.status_folder = status->path.string();
  options.denied_file = status->denied;

  std::vector<std::string> added = options_to_environment(options);
  const char* const before = std::getenv("LD_PRELOAD");
  std::string preloaded = before == nullptr ? "" : before;
  if (request.capture) {
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path capture, private_library(kCaptureLibrary));
    GFXGRAPH_ASSIGN_OR_RETURN(preloaded,
                              append_preload(preloaded.c_str(), capture, options.emulated));
  }
  if (request.by_table) {
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path door, private_library(kDoorLibrary));
    added.push_back("ROCPROFILER_REGISTER_LIBRARY=" + door.string());
    added.push_back(tunables_for_table());
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(preloaded,
                              append_preload(preloaded.c_str(), preload, options.emulated));
  }
  if (request.devices != 0)
    added.push_back(fmt::format("{}={}", kDevicesVariable, request.devices));
  std::string agent_folder;
  if (options.emulated) {
    // Behind the recorder, which then sees what the program sees. Nothing stands behind hooks in
    // HIP's table.
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path hip_errors, private_library(kHipErrorsLibrary));
    if (!request.by_table) {
      GFXGRAPH_ASSIGN_OR_RETURN(preloaded, append_preload(preloaded.c_str(), hip_errors, true));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path agent, private_library("libhsa-runtime64.so.1"));
    agent_folder = agent.parent_path().string();
    added.push_back("LD_LIBRARY_PATH=" +
                    prepend_search_path(agent_folder, std::getenv("LD_LIBRARY_PATH")));
  }
  added.push_back("LD_PRELOAD=" + preloaded);
  added.push_back("ASAN_OPTIONS=" + asan_options_for_preload(std::getenv("ASAN_OPTIONS")));
  tell(options.emulated ? "device: " + describe_agent_device() : "device: the system's AMD GPU");
  const std::string other_targets =
      options.emulated ? codeobj::explain_other_targets(program, agent_target()) : "";
  if (!other_targets.empty()) say(other_targets);
  GFXGRAPH_ASSIGN_OR_RETURN(const Start start,
                            start_of(program, request.program, own_loader(), agent_folder));
  if (request.force) {
    for (const std::string& path : replaced) GFXGRAPH_TRY(remove_earlier(path));
  }
  console::detail(fmt::format("starting {}", program.string()));
  for (const std::string& variable : added) {
    if (variable.starts_with("LD_")) console::detail(variable);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const Ended ended,
                            run(start, request, options.status_folder, environment_with(added)));
  console::detail(fmt::format("the program ended with exit code {}", ended.code));

  if (const std::string denied = denied_processes(options.denied_file); !denied.empty()) {
    say(fmt::format("not recorded: {}", denied));
    return ended.code != 0 ? ended.code : kExitDataLost;
  }
  if (read_claims(options.status_folder).empty() && !read_report(options.status_folder, "")) {
    explain_no_hip(request, program, ended, !other_targets.empty());
    return ended.code;
  }
  Ending ending = Ending::kLost;
  if (options.per_process) {
    GFXGRAPH_ASSIGN_OR_RETURN(ending, end_of_processes(request, options, ended, result));
  } else {
    ending = explain_recording(options.output, options.status_folder, ended, request.force);
  }
  if (ended.code != 0) return ended.code;
  if (ending == Ending::kLost) return kExitDataLost;
  if (!request.strict && nothing_matched(options.status_folder)) return kExitFailed;
  return ending == Ending::kIncomplete && request.strict ? kExitDataLost : 0;
}

}  // namespace gfxgraph::recorder
