// System, agents and ISA.
#include <dlfcn.h>
#include <fmt/format.h>
#include <hsa/hsa_ext_image.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <string>

#include "base/agent_memory.h"
#include "base/log.h"
#include "emulator/engine/clock.h"
#include "emulator/isa/memory/image_format.h"
#include "hsa/api/attributes.h"
#include "hsa/api/image_extension.h"
#include "hsa/api/loader_extension.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/wait.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

// Two words that HIP writes to flush the host data path (HDP): the agent has no HDP.
uint32_t* hdp_registers() {
  alignas(64) static uint32_t words[2];
  return words;
}

std::string device_name() {
  if (execution() != Execution::kCopies) return kAgentDeviceName;
  return std::string(kNullDeviceName) + std::string(target().row().processor);
}

struct HdpFlush {
  uint32_t* memory_flush;
  uint32_t* register_flush;
};

hsa_status_t structured_agent_info(hsa_agent_t agent, uint32_t attribute, Answer& value) {
  const bool gpu = is_gpu(agent);
  switch (attribute) {
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      const uint16_t most = gpu ? 1024 : 0;
      const uint16_t dimensions[3] = {most, most, most};
      return value.put(dimensions);
    }
    case HSA_AGENT_INFO_GRID_MAX_SIZE: return value.put(gpu ? UINT32_MAX : 0u);
    case HSA_AGENT_INFO_GRID_MAX_DIM:
      return value.put(gpu ? hsa_dim3_t{UINT32_MAX, UINT32_MAX, UINT32_MAX} : hsa_dim3_t{0, 0, 0});
    case HSA_AGENT_INFO_CACHE_SIZE: {
      const uint32_t bytes[4] = {gpu ? 16u << 10 : 32u << 10, gpu ? 4u << 20 : 0,
                                 gpu ? 128u << 20 : 0, 0};
      return value.put(bytes);
    }
    case HSA_AGENT_INFO_ISA: return value.put(gpu ? target().isas().front().isa : hsa_isa_t{0});
    case HSA_AGENT_INFO_EXTENSIONS: {
      std::array<uint8_t, 128> bits{};
      if (gpu && target().row().images)
        bits[HSA_EXTENSION_IMAGES / 8] |= 1u << HSA_EXTENSION_IMAGES % 8;
      return value.put(bits);
    }
    case attribute::HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
    case attribute::HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
    case attribute::HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
    case attribute::HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
      return value.put(
          gpu ? std::array<uint32_t, 2>{emulator::Image::kMostWidth, emulator::Image::kMostHeight}
              : std::array<uint32_t, 2>{});
    case attribute::HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
      return value.put(gpu ? std::array<uint32_t, 3>{emulator::Image::kMostWidth,
                                                     emulator::Image::kMostHeight,
                                                     emulator::Image::kMostSlices}
                           : std::array<uint32_t, 3>{});
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
      return value.put(gpu ? HdpFlush{hdp_registers(), hdp_registers() + 1}
                           : HdpFlush{nullptr, nullptr});
    case attribute::HSA_AMD_AGENT_INFO_MEMORY_AVAIL:
      return value.put(gpu ? device_memory_free_bytes(device_of(agent)) : uint64_t{0});
    case attribute::HSA_AMD_AGENT_INFO_CLOCK_COUNTERS: {  // GPU, CPU, system, and the frequency of
                                                          // all, Hz
      const uint64_t now = timestamp_ns();
      const uint64_t device = gpu ? emulator::wall_clock(Device::clock(device_of(agent))) : now;
      const uint64_t counters[4] = {device, now, now, kTimestampHz};
      return value.put(counters);
    }
    case attribute::HSA_AMD_AGENT_INFO_NEAREST_CPU: return value.put(kCpuAgent);
    default: return value.unknown();
  }
}

