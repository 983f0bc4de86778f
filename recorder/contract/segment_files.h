// The files of a flight recorder. The segment that is being recorded is written to T.gfxg.partial;
// when it is sealed it becomes T.previous.gfxg in place of the one before, or T.kept-1.gfxg and so
// on if it is to stay. Only files that this process made are replaced.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gfxgraph::recorder {

// "T.previous.gfxg" of "T.gfxg".
std::string previous_segment(const std::string& output);

// A dangling link exists, too.
bool path_exists(const std::string& path);

class SegmentFiles {
 public:
  SegmentFiles() = default;
  // `replace`: files of earlier recordings are. `list`: a file that gets the paths, one in a line;
  // empty: nobody asks.
  SegmentFiles(std::string output, bool replace, std::string list)
      : output_(std::move(output)), list_(std::move(list)), replace_(replace) {}

  // The trace at `output` is sealed and complete there; afterwards nothing is. `keep`: it stays,
  // and so does the one before it.
  Result<void> sealed(bool keep);

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t number = 0;  // may be given to another file once this one is gone
    timespec changed{};
  };
  Result<void> move_to_kept(const std::string& from);
  void note(const std::string& path) noexcept;

  std::string output_;
  std::string list_;
  bool replace_ = false;
  File previous_;
  unsigned kept_ = 0;
};

// The tool's side: the files of the list that are there, in the order in which they came.
std::vector<std::string> read_segment_list(const std::string& list);
// Its path, by Claim::key.
std::string segment_list(const std::string& status_folder, const std::string& key);

}  // namespace gfxgraph::recorder
