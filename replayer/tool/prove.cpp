#include "replayer/tool/prove.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/output.h"
#include "base/cli/print.h"
#include "base/cli/progress.h"
#include "base/file/file.h"
#include "base/file/new_file.h"

namespace gfxgraph::replayer {
namespace {

using Json = nlohmann::ordered_json;

// The last two differ in one thing from the first and the second.
constexpr ProveSetting kSettings[] = {{"same", "zero"}, {"shift", "zero"}, {"shift", "poison"}};

struct Outcome {
  int code = kExitFailed;
  std::string ended;  // the signal that ended it; else empty
  Json report;        // null: there is none
};

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> buffer = {};
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

Result<Outcome> run_apart(const ProveSetting& setting,
                          const std::function<int(const ProveSetting&, int)>& replay) {
  int ends[2] = {};
  if (::pipe(ends) != 0) return fail(Status::kIo, "pipe: " + errno_message(errno));
  (void)std::fflush(nullptr);  // keep the child from writing the parent's buffered text
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(Status::kIo, "fork: " + errno_message(error));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    int code = kExitFailed;
    try {
      code = replay(setting, ends[1]);
    } catch (const std::exception& error) {
      console::error(error.what());
    }
    ::_exit(finish_output("gfxgraph-replay", code));
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  Outcome outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.ended = fmt::format("signal {}", WTERMSIG(status));
  Json report = Json::parse(text, nullptr, false);
  if (report.is_object()) outcome.report = std::move(report);
  return outcome;
}

uint64_t number(const Json& report, const char* group, const char* name) {
  return report.value(Json::json_pointer(fmt::format("/{}/{}", group, name)), uint64_t{0});
}

// The content of its one line.
std::string line_of(const Outcome& outcome) {
  if (!outcome.ended.empty()) return "ended by " + outcome.ended;
  if (outcome.report.is_null()) return "failed";
  const auto part = [&](const char* group, const char* what) {
    return fmt::format("{} of {} {} identical", number(outcome.report, group, "identical"),
                       number(outcome.report, group, "total"), what);
  };
  const std::string counts =
      part("buffers", "buffers") + ", " + part("copies_to_host", "copies to the host");
  const uint64_t different = number(outcome.report, "buffers", "different") +
                             number(outcome.report, "copies_to_host", "different");
  const char* const verdict = outcome.code == kExitOk ? "identical"
                              : different != 0        ? "different"
                                                      : "not all compared";
  return fmt::format("{} ({})", verdict, counts);
}

// Sorted, worst last.
int rank(int code) { return code == kExitOk ? 0 : code == kExitDataLost ? 1 : 2; }

Result<void> write_json(const ProveRequest& request, const Json& all) {
  const std::string text = all.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
  if (request.json == "-") {
    write_text(stdout, text);
    return {};
  }
  return write_new_file(request.json, FileUse::kReport, std::as_bytes(std::span(text)));
}

}  // namespace

Result<void> send_report(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::write(to, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return fail(Status::kIo, "the report of a replay: " + errno_message(errno));
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<int> prove(const ProveRequest& request,
                  const std::function<int(const ProveSetting&, int report)>& replay) {
  int worst = kExitOk;
  Json all = {{"trace", request.trace}, {"proven", false}, {"replays", Json::array()}};
  ProgressLine progress(!request.quiet && ProgressLine::on_terminal());
  for (const ProveSetting& setting : kSettings) {
    progress.at(
        fmt::format("replaying: layout {}, fresh memory {}", setting.layout, setting.fresh));
    GFXGRAPH_ASSIGN_OR_RETURN(Outcome outcome, run_apart(setting, replay));
    progress.clear();
    if (rank(outcome.code) > rank(worst)) worst = outcome.code;
    if (!request.quiet && request.json != "-") {
      print("layout {}, fresh memory {}: {}\n", setting.layout, setting.fresh, line_of(outcome));
      (void)std::fflush(stdout);
    }
    all["replays"].push_back({{"layout", setting.layout},
                              {"fresh", setting.fresh},
                              {"exit_code", outcome.code},
                              {"report", std::move(outcome.report)}});
    // A trace that fails to open or load will also fail with other layouts.
    if (all["replays"].back()["report"].is_null()) break;
  }
  all["proven"] = worst == kExitOk;
  if (!request.json.empty()) GFXGRAPH_TRY(write_json(request, all));
  if (!request.quiet && request.json != "-" && worst == kExitOk)
    print("proven: the recorded bytes at both layouts and over poisoned memory\n");
  return worst;
}

}  // namespace gfxgraph::replayer
