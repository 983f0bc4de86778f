// A process forks while it has a session and a step of libgfxgraph; the child uses and destroys
// them, and makes a session of its own. HIP 5.2.3 does not work in such a child, so each must be an
// error by name, not a hang.
//   gfxgraph run --device emulated -- forked_child TRACE early|late
// early: the fork comes before the process uses HIP, and both processes replay.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "gfxgraph/gfxgraph.h"

namespace {

struct Replay {
  gfxgraph_trace_t trace = nullptr;
  gfxgraph_session_t session = nullptr;
  gfxgraph_step_t step = nullptr;

  // The status of the first call that fails.
  gfxgraph_status_t make(const char* path) {
    gfxgraph_status_t status = gfxgraph_trace_open(path, nullptr, &trace);
    if (status == GFXGRAPH_OK) status = gfxgraph_session_create(trace, nullptr, &session);
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = GFXGRAPH_MODE_GRAPH;
    if (status == GFXGRAPH_OK)
      status = gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &options, &step);
    if (status == GFXGRAPH_OK) status = run();
    return status;
  }
  gfxgraph_status_t run() const {
    const gfxgraph_status_t status = gfxgraph_step_run(step, nullptr);
    return status == GFXGRAPH_OK ? gfxgraph_step_wait(step) : status;
  }
  void destroy() {
    gfxgraph_step_destroy(step);
    gfxgraph_session_destroy(session);
    gfxgraph_trace_destroy(trace);
  }
};

bool is(gfxgraph_status_t status, gfxgraph_status_t expected, const char* what) {
  if (status == expected &&
      (status == GFXGRAPH_OK || std::strstr(gfxgraph_last_error(), "fork") != nullptr))
    return true;
  std::printf("%s: %s: %s\n", what, gfxgraph_status_name(status), gfxgraph_last_error());
  return false;
}

// `inherited`: of the parent; nullptr: the parent has not used HIP.
bool child(const char* path, Replay* inherited) {
  bool good = true;
  Replay own;
  if (inherited == nullptr) {
    good = is(own.make(path), GFXGRAPH_OK, "child's own replay");
  } else {
    alarm(20);
    char byte = 0;
    good &= is(inherited->run(), GFXGRAPH_UNSUPPORTED, "run");
    good &= is(gfxgraph_session_load(inherited->session), GFXGRAPH_UNSUPPORTED, "load");
    good &=
        is(gfxgraph_session_read(inherited->session, 1, 0, &byte, 1), GFXGRAPH_UNSUPPORTED, "read");
    inherited->destroy();
    good &= is(own.make(path), GFXGRAPH_UNSUPPORTED, "child's own replay");
  }
  own.destroy();
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool early = std::strcmp(argv[2], "early") == 0;
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  Replay replay;
  if (!early && !is(replay.make(argv[1]), GFXGRAPH_OK, "parent")) return 1;
  const pid_t process = fork();
  if (process == 0) _exit(child(argv[1], early ? nullptr : &replay) ? 0 : 1);
  int status = 0;
  if (waitpid(process, &status, 0) != process || status != 0) {
    std::printf("child: status %#x\n", static_cast<unsigned>(status));
    return 1;
  }
  // The parent's replay is as before.
  if (!is(early ? replay.make(argv[1]) : replay.run(), GFXGRAPH_OK, "parent afterwards")) return 1;
  replay.destroy();
  std::printf("right\n");
  return 0;
}
