// Text for standard output or a file.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/file/new_file.h"
#include "base/result.h"

namespace gfxgraph::tools {

// A file gets its name when close() succeeds: no half-written file stays behind.
class TextSink {
 public:
  // An empty path: standard output.
  static Result<TextSink> open(const std::string& path);
  TextSink(TextSink&& other) noexcept;
  TextSink& operator=(TextSink&&) = delete;
  ~TextSink();

  void write(std::string_view text);
  Result<void> close();

 private:
  TextSink(std::FILE* file, std::optional<NewFile> target);
  std::FILE* file_;  // buffers for target_
  std::optional<NewFile> target_;
};

}  // namespace gfxgraph::tools
