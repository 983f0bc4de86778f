// The arguments of a launch, for tests whose arguments can be read.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/launch/arguments.h"

namespace gfxgraph::recorder {

inline std::vector<uint8_t> kernarg_of(const format::Kernel& kernel, void* const* params) {
  std::vector<uint8_t> kernarg;
  if (!kernarg_from_params(kernel, params, ArgumentsAre::kUnknown, kernarg)) kernarg.clear();
  return kernarg;
}

inline Result<std::vector<uint8_t>> kernarg_of_extra(const format::Kernel& kernel,
                                                     void* const* extra) {
  std::vector<uint8_t> kernarg;
  GFXGRAPH_TRY(kernarg_from_extra(kernel, extra, ArgumentsAre::kUnknown, kernarg));
  return kernarg;
}

}  // namespace gfxgraph::recorder
