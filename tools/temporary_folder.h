// A folder for files that a command hands to other programs of gfxgraph.
#pragma once

#include <filesystem>

namespace gfxgraph::tools {

// Removed with what is in it, by the process that made it: not by a worker (tools/worker.h).
class TemporaryFolder {
 public:
  // "NAME-..." in the system's folder for temporary files, for this user alone.
  explicit TemporaryFolder(const char* name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  // empty: none was made

 private:
  std::filesystem::path path_;
};

}  // namespace gfxgraph::tools
