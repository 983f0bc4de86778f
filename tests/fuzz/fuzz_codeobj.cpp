// Any bytes through every reader of codeobj/.
#include <cstddef>
#include <cstdint>
#include <span>

#include "codeobj/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gfxgraph::codeobj;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  (void)bundle_size(bytes.data(), bytes.size());
  const auto entries = extract_device_elves(bytes);
  if (entries) (void)select_entry(*entries, "gfx1030");
  const auto object = CodeObject::parse(bytes);
  if (!object) return 0;
  for (const Kernel& kernel : (*object)->kernels()) {
    (void)(*object)->source_location(kernel.entry_address);
    (void)(*object)->kernel_at(kernel.entry_address);
  }
  return 0;
}
