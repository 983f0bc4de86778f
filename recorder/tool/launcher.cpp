#include "recorder/tool/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>

#include "base/checked.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/output.h"
#include "base/print.h"
#include "base/program.h"
#include "codeobj/code_object.h"
#include "format/reader.h"
#include "recorder/tool/lint_summary.h"

namespace gfxgraph::recorder {
namespace {

namespace fs = std::filesystem;

volatile pid_t recorded_program = 0;  // for the signal handler

constexpr int kLoaderFailed = 127;  // ld.so's code when a library is missing

void say(const std::string& text) { print(stderr, "gfxgraph-record: {}\n", text); }

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

bool partial_in_use(const fs::path& partial) {
  const int file = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return !free;
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
    return folder;
  }
  ~StatusFolder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  bool claimed() const { return fs::exists(path / "claim"); }
  std::optional<Report> report() const {
    std::ifstream file(path / "report", std::ios::binary);
    Report report = parse_report({std::istreambuf_iterator<char>(file), {}});
    if (!report.whole) return std::nullopt;
    return report;
  }
  fs::path path;
};

Result<int> run(const fs::path& program, const LaunchRequest& request,
                const std::vector<std::string>& environment) {
  std::vector<char*> argv;
  for (const std::string& argument : request.program)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& variable : environment)
    envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(Status::kIo, fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::execve(program.c_str(), argv.data(), envp.data());
    std::fprintf(stderr, "gfxgraph-record: %s: %s\n", program.c_str(), std::strerror(errno));
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
  for (const int signal : {SIGTERM, SIGHUP}) {
    struct sigaction before{};
    const bool ignored = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!ignored) (void)::sigaction(signal, &pass_on, nullptr);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(Status::kIo, fmt::format("waitpid: {}", std::strerror(errno)));
  }
  if (WIFSIGNALED(status)) {
    say(fmt::format("the program was killed by signal {} ({})", WTERMSIG(status),
                    ::strsignal(WTERMSIG(status))));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
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

std::string size_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void explain_no_hip(const LaunchRequest& request, const fs::path& program, int code,
                    bool other_targets) {
  if (code == kLoaderFailed) {
    if (const std::optional<std::string> library = missing_hip_runtime(program)) {
      say(explain_missing_hip_runtime(request.program[0], *library));
      return;
    }
  }
  const std::string nothing = fmt::format("{}: no HIP calls, no trace written", request.program[0]);
  // Other targets were named before the program ran.
  say(other_targets
          ? nothing
          : nothing + "; check that it uses HIP, is not set-user-ID and keeps LD_PRELOAD");
}

void list(const char* title, const std::vector<std::string>& lines) {
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    say(fmt::format("{}: {}", title, lines[i]));
  if (lines.size() > kMost) say(fmt::format("{}: {} more", title, lines.size() - kMost));
}

void explain_unsealed(const std::string& output, const std::string& error) {
  const std::string partial = output + ".partial";
  if (!error.empty()) say(fmt::format("recording stopped: {}", error));
  std::error_code missing;
  if (fs::exists(partial, missing)) {
    say(fmt::format("what was recorded before is in {} ({})", partial,
                    size_text(fs::file_size(partial, missing))));
    say(fmt::format("next: gfxgraph recover {}", partial));
  }
}

// A trace that is sealed but has not got its name: a program that gave up its rights or changed its
// root may not rename files here, and one without free descriptors cannot report. Whether there is
// one now.
bool name_sealed_trace(const std::string& output) {
  const std::string partial = output + ".partial";
  if (partial_in_use(partial)) return false;
  return format::ends_as_sealed(partial).has_value() && rename_file(partial, output).has_value();
}

// Whether everything that happened is in the trace.
bool explain(const Report& report, const std::string& output) {
  std::error_code error;
  say(fmt::format("{}: {}", output, size_text(fs::file_size(output, error))));
  say(fmt::format(
      "{} launches of {} kernels, {} graph launches, {} copies, {} allocations, {} events",
      report.launches, report.kernels, report.graph_launches, report.copies, report.allocations,
      report.events));
  say(fmt::format("pointers: {} typed, {} matched, {} of them ambiguous", report.relocations_typed,
                  report.relocations_matched, report.relocations_ambiguous));
  for (const std::string& line : lint_summary(output)) say(line);
  list("ambiguous", report.ambiguous);
  list("note", report.notes);
  list("incomplete", report.incomplete);
  if (!report.incomplete.empty()) {
    say("the trace is incomplete: replay refuses it unless told --allow-incomplete");
  }
  say(fmt::format("next: gfxgraph-replay {}", output));
  return report.incomplete.empty();
}

enum class Ending { kComplete, kIncomplete, kLost };

// What came of the recording. kLost: there is no trace, or more is missing than it says.
Ending explain_end(std::optional<Report> report, const std::string& output,
                   const StatusFolder& status) {
  const std::string stopped =
      report ? report->error : "the program ended without telling the recorder";
  if (report && report->sealed) {
    if (Result<void> sealed = format::ends_as_sealed(output); !sealed) {
      say(fmt::format("the trace is lost: {}", sealed.error().message));
      return Ending::kLost;
    }
  } else if (!name_sealed_trace(output)) {
    if (partial_in_use(output + ".partial")) {
      say(fmt::format(
          "{}.partial: another process that the program started is still recording; the "
          "trace gets its name when that process ends",
          output));
    } else {
      explain_unsealed(output, stopped);
    }
    return Ending::kLost;
  }
  bool complete = true;
  if (report) {
    complete = explain(*report, output);
  } else {
    say(fmt::format("{}: sealed, but the recorder could not report what it holds", output));
  }
  bool lost = false;
  for (const std::string& process : unrecorded_processes(status.path)) {
    const bool said =
        report && std::any_of(report->incomplete.begin(), report->incomplete.end(),
                              [&](const std::string& text) { return text.starts_with(process); });
    if (said) continue;
    say(fmt::format("not recorded, and not named in the trace: {}; record each process by itself",
                    process));
    lost = true;
  }
  if (lost) return Ending::kLost;
  return complete ? Ending::kComplete : Ending::kIncomplete;
}

}  // namespace

Result<void> check_output(const fs::path& output, bool force) {
  std::error_code error;
  const fs::path folder = output.parent_path();
  if (!fs::is_directory(folder, error)) {
    return fail(Status::kIo, fmt::format("{} is no folder: make it first", folder.string()));
  }
  if (fs::is_directory(output, error)) {
    return fail(Status::kIo, fmt::format("{} is a folder: name a file in it", output.string()));
  }
  GFXGRAPH_TRY(check_output_path(output));
  GFXGRAPH_TRY(check_output_path(output.string() + ".partial"));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail(Status::kIo, fmt::format("no permission to write into {}", folder.string()));
  }
  if (fs::exists(output, error) && !force) {
    return fail(Status::kIo, fmt::format("{} exists: use --force to replace it", output.string()));
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
  std::error_code error;
  options.output = fs::absolute(options.output, error).lexically_normal().string();
  GFXGRAPH_TRY(check_output(options.output, request.force));
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path preload, private_library("libgfxgraph-recorder.so"));
  GFXGRAPH_ASSIGN_OR_RETURN(const DeviceChoice device, resolve_device(request.device));
  options.emulated = device == DeviceChoice::kEmulated;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StatusFolder> status, StatusFolder::create());
  options.status_folder = status->path.string();

  std::vector<std::string> added = options_to_environment(options);
  GFXGRAPH_ASSIGN_OR_RETURN(std::string preloaded,
                            append_preload(std::getenv("LD_PRELOAD"), preload, options.emulated));
  if (options.emulated) {
    // Behind the recorder, which then sees what the program sees.
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path hip_errors, private_library(kHipErrorsLibrary));
    GFXGRAPH_ASSIGN_OR_RETURN(preloaded, append_preload(preloaded.c_str(), hip_errors, true));
    GFXGRAPH_ASSIGN_OR_RETURN(const fs::path agent, private_library("libhsa-runtime64.so.1"));
    added.push_back("LD_LIBRARY_PATH=" + prepend_search_path(agent.parent_path().string(),
                                                             std::getenv("LD_LIBRARY_PATH")));
  }
  added.push_back("LD_PRELOAD=" + preloaded);
  added.push_back("ASAN_OPTIONS=" + asan_options_for_preload(std::getenv("ASAN_OPTIONS")));
  say(options.emulated ? "device: emulated gfx1030 (software agent)"
                       : "device: the system's AMD GPU");
  const std::string other_targets =
      options.emulated ? codeobj::explain_other_targets(program, "gfx1030") : "";
  if (!other_targets.empty()) say(other_targets);
  GFXGRAPH_ASSIGN_OR_RETURN(const int code, run(program, request, environment_with(added)));

  if (!status->claimed()) {
    explain_no_hip(request, program, code, !other_targets.empty());
    return code;
  }
  const Ending ending = explain_end(status->report(), options.output, *status);
  if (code != 0) return code;
  if (ending == Ending::kLost) return kExitDataLost;
  return ending == Ending::kIncomplete && request.strict ? kExitDataLost : 0;
}

}  // namespace gfxgraph::recorder
