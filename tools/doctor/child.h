// Processes that gfxgraph doctor starts for what it does not trust: HIP, its drivers, and the
// recorder in front of them. None outlives the call, and none prints on the terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::tools::doctor {

struct Child {
  std::vector<std::string> command;                     // its first word is a path
  std::map<std::string, std::string> environment = {};  // in place of this process's variables
  double seconds = 60;                                  // then it is killed
};

// How a child ended, and the last 16 KiB that it printed.
struct ChildEnd {
  int code = -1;       // exit code; -1: it was killed
  int signal = 0;      // that killed it
  bool late = false;   // this process killed it, as its time was over
  bool stuck = false;  // it does not even end by SIGKILL: a driver waits for its device
  double seconds = 0;  // its limit
  std::string out;
  std::string err;

  [[nodiscard]] bool ok() const { return code == 0; }
  // "exit code 3", "killed by SIGSEGV (Segmentation fault)", "no end after 60 s". An exit code of
  // 128 + n is shown as signal n, as shells and gfxgraph-record return it.
  [[nodiscard]] std::string how() const;
  // The last line of stderr, or else of stdout, without the program's name.
  [[nodiscard]] std::string last_line() const;
  // Both.
  [[nodiscard]] std::string reason() const;
};

// Starts it in a process group of its own, waits, and then kills what is left of the group.
// kIo: it cannot be started. SIGINT, SIGTERM and SIGHUP kill the group, too, then this process is
// interrupted(). Call it from one thread.
Result<ChildEnd> run_child(const Child& child);

// Whether a signal ended a run_child() early: start no further one.
bool interrupted() noexcept;

// A program of gfxgraph with arguments, started as this one was (base/process/own_process.h).
std::vector<std::string> own_command(const std::string& program,
                                     const std::vector<std::string>& arguments);

}  // namespace gfxgraph::tools::doctor
