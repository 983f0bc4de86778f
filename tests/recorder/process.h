// Runs a program and keeps what it wrote.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace gfxgraph::recorder {

struct ProcessResult {
  int code = -1;  // exit code, 128 + n for signal n
  std::string out;
  std::string err;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `command` is a shell command line.
inline ProcessResult run(const std::string& command, const std::filesystem::path& folder) {
  const std::string out = (folder / "out.txt").string();
  const std::string err = (folder / "err.txt").string();
  const int status = std::system(("{ " + command + " ; } >" + out + " 2>" + err).c_str());
  ProcessResult result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_text(out);
  result.err = read_text(err);
  return result;
}

// A folder of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gfxgraph-test.XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gfxgraph::recorder
