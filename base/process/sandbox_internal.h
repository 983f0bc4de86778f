// The parts of base/process/sandbox.h: the worker's filter, and the parent's answers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/process/sandbox.h"

struct seccomp_notif;

namespace gfxgraph::sandbox {

// ---- the worker: sandbox_filter.cpp ----

using Syscall = long (*)(long number, long a, long b, long c);
// Denies this process all files, TCP, abstract sockets and signals to others, as far as the kernel
// knows them. Returns the version of Landlock, or a negative errno; `call` is syscall(2).
int deny_by_landlock(Syscall call) noexcept;

// Installs the filter. Calls that are neither allowed nor `through`'s sendmsg() wait for the
// answer of whoever has the returned descriptor. A negative errno if the kernel refuses it.
int install_filter(int through) noexcept;
// For a process without a parent that answers: all other calls, opening files included, kill it.
bool install_strict_filter() noexcept;

// In place of a directory in openat(): "demangle the name", answered by an unnamed file.
inline constexpr int kDemangleRequest = -0x676678;

// ---- the parent: sandbox_broker.cpp ----

// What the worker may do with a path.
class Policy {
 public:
  enum class Kind {
    kElsewhere,  // nothing
    kInput,      // read
    kOutput,     // read, create, replace
    kBeside,     // temporary file of an output, in the same directory
    kFolder,     // directory of an output: only opened
    kInside,     // in one of Access::folders: everything
    kAbove,      // one of Access::folders or a directory above it: created
    kSystem,     // read: the same for every program
  };
  struct Place {
    Kind kind = Kind::kElsewhere;
    std::filesystem::path path;  // what to open: the spelling of the command line
  };

  explicit Policy(const Access& access);
  // `path`: absolute.
  [[nodiscard]] Place find(const std::filesystem::path& path) const;
  [[nodiscard]] const std::filesystem::path& working_folder() const { return working_folder_; }
  [[nodiscard]] bool programs() const { return programs_; }

 private:
  using Names = std::map<std::string, std::filesystem::path>;  // by the normal form
  void add(Names& names, const std::filesystem::path& path) const;

  std::filesystem::path working_folder_;
  Names inputs_, outputs_, output_folders_, trees_;
  std::set<std::string> output_names_;
  bool programs_;
};

// Answers the worker's calls. Not thread-safe.
class Broker {
 public:
  Broker(pid_t worker, int listener, const Access& access);
  // One call that waits. False: the call is forbidden and the worker is to be killed; crime() says
  // what it did.
  bool answer_one();
  [[nodiscard]] const std::string& crime() const { return crime_; }

 private:
  struct Answer {
    int fd = -1;             // given to the worker, then closed here
    int error = 0;           // errno
    std::string crime = {};  // not empty: forbidden
  };
  Answer answer(const seccomp_notif& request);
  Answer open(int folder, uint64_t name, uint64_t flags, uint64_t mode);
  Answer open_new(const Policy::Place& place, int flags, mode_t mode);
  Answer open_program(const std::filesystem::path& path);
  Answer rename(int from_folder, uint64_t from, int to_folder, uint64_t to, uint64_t flags);
  Answer link(int from_folder, uint64_t from, int to_folder, uint64_t to);
  Answer unlink(int folder, uint64_t name, uint64_t flags);
  Answer make_folder(int folder, uint64_t name, uint64_t mode);
  Answer demangle(uint64_t name);
  // Reads the worker's memory; nothing: not readable, or longer.
  std::optional<std::string> text(uint64_t address, size_t most) const;
  std::optional<std::filesystem::path> path_of(int folder, uint64_t name) const;

  pid_t worker_;
  int listener_;
  Policy policy_;
  std::set<std::filesystem::path> created_;
  std::string crime_;
};

}  // namespace gfxgraph::sandbox
