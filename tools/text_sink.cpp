#include "tools/text_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/cli/print.h"
#include "base/file/file.h"
#include "tools/cli.h"

namespace gfxgraph::tools {

TextSink::TextSink(std::FILE* file, std::optional<NewFile> target)
    : file_(file), target_(std::move(target)) {}

TextSink::TextSink(TextSink&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), target_(std::move(other.target_)) {}

Result<TextSink> TextSink::open(const std::string& path) {
  if (path.empty()) return TextSink(stdout, std::nullopt);
  GFXGRAPH_ASSIGN_OR_RETURN(NewFile target, NewFile::create(path, FileUse::kReport));
  const int copy = ::fcntl(target.fd(), F_DUPFD_CLOEXEC, 0);
  std::FILE* const file = copy < 0 ? nullptr : ::fdopen(copy, "w");
  if (file == nullptr) {
    const int error = errno;
    if (copy >= 0) ::close(copy);
    return fail_errno("cannot write", path, error);
  }
  return TextSink(file, std::move(target));
}

TextSink::~TextSink() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void TextSink::write(std::string_view text) { write_text(file_, text); }

Result<void> TextSink::close() {
  std::FILE* const file = std::exchange(file_, nullptr);
  if (file == stdout) return {};  // finish_output() checks it
  const bool lost = std::ferror(file) != 0;
  errno = 0;
  if (std::fclose(file) != 0 || lost) {
    return fail_errno("cannot write", target_->path(), errno != 0 ? errno : EIO);
  }
  GFXGRAPH_TRY(target_->commit());
  wrote(target_->path().string());
  return {};
}

}  // namespace gfxgraph::tools
