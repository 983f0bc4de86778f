// Any bytes as a code object, all the way of a loader: parsed, segments and relocations placed,
// descriptors read back from memory, then the same through the agent as HIP would do it. What loads
// must have its descriptors where the symbols say.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/relocate.h"

namespace {

using gfxgraph::codeobj::CodeObject;

constexpr uint64_t kMostBytes = 16 << 20;
constexpr uint64_t kLoadAddress = 0x7000'0000'0000;

// Into a block of exactly the object's size: a sanitizer sees a byte outside.
bool place(std::span<const std::byte> bytes) {
  const auto code = CodeObject::parse(bytes);
  if (!code || (*code)->load_size_bytes() > kMostBytes) return false;
  std::vector<std::byte> memory((*code)->load_size_bytes());
  const auto loaded =
      gfxgraph::codeobj::load_segments(**code, memory, kLoadAddress, [](const std::string& name) {
        return name.size() % 2 == 0 ? std::optional<uint64_t>(name.size()) : std::nullopt;
      });
  if (!loaded) return true;
  const uint64_t first = (*code)->segments().front().address;
  for (const auto& kernel : (*code)->kernels()) {
    const uint64_t offset = kernel.descriptor_address - first;
    if (offset > memory.size() || memory.size() - offset < 64) std::abort();
    (void)gfxgraph::codeobj::decode_descriptor(std::span(memory).subspan(offset, 64));
  }
  return true;
}

hsa_agent_t gpu_agent() {
  hsa_agent_t gpu{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* found) {
        *static_cast<hsa_agent_t*>(found) = agent;  // the last one
        return HSA_STATUS_SUCCESS;
      },
      &gpu);
  return gpu;
}

hsa_status_t look_at(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void*) {
  uint32_t length = 0;
  if (hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length) !=
      HSA_STATUS_SUCCESS)
    std::abort();
  std::vector<char> name(length);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
  hsa_symbol_kind_t kind{};
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
  if (kind != HSA_SYMBOL_KIND_KERNEL) return HSA_STATUS_SUCCESS;
  uint64_t object = 0;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
  std::byte descriptor[64];
  std::memcpy(descriptor, reinterpret_cast<const void*>(object), sizeof(descriptor));
  (void)gfxgraph::codeobj::decode_descriptor(descriptor);
  return HSA_STATUS_SUCCESS;
}

void load_as_hip(std::span<const std::byte> bytes) {
  static const hsa_agent_t gpu = [] {
    setenv("GFXGRAPH_LOG", "off", 1);
    if (hsa_init() != HSA_STATUS_SUCCESS) std::abort();
    return gpu_agent();
  }();
  hsa_code_object_reader_t reader{};
  if (hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader) !=
      HSA_STATUS_SUCCESS)
    return;
  hsa_executable_t executable{};
  hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                            &executable);
  if (hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr) ==
          HSA_STATUS_SUCCESS &&
      hsa_executable_freeze(executable, nullptr) == HSA_STATUS_SUCCESS)
    hsa_executable_iterate_agent_symbols(executable, gpu, look_at, nullptr);
  hsa_code_object_reader_destroy(reader);
  hsa_executable_destroy(executable);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  if (place(bytes)) load_as_hip(bytes);
  return 0;
}