hsa_status_t agent_info(hsa_agent_t agent, uint32_t attribute, Answer& value) {
  const bool gpu = is_gpu(agent);
  const uint32_t device = gpu ? device_of(agent) : 0;
  switch (attribute) {
#define GFXGRAPH_AGENT_TEXT(name, cpu_text, gpu_text) \
  case attribute::name: return value.put_text(gpu ? std::string_view(gpu_text) : cpu_text);
#define GFXGRAPH_AGENT_SCALAR(type, name, cpu_value, gpu_value) \
  case attribute::name: return value.put(static_cast<type>(gpu ? (gpu_value) : (cpu_value)));
#define GFXGRAPH_AGENT_U16(...) GFXGRAPH_AGENT_SCALAR(uint16_t, __VA_ARGS__)
#define GFXGRAPH_AGENT_U32(...) GFXGRAPH_AGENT_SCALAR(uint32_t, __VA_ARGS__)
#define GFXGRAPH_AGENT_U64(...) GFXGRAPH_AGENT_SCALAR(uint64_t, __VA_ARGS__)
#define GFXGRAPH_AGENT_BOOL(...) GFXGRAPH_AGENT_SCALAR(bool, __VA_ARGS__)
#include "hsa/api/agent_info.inc"
    default: return structured_agent_info(agent, attribute, value);
  }
}

hsa_status_t system_info(uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR: return value.put(uint16_t{1});
    case HSA_SYSTEM_INFO_VERSION_MINOR: return value.put(uint16_t{1});
    case HSA_SYSTEM_INFO_TIMESTAMP: return value.put(timestamp_ns());
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: return value.put(kTimestampHz);
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT: return value.put(UINT64_MAX);
    case HSA_SYSTEM_INFO_ENDIANNESS: return value.put(uint32_t{HSA_ENDIANNESS_LITTLE});
    case HSA_SYSTEM_INFO_MACHINE_MODEL: return value.put(uint32_t{HSA_MACHINE_MODEL_LARGE});
    case HSA_SYSTEM_INFO_EXTENSIONS: {
      std::array<uint8_t, 128> bits{};
      for (const unsigned known : {HSA_EXTENSION_AMD_LOADER, HSA_EXTENSION_IMAGES})
        bits[known / 8] |= static_cast<uint8_t>(1u << known % 8);
      return value.put(bits);
    }
    case attribute::HSA_AMD_SYSTEM_INFO_BUILD_VERSION:
      return value.put(static_cast<const char*>("gfxgraph"));
    case attribute::HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED: return value.put(false);
    case attribute::HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT: return value.put(false);
    case attribute::HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED: return value.put(false);
    case attribute::HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED: return value.put(false);
    case attribute::HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED:
      lock_at_host_addresses();  // only HIP 6 and newer query it
      return value.put(false);   // see docs/software-agent.md
    case attribute::HSA_AMD_SYSTEM_INFO_XNACK_ENABLED: return value.put(false);
    case attribute::HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR: return value.put(uint16_t{1});
    case attribute::HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR: return value.put(uint16_t{0});
    default: return value.unknown();
  }
}

// Null: no such ISA.
const IsaRow* find_isa(hsa_isa_t isa) {
  for (const IsaRow& known : target().isas())
    if (known.isa.handle == isa.handle) return &known;
  return nullptr;
}

// HIP and OpenCL before generic targets refuse a GPU that has not exactly one ISA. Newer ones find
// code for generic targets without asking for the ISAs.
bool counts_isas(const void* caller) {
  Dl_info library{};
  if (dladdr(caller, &library) == 0 || library.dli_fname == nullptr) return false;
  const std::string_view name = library.dli_fname;
  return name.find("libamdhip64") != std::string_view::npos ||
         name.find("libamdocl64") != std::string_view::npos;
}

