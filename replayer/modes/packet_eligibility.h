// Determines from the trace which steps mode packets can run. Properties of kernels that only HSA
// knows are checked when their code is found (packet_code.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "replayer/code/hidden_arguments.h"

namespace gfxgraph::replayer {

class Instance;

// The hidden arguments of each kernel that a step launches.
using EligibleKernels = std::map<format::KernelId, std::vector<HiddenField>>;

// Looks at the first `operations` of the instance. The hidden arguments of the kernels that they
// launch, or kUnsupported with the first operations that stand against it and their reasons.
Result<EligibleKernels> eligible_kernels(const Instance& instance, uint32_t operations);

}  // namespace gfxgraph::replayer
