// Joins the parts of a check.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "check/shard/part.h"

namespace gfxgraph::check {

// A file that was given as a part.
struct PartFile {
  std::string path;
  Result<Part> part;
};

struct MergedParts {
  Part run;                           // with the traces of all parts, in the order of the list
  std::vector<std::string> repeated;  // files that hold the same as another one
  // Why they do not make a run; then `run` is not complete. kInvalidArgument: parts of different
  // runs. kIncomplete: a shard is missing, or there twice with different reports. Of a file that is
  // not a part, its error.
  std::vector<Error> problems;
};

// In whatever order the files are. At least one.
MergedParts merge(std::vector<PartFile> files);

}  // namespace gfxgraph::check
