// AMD GPUs by the name of their processor, and whose code they run.
#pragma once

#include <string_view>

namespace gfxgraph::codeobj {

// The generic target (AMDGPUUsage, "Generic AMDGPU Targets") that covers a processor, or "".
std::string_view generic_target(std::string_view processor);
// Whether code for a target runs on a GPU: same processor or its generic target, and each feature
// that the code requires ("xnack+") is set so. Both with or without "amdgcn-amd-amdhsa--".
bool code_suits(std::string_view code_target, std::string_view gpu_target);

}  // namespace gfxgraph::codeobj
