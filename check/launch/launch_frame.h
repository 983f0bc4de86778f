// Memory of an emulated launch other than the recorded buffers: kernel arguments, dispatch packet
// and queue. All launches share it, one at a time.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "check/launch/arguments.h"
#include "check/launch/host_services.h"
#include "check/launch/loaded_code.h"
#include "check/memory/device_memory.h"
#include "codeobj/code_object.h"
#include "emulator/engine/engine.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

class LaunchFrame {
 public:
  LaunchFrame() = default;
  // Allocates memory for the kernels of `trace`. `memory` must outlive this.
  static Result<LaunchFrame> create(const format::Trace& trace, DeviceMemory& memory);

  // Writes the arguments and the packet of a launch. kUnsupported: hidden arguments that the
  // emulator cannot provide (arguments.h). If `services` is null, a kernel that calls the host
  // faults.
  Result<emulator::Dispatch> fill(uint64_t index, const format::Launch& launch,
                                  const format::Kernel& kernel, const LaunchShape& shape,
                                  const LoadedCode& code, const codeobj::Kernel& found,
                                  HostServices* services);

 private:
  DeviceMemory* memory_ = nullptr;
  uint64_t packet_ = 0;  // device addresses
  uint64_t queue_ = 0;
  uint64_t kernarg_ = 0;
};

struct LaunchCode {
  const LoadedCode* code = nullptr;
  const codeobj::Kernel* kernel = nullptr;
};
// The loaded code of a kernel of the trace. kCorrupt or kNotFound if `loaded` lacks it.
Result<LaunchCode> find_launch_code(const std::vector<LoadedCode>& loaded,
                                    const format::Kernel& kernel);

}  // namespace gfxgraph::check
