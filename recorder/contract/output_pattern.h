// The file name of a trace as `gfxgraph-record -o` gets it: "run-%p-%r.gfxg". %p is the process id,
// %r the rank of a parallel job, %% a percent sign. With %p or %r each process of the program that
// uses HIP writes a trace of its own; a manifest beside the traces names them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gfxgraph::recorder {

inline constexpr std::string_view kExtension = ".gfxg";  // of a trace

struct ProcessIdentity {
  pid_t pid = 0;
  std::optional<uint64_t> rank;  // nothing: %r is 0
};

// From the variables that MPI libraries and srun set for each process.
std::optional<uint64_t> rank_from_environment();

class OutputPattern {
 public:
  // Without folders. kInvalidArgument: a % before anything but p, r and %.
  static Result<OutputPattern> parse(std::string_view file_name);
  // Of the file name of a path, whose folders have no placeholders and may have other % signs.
  static Result<OutputPattern> parse_path(std::string_view path);

  bool per_process() const;
  // kInvalidArgument: with all its digits the name may be too long for a file system.
  Result<void> check_length() const;
  // `image` counts the traces that would get the same name, from 1: "run-7.gfxg", "run-7.2.gfxg".
  std::string file_name(const ProcessIdentity& process, unsigned image = 1) const;
  // Differs where the file names do.
  std::string key(const ProcessIdentity& process, unsigned image) const;
  // Of the traces that one gfxgraph-record makes, which may be a rank itself: the name without its
  // placeholders.
  std::string manifest(const std::optional<uint64_t>& rank) const;

 private:
  enum class Kind { kText, kPid, kRank };
  struct Part {
    Kind kind = Kind::kText;
    std::string text;
  };
  bool has(Kind kind) const;
  std::vector<Part> parts_;
};

}  // namespace gfxgraph::recorder
