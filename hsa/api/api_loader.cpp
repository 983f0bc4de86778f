// Code object readers, executables, symbols.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "hsa/api/attributes.h"
#include "hsa/device.h"
#include "hsa/loader.h"
#include "hsa/runtime.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

hsa_status_t kernel_info(const LoadedSymbol& symbol, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: return value.put(symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
      return value.put(symbol.kernarg_size_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
      return value.put(symbol.kernarg_align_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
      return value.put(symbol.descriptor.group_segment_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
      return value.put(symbol.descriptor.private_segment_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
      return value.put(symbol.descriptor.dynamic_stack());
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION: return value.put(uint32_t{0});
    // HIP 6.4 queries these for kernels as well.
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE: return value.put(uint32_t{64});
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST: return value.put(true);
    default: return value.unknown();
  }
}

hsa_status_t variable_info(const LoadedSymbol& symbol, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS: return value.put(symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
      return value.put(static_cast<uint32_t>(symbol.size_bytes));
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT: return value.put(uint32_t{1});
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST: return value.put(symbol.constant);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
      return value.put(uint32_t{HSA_VARIABLE_ALLOCATION_AGENT});
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
      return value.put(uint32_t{HSA_VARIABLE_SEGMENT_GLOBAL});
    default: return value.unknown();
  }
}

hsa_status_t symbol_info(const LoadedSymbol& symbol, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      return value.put(uint32_t{symbol.kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE});
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      return value.put(static_cast<uint32_t>(symbol.name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      return value.put_bytes(symbol.name.data(), symbol.name.size());
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH: return value.put(uint32_t{0});
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME: return value.put_bytes(nullptr, 0);
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT: return value.put(gpu_agent(symbol.device));
    case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE: return value.put(uint32_t{HSA_SYMBOL_LINKAGE_PROGRAM});
    case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION: return value.put(true);
    default:
      return symbol.kernel ? kernel_info(symbol, attribute, value)
                           : variable_info(symbol, attribute, value);
  }
}

hsa_status_t executable_info(bool frozen, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_EXECUTABLE_INFO_PROFILE: return value.put(uint32_t{HSA_PROFILE_BASE});
    case HSA_EXECUTABLE_INFO_STATE:
      return value.put(
          uint32_t{frozen ? HSA_EXECUTABLE_STATE_FROZEN : HSA_EXECUTABLE_STATE_UNFROZEN});
    case HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
      return value.put(uint32_t{HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR});
    default: return value.unknown();
  }
}

using SymbolCallback = hsa_status_t (*)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t,
                                        void*);

hsa_status_t iterate(const char* call, hsa_executable_t executable, hsa_agent_t agent,
                     SymbolCallback callback, void* data) {
  return entry(call, [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto symbols = symbols_of(executable.handle);
    if (!symbols) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    for (const uint64_t symbol : *symbols) {
      const auto known = get_symbol(symbol);
      if (!known || gpu_agent(known->device).handle != agent.handle) continue;
      const hsa_status_t status =
          callback(executable, agent, hsa_executable_symbol_t{symbol}, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t validate(const char* call, hsa_executable_t executable, uint32_t* result) {
  return entry(call, [&] {
    if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!executable_exists(executable.handle)) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    *result = 0;
    return HSA_STATUS_SUCCESS;
  });
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_code_object_reader_create_from_memory(
    const void* code_object, size_t size, hsa_code_object_reader_t* reader) {
  return entry("hsa_code_object_reader_create_from_memory", [&] {
    if (code_object == nullptr || size == 0 || reader == nullptr)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    reader->handle = create_reader({static_cast<const std::byte*>(code_object), size});
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_code_object_reader_create_from_file(hsa_file_t file, hsa_code_object_reader_t* reader) {
  return entry("hsa_code_object_reader_create_from_file", [&] {
    if (reader == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<std::byte> bytes;
    std::byte chunk[16384];
    off_t offset = 0;
    while (true) {
      const ssize_t got = pread(file, chunk, sizeof(chunk), offset);
      if (got < 0) return HSA_STATUS_ERROR_INVALID_FILE;
      if (got == 0) break;
      bytes.insert(bytes.end(), chunk, chunk + got);
      offset += got;
    }
    if (bytes.empty()) return HSA_STATUS_ERROR_INVALID_FILE;
    reader->handle = create_owning_reader(std::move(bytes));
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  return entry("hsa_code_object_reader_destroy", [&] {
    return destroy_reader(reader.handle) ? HSA_STATUS_SUCCESS
                                         : HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_create_alt(hsa_profile_t,
                                                           hsa_default_float_rounding_mode_t,
                                                           const char*,
                                                           hsa_executable_t* executable) {
  return entry("hsa_executable_create_alt", [&] {
    if (executable == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    executable->handle = create_executable();
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_create(hsa_profile_t profile,
                                                       hsa_executable_state_t state,
                                                       const char* options,
                                                       hsa_executable_t* executable) {
  if (state != HSA_EXECUTABLE_STATE_UNFROZEN) {
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_executable_create",
                  "only the unfrozen state is supported");
  }
  return hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, options,
                                   executable);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_destroy(hsa_executable_t executable) {
  return entry("hsa_executable_destroy", [&] {
    return destroy_executable(executable.handle) ? HSA_STATUS_SUCCESS
                                                 : HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_load_agent_code_object(
    hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader, const char*,
    hsa_loaded_code_object_t* loaded) {
  constexpr const char* kCall = "hsa_executable_load_agent_code_object";
  return entry(kCall, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const auto frozen = is_frozen(executable.handle);
    if (!frozen) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (*frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    if (!reader_exists(reader.handle)) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
    if (Device::faulted()) return refuse_after_fault(kCall);
    const auto object = load_code_object(executable.handle, device_of(agent), reader.handle);
    if (!object) {
      const Error& error = object.error();
      if (error.status == Status::kNotFound)
        return refuse(HSA_STATUS_ERROR_VARIABLE_UNDEFINED, kCall, error);
      if (error.status == Status::kMismatch)
        return refuse(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, kCall, error);
      if (error.status == Status::kInvalidArgument) {
        return refuse(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, kCall, error);
      }
      return refuse(status_of(error), kCall, error);
    }
    if (loaded != nullptr) loaded->handle = *object;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char*) {
  return entry("hsa_executable_freeze", [&] {
    return freeze_executable(executable.handle) ? HSA_STATUS_SUCCESS
                                                : HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_get_info(hsa_executable_t executable,
                                                         hsa_executable_info_t attribute,
                                                         void* value) {
  constexpr const char* kCall = "hsa_executable_get_info";
  return entry(kCall, [&] {
    const auto frozen = is_frozen(executable.handle);
    if (!frozen) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    return answer(
        kCall, AttributeOf::kExecutable, attribute, value,
        [&](uint32_t number, Answer& out) { return executable_info(*frozen, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_validate(hsa_executable_t executable,
                                                         uint32_t* result) {
  return validate("hsa_executable_validate", executable, result);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_validate_alt(hsa_executable_t executable,
                                                             const char*, uint32_t* result) {
  return validate("hsa_executable_validate_alt", executable, result);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_agent_global_variable_define(
    hsa_executable_t executable, hsa_agent_t agent, const char* name, void* address) {
  constexpr const char* kCall = "hsa_executable_agent_global_variable_define";
  return entry(kCall, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (name == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto frozen = is_frozen(executable.handle);
    if (!frozen) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (*frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    const auto defined = define_variable(executable.handle, device_of(agent), name,
                                         reinterpret_cast<uint64_t>(address));
    return defined ? HSA_STATUS_SUCCESS
                   : refuse(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, kCall, defined.error());
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* name,
                                  const hsa_agent_t* agent, hsa_executable_symbol_t* symbol) {
  return entry("hsa_executable_get_symbol_by_name", [&] {
    if (name == nullptr || symbol == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent != nullptr && !is_agent(*agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!executable_exists(executable.handle)) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    const auto found = find_symbol(executable.handle, name);
    // HIP looks up symbols that may be absent: no message.
    if (!found) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    symbol->handle = *found;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_symbol_get_info(
    hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute, void* value) {
  constexpr const char* kCall = "hsa_executable_symbol_get_info";
  return entry(kCall, [&] {
    const auto loaded = get_symbol(symbol.handle);
    if (!loaded) return HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL;
    return answer(kCall, AttributeOf::kSymbol, attribute, value,
                  [&](uint32_t number, Answer& out) { return symbol_info(*loaded, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_iterate_agent_symbols(hsa_executable_t executable,
                                                                      hsa_agent_t agent,
                                                                      SymbolCallback callback,
                                                                      void* data) {
  if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
  return iterate("hsa_executable_iterate_agent_symbols", executable, agent, callback, data);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_executable_iterate_symbols(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*), void* data) {
  return entry("hsa_executable_iterate_symbols", [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto symbols = symbols_of(executable.handle);
    if (!symbols) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    for (const uint64_t symbol : *symbols) {
      const hsa_status_t status = callback(executable, hsa_executable_symbol_t{symbol}, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}