hsa_status_t isa_info(const IsaRow& isa, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_ISA_INFO_NAME_LENGTH: return value.put(static_cast<uint32_t>(isa.name.size() + 1));
    case HSA_ISA_INFO_NAME: return value.put_bytes(isa.name.c_str(), isa.name.size() + 1);
    case HSA_ISA_INFO_CALL_CONVENTION_COUNT: return value.put(uint32_t{1});
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE:
      return value.put(target().row().wavefront);
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT:
      return value.put(target().row().waves);
    case HSA_ISA_INFO_MACHINE_MODELS: {
      const bool models[2] = {false, true};
      return value.put(models);
    }
    case HSA_ISA_INFO_PROFILES: {
      const bool profiles[2] = {true, false};
      return value.put(profiles);
    }
    case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES:
    case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES: {
      const bool modes[3] = {false, false, true};
      return value.put(modes);
    }
    case HSA_ISA_INFO_FAST_F16_OPERATION: return value.put(true);
    case HSA_ISA_INFO_WORKGROUP_MAX_DIM: {
      const uint16_t d[3] = {1024, 1024, 1024};
      return value.put(d);
    }
    case HSA_ISA_INFO_WORKGROUP_MAX_SIZE: return value.put(uint32_t{1024});
    case HSA_ISA_INFO_GRID_MAX_DIM:
      return value.put(hsa_dim3_t{UINT32_MAX, UINT32_MAX, UINT32_MAX});
    case HSA_ISA_INFO_GRID_MAX_SIZE: return value.put(UINT64_MAX);
    case HSA_ISA_INFO_FBARRIER_MAX_SIZE: return value.put(uint32_t{32});
    default: return value.unknown();
  }
}

bool knows_extension(uint16_t extension, uint16_t major) {
  return major == 1 && (extension == HSA_EXTENSION_AMD_LOADER || extension == HSA_EXTENSION_IMAGES);
}
// The newest minor version.
uint16_t minor_of(uint16_t extension) { return extension == HSA_EXTENSION_AMD_LOADER ? 3 : 0; }

