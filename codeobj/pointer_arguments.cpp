#include "codeobj/pointer_arguments.h"

namespace gfxgraph::codeobj {
namespace {

struct Rule {
  std::string_view kernel;
  std::string_view argument;
  const char* why;
};

constexpr Rule kRules[] = {
#define GFXGRAPH_POINTER_ARGUMENTS(kernel, argument, why) {kernel, argument, why},
#include "codeobj/pointer_arguments.inc"
#undef GFXGRAPH_POINTER_ARGUMENTS
};

}  // namespace

const char* pointer_argument(std::string_view kernel, std::string_view argument,
                             uint32_t size_bytes) noexcept {
  if (size_bytes != 8) return nullptr;
  for (const Rule& rule : kRules) {
    if (kernel.starts_with(rule.kernel) && argument.starts_with(rule.argument)) return rule.why;
  }
  return nullptr;
}

}  // namespace gfxgraph::codeobj
