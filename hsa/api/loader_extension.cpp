#include "hsa/api/loader_extension.h"

#include <fmt/format.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "hsa/api/attributes.h"
#include "hsa/loader.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

// Device memory is host memory.
hsa_status_t query_host_address(const void* device_address, const void** host_address_out) {
  return entry("hsa_ven_amd_loader_query_host_address", [&] {
    if (device_address == nullptr || host_address_out == nullptr)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *host_address_out = device_address;
    return HSA_STATUS_SUCCESS;
  });
}

std::vector<LoadedObject> all_objects() {
  std::vector<LoadedObject> objects;
  for (const uint64_t executable : executables()) {
    const auto handles = loaded_objects_of(executable);
    if (!handles) continue;
    for (const uint64_t handle : *handles) {
      if (auto object = get_loaded_object(handle)) objects.push_back(std::move(*object));
    }
  }
  return objects;
}

hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors,
                                       size_t* count) {
  return entry("hsa_ven_amd_loader_query_segment_descriptors", [&] {
    if (count == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::vector<LoadedObject> objects = all_objects();
    if (descriptors == nullptr) {
      *count = objects.size();
      return HSA_STATUS_SUCCESS;
    }
    if (*count != objects.size()) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    for (size_t i = 0; i < objects.size(); ++i) {
      const LoadedObject& object = objects[i];
      hsa_ven_amd_loader_segment_descriptor_t& d = descriptors[i];
      d = {};
      d.agent = gpu_agent(object.device);
      d.executable.handle = object.executable;
      d.code_object_storage_type = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
      d.code_object_storage_base = reinterpret_cast<const void*>(object.storage);
      d.code_object_storage_size = object.storage_bytes;
      d.segment_base = object.memory;
      d.segment_size = object.memory_bytes;
    }
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t query_executable(const void* device_address, hsa_executable_t* executable) {
  return entry("hsa_ven_amd_loader_query_executable", [&] {
    if (device_address == nullptr || executable == nullptr)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto object = loaded_object_at(reinterpret_cast<uint64_t>(device_address));
    if (!object) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    executable->handle = object->executable;
    return HSA_STATUS_SUCCESS;
  });
}

using ObjectCallback = hsa_status_t (*)(hsa_executable_t, hsa_loaded_code_object_t, void*);

hsa_status_t iterate_loaded_code_objects(hsa_executable_t executable, ObjectCallback callback,
                                         void* data) {
  return entry("hsa_ven_amd_loader_executable_iterate_loaded_code_objects", [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto handles = loaded_objects_of(executable.handle);
    if (!handles) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    for (const uint64_t handle : *handles) {
      const hsa_status_t status = callback(executable, hsa_loaded_code_object_t{handle}, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t object_info(const LoadedObject& object, uint32_t attribute, Answer& value) {
  const std::string uri = fmt::format("memory://{}#offset={:#x}&size={}", getpid(), object.storage,
                                      object.storage_bytes);
  switch (attribute) {
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE: return value.put(object.executable);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND:
      return value.put(uint32_t{HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT});
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
      return value.put(gpu_agent(object.device));
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
      return value.put(uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY});
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
      return value.put(object.storage);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
      return value.put(object.storage_bytes);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
      return value.put(object.load_address);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE: return value.put(object.memory);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
      return value.put(object.memory_bytes);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH:
      return value.put(static_cast<uint32_t>(uri.size()));
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI:
      return value.put_bytes(uri.data(), uri.size());
    default: return value.unknown();
  }
}

hsa_status_t loaded_code_object_get_info(hsa_loaded_code_object_t object,
                                         hsa_ven_amd_loader_loaded_code_object_info_t attribute,
                                         void* value) {
  constexpr const char* kCall = "hsa_ven_amd_loader_loaded_code_object_get_info";
  return entry(kCall, [&] {
    const auto loaded = get_loaded_object(object.handle);
    if (!loaded) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    return answer(kCall, AttributeOf::kLoadedObject, attribute, value,
                  [&](uint32_t number, Answer& out) { return object_info(*loaded, number, out); });
  });
}

hsa_status_t create_from_file_with_offset_size(hsa_file_t file, size_t offset, size_t size,
                                               hsa_code_object_reader_t* reader) {
  constexpr const char* kCall =
      "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size";
  return entry(kCall, [&] {
    if (reader == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const off_t end = lseek(file, 0, SEEK_END);
    if (end < 0) return HSA_STATUS_ERROR_INVALID_FILE;
    const auto file_bytes = static_cast<uint64_t>(end);
    if (offset > file_bytes || size > file_bytes - offset)
      return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    std::vector<std::byte> bytes(size);
    size_t done = 0;
    while (done < size) {
      const ssize_t got =
          pread(file, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
      if (got <= 0) return HSA_STATUS_ERROR_INVALID_FILE;
      done += static_cast<size_t>(got);
    }
    reader->handle = create_owning_reader(std::move(bytes));
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data) {
  return entry("hsa_ven_amd_loader_iterate_executables", [&] {
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const uint64_t executable : executables()) {
      const hsa_status_t status = callback(hsa_executable_t{executable}, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

constexpr hsa_ven_amd_loader_1_03_pfn_t kTable = {
    query_host_address,          query_segment_descriptors,   query_executable,
    iterate_loaded_code_objects, loaded_code_object_get_info, create_from_file_with_offset_size,
    iterate_executables,
};

}  // namespace

std::span<const std::byte> loader_extension_table() {
  return std::as_bytes(std::span<const hsa_ven_amd_loader_1_03_pfn_t>(&kTable, 1));
}

}  // namespace gfxgraph::hsa
