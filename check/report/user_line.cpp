#include "check/report/user_line.h"

#include <algorithm>
#include <array>

namespace gfxgraph::check {

bool is_foreign_file(std::string_view file) {
  // Installed folders, and those of ROCm's headers wherever a package or wheel puts them.
  static constexpr std::array<std::string_view, 5> kRoots = {
      "/usr/include/", "/usr/local/include/", "/usr/lib/", "/usr/local/lib/", "/opt/rocm"};
  static constexpr std::array<std::string_view, 9> kParts = {
      "/amd_detail/",       "/include/hip/",     "/include/hipcub/",
      "/include/rocprim/",  "/include/thrust/",  "/lib/clang/",
      "/ROCm-Device-Libs/", "/rocm-device-libs", "/ockl/"};
  return std::ranges::any_of(kRoots, [&](auto root) { return file.starts_with(root); }) ||
         std::ranges::any_of(kParts,
                             [&](auto part) { return file.find(part) != std::string_view::npos; });
}

size_t user_frame(const std::vector<codeobj::SourceLocation>& stack) {
  for (size_t n = 0; n < stack.size(); ++n)
    if (stack[n].line != 0 && !stack[n].file.empty() && !is_foreign_file(stack[n].file)) return n;
  return 0;
}

std::optional<codeobj::SourceLocation> user_line(const codeobj::CodeObject& code,
                                                 uint64_t address) {
  std::optional<codeobj::SourceLocation> own = code.source_location(address);
  if (!own || (own->line != 0 && !is_foreign_file(own->file))) return own;
  const std::vector<codeobj::SourceLocation> stack = codeobj::inline_stack(code, address);
  return stack.empty() ? own : stack[user_frame(stack)];
}

}  // namespace gfxgraph::check
