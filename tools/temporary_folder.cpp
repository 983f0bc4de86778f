#include "tools/temporary_folder.h"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "base/process/sandbox.h"

namespace gfxgraph::tools {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const char* name) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string path = (parent / (std::string(name) + "-XXXXXX")).string();
  if (!error && ::mkdtemp(path.data()) != nullptr) path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty() && !sandbox::is_worker()) fs::remove_all(path_, ignored);
}

}  // namespace gfxgraph::tools
