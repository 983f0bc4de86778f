#include "base/cli/kernel_glob.h"

#include <cstddef>

namespace gfxgraph {
namespace {

// Searches back from the closing bracket at `at` for its opening bracket; npos: there is none.
size_t opening(std::string_view text, size_t at, char open, char close) {
  size_t depth = 0;
  for (size_t i = at + 1; i-- > 0;) {
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// "void ns::gemm<float>(float*)": "ns::gemm<float>".
std::string_view without_types(std::string_view name) {
  const size_t close = name.rfind(')');
  if (close != std::string_view::npos) {
    const size_t open = opening(name, close, '(', ')');
    if (open != std::string_view::npos && open != 0) name = name.substr(0, open);
  }
  // After the last space outside brackets: only templates show their return type.
  size_t depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>' || name[i] == ')' || name[i] == '}') ++depth;
    if ((name[i] == '<' || name[i] == '(' || name[i] == '{') && depth > 0) --depth;
    if (name[i] == ' ' && depth == 0) return name.substr(i + 1);
  }
  return name;
}

// "ns::gemm<float>": "ns::gemm".
std::string_view without_template(std::string_view name) {
  if (!name.ends_with('>')) return name;
  const size_t open = opening(name, name.size() - 1, '<', '>');
  return open == std::string_view::npos || open == 0 ? name : name.substr(0, open);
}

}  // namespace

bool matches_glob(std::string_view glob, std::string_view name) noexcept {
  size_t g = 0;
  size_t n = 0;
  // After the last '*': matching resumes there on a mismatch.
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = ++g;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool matches_kernel(std::string_view glob, std::string_view symbol, std::string_view readable) {
  if (matches_glob(glob, symbol)) return true;
  const std::string_view name = without_types(readable);
  return matches_glob(glob, readable) || matches_glob(glob, name) ||
         matches_glob(glob, without_template(name));
}

}  // namespace gfxgraph