hsa_status_t copy_extension_table(const char* call, uint16_t extension, uint16_t major,
                                  size_t bytes, void* table) {
  return entry(call, [&] {
    if (table == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::span<const std::byte> own =
        extension == HSA_EXTENSION_IMAGES ? image_extension_table() : loader_extension_table();
    if (!knows_extension(extension, major) || bytes > own.size()) {
      return refuse(
          HSA_STATUS_ERROR_INVALID_ARGUMENT, call,
          fmt::format("extension {:#x} version {} is not supported", extension, major).c_str());
    }
    std::memcpy(table, own.data(), bytes);
    return HSA_STATUS_SUCCESS;
  });
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  constexpr const char* kCall = "hsa_system_get_info";
  return entry(kCall,
               [&] { return answer(kCall, AttributeOf::kSystem, attribute, value, system_info); });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*),
                                                    void* data) {
  return entry("hsa_iterate_agents", [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    hsa_status_t status = callback(kCpuAgent, data);
    for (uint32_t i = 0; status == HSA_STATUS_SUCCESS && i < gpu_count(); ++i)
      status = callback(gpu_agent(i), data);
    return status;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute,
                                                    void* value) {
  constexpr const char* kCall = "hsa_agent_get_info";
  return entry(kCall, [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    return answer(kCall, AttributeOf::kAgent, attribute, value,
                  [&](uint32_t number, Answer& out) { return agent_info(agent, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent,
                                                                hsa_agent_info_t attribute,
                                                                void* value) {
  return hsa_agent_get_info(agent, attribute, value);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent,
                                                        hsa_status_t (*callback)(hsa_isa_t, void*),
                                                        void* data) {
  const bool one = counts_isas(__builtin_return_address(0));
  return entry("hsa_agent_iterate_isas", [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!is_gpu(agent)) return HSA_STATUS_SUCCESS;
    for (const IsaRow& row : target().isas()) {
      const hsa_status_t status = callback(row.isa, data);
      if (status != HSA_STATUS_SUCCESS || one) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_isa_from_name(const char* name, hsa_isa_t* isa) {
  return entry("hsa_isa_from_name", [&] {
    if (name == nullptr || isa == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const IsaRow& row : target().isas()) {
      if (std::string_view(name) != row.name) continue;
      *isa = row.isa;
      return HSA_STATUS_SUCCESS;
    }
    return HSA_STATUS_ERROR_INVALID_ISA_NAME;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa,
                                                    bool* result) {
  return entry("hsa_isa_compatible", [&] {
    if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (find_isa(code_object_isa) == nullptr || find_isa(agent_isa) == nullptr)
      return HSA_STATUS_ERROR_INVALID_ISA;
    *result = code_object_isa.handle == agent_isa.handle ||
              agent_isa.handle == target().isas().front().isa.handle;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute,
                                                      void* value) {
  constexpr const char* kCall = "hsa_isa_get_info_alt";
  return entry(kCall, [&] {
    const IsaRow* const row = find_isa(isa);
    if (row == nullptr) return HSA_STATUS_ERROR_INVALID_ISA;
    return answer(kCall, AttributeOf::kIsa, attribute, value,
                  [&](uint32_t number, Answer& out) { return isa_info(*row, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_extension_get_name(uint16_t extension, const char** name) {
  return entry("hsa_extension_get_name", [&] {
    if (name == nullptr || !knows_extension(extension, 1)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *name = extension == HSA_EXTENSION_IMAGES ? "HSA_EXTENSION_IMAGES" : "HSA_EXTENSION_AMD_LOADER";
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_system_major_extension_supported(uint16_t extension,
                                                                      uint16_t major,
                                                                      uint16_t* minor,
                                                                      bool* result) {
  return entry("hsa_system_major_extension_supported", [&] {
    if (minor == nullptr || result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = knows_extension(extension, major);
    *minor = *result ? minor_of(extension) : 0;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major,
                                                                uint16_t minor, bool* result) {
  return entry("hsa_system_extension_supported", [&] {
    if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = knows_extension(extension, major) && minor <= minor_of(extension);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_agent_extension_supported(uint16_t extension,
                                                               hsa_agent_t agent, uint16_t major,
                                                               uint16_t minor, bool* result) {
  return entry("hsa_agent_extension_supported", [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = knows_extension(extension, major) && minor <= minor_of(extension);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_agent_major_extension_supported(
    uint16_t extension, hsa_agent_t agent, uint16_t major, uint16_t* minor, bool* result) {
  if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
  return hsa_system_major_extension_supported(extension, major, minor, result);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_system_get_extension_table(uint16_t extension, uint16_t major,
                                                                uint16_t minor, void* table) {
  if (extension == HSA_EXTENSION_IMAGES) {
    return copy_extension_table("hsa_system_get_extension_table", extension, major,
                                sizeof(hsa_ext_images_1_00_pfn_t), table);
  }
  // The loader's tables of minor versions 0 to 3 are prefixes of each other.
  constexpr size_t kBytes[] = {24, 40, 48, 56};
  return copy_extension_table("hsa_system_get_extension_table", extension, major,
                              kBytes[minor > 3 ? 3 : minor], table);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_system_get_major_extension_table(uint16_t extension,
                                                                      uint16_t major, size_t bytes,
                                                                      void* table) {
  return copy_extension_table("hsa_system_get_major_extension_table", extension, major, bytes,
                              table);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t agent,
                                                            hsa_amd_coherency_type_t* type) {
  return entry("hsa_amd_coherency_get_type", [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (type == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *type = HSA_AMD_COHERENCY_TYPE_COHERENT;
    return HSA_STATUS_SUCCESS;
  });
}

// All memory is coherent, whatever type the caller sets.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent,
                                                            hsa_amd_coherency_type_t) {
  return entry("hsa_amd_coherency_set_type",
               [&] { return is_gpu(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback, void* data) {
  return entry("hsa_amd_register_system_event_handler", [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Runtime::set_event_handler(callback, data);
    return HSA_STATUS_SUCCESS;
  });
}

// The emulator owns scratch memory: limits set by the program have no effect.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t) {
  return entry("hsa_amd_agent_set_async_scratch_limit",
               [&] { return is_gpu(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT; });
}

// The agent logs as GFXGRAPH_LOG sets.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_enable_logging(uint8_t*, void*) {
  return HSA_STATUS_SUCCESS;
}
