#include "tools/text_sink.h"

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/output.h"
#include "base/print.h"
#include "tools/cli.h"

namespace gfxgraph::tools {

TextSink::TextSink(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}

TextSink::TextSink(TextSink&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)) {}

Result<TextSink> TextSink::open(const std::string& path) {
  if (path.empty()) return TextSink(stdout, path);
  GFXGRAPH_TRY(check_output_path(path));
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return fail_errno("cannot write", path, errno);
  return TextSink(file, path);
}

TextSink::~TextSink() {
  if (file_ == nullptr || file_ == stdout) return;
  std::fclose(file_);
  std::remove(path_.c_str());
}

void TextSink::write(std::string_view text) { write_text(file_, text); }

Result<void> TextSink::close() {
  std::FILE* const file = std::exchange(file_, nullptr);
  if (file == stdout) return {};  // finish_output() checks it
  const bool lost = std::ferror(file) != 0;
  if (std::fclose(file) == 0 && !lost) {
    wrote(path_);
    return {};
  }
  const int error = errno;
  std::remove(path_.c_str());
  return fail_errno("cannot write", path_, error);
}

}  // namespace gfxgraph::tools
