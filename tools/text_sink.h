// Text for standard output or a file.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gfxgraph::tools {

// Removes the file unless close() succeeds: no half-written file stays behind.
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
  TextSink(std::FILE* file, std::string path);
  std::FILE* file_;
  std::string path_;
};

}  // namespace gfxgraph::tools
