// AMD GPUs by the name of their processor, and whose code they run.
#pragma once

#include <string_view>

namespace gfxgraph {

// The generic target (AMDGPUUsage, "Generic AMDGPU Targets") that covers a processor, or "".
std::string_view generic_target(std::string_view processor);
// How well code for a target suits a GPU; 0: it cannot run there. It can with the same processor or
// its generic target, and each feature that the code requires ("xnack+") set so. Both with or
// without "amdgcn-amd-amdhsa--". More: an exact target wins over one whose features are unset
// ("any"), and both over a generic one.
int code_suitability(std::string_view code_target, std::string_view gpu_target);
inline bool code_suits(std::string_view code_target, std::string_view gpu_target) {
  return code_suitability(code_target, gpu_target) != 0;
}
// "amdgcn-amd-amdhsa--gfx90a:xnack-" without what stands before the processor.
std::string_view short_target(std::string_view target);

}  // namespace gfxgraph
