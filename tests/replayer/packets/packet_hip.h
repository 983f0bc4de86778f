// A HIP that loads code into the software agent, for tests of mode packets: what FakeHip has, and
// modules that are HSA's executables.
#pragma once

#include <elf.h>
#include <hsa/hsa.h>

#include <cstdio>
#include <cstring>

#include "fake_hip.h"

namespace gfxgraph::replayer::testing {

inline int bus_id(char* text, int bytes, int) {
  std::snprintf(text, static_cast<size_t>(bytes), "0000:03:00.0");
  return hip::kSuccess;
}

inline int load_module(void** module, const void* image) {
  const auto* const header = static_cast<const Elf64_Ehdr*>(image);
  const size_t bytes = header->e_shoff + size_t{header->e_shentsize} * header->e_shnum;
  hsa_agent_t gpu{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* last) {
        *static_cast<hsa_agent_t*>(last) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &gpu);
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  if (hsa_code_object_reader_create_from_memory(image, bytes, &reader) != HSA_STATUS_SUCCESS ||
      hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                &executable) != HSA_STATUS_SUCCESS ||
      hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr) !=
          HSA_STATUS_SUCCESS ||
      hsa_executable_freeze(executable, nullptr) != HSA_STATUS_SUCCESS)
    return 1;
  hsa_code_object_reader_destroy(reader);
  *module = reinterpret_cast<void*>(executable.handle);
  return hip::kSuccess;
}

inline int unload_module(void* module) {
  return hsa_executable_destroy({reinterpret_cast<uint64_t>(module)}) == HSA_STATUS_SUCCESS
             ? hip::kSuccess
             : 1;
}

// `launch`: hipModuleLaunchKernel. A function is its module.
inline HipTable packet_hip_table(const FakeHip& fake,
                                 decltype(HipTable::hipModuleLaunchKernel) launch) {
  HipTable table = fake.table();
  table.hipDeviceGetPCIBusId = bus_id;
  table.hipModuleLoadData = load_module;
  table.hipModuleUnload = unload_module;
  table.hipModuleGetFunction = [](void** function, void* module, const char*) {
    *function = module;
    return hip::kSuccess;
  };
  table.hipModuleLaunchKernel = launch;
  return table;
}

}  // namespace gfxgraph::replayer::testing
