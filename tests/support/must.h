// For programs that are allowed to end at the first error: tests and benchmarks.
#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace gfxgraph::testing {

template <typename Value>
Value must(Result<Value> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace gfxgraph::testing
