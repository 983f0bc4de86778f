#include "replayer/own_code.h"

#include <cstdint>
#include <cstring>
#include <span>

#include "format/zstd_codec.h"

namespace gfxgraph::replayer {
namespace {

#include "replayer/own_code.inc"

constexpr size_t kNameBytes = 16;

}  // namespace

std::vector<std::byte> own_code(const std::string& architecture) {
  std::vector<std::byte> packed(kOwnCodeBytes);
  if (!format::decompress(std::as_bytes(std::span(kOwnCode)), packed)) return {};
  for (std::span<const std::byte> rest = packed; rest.size() > kNameBytes + sizeof(uint32_t);) {
    uint32_t size = 0;
    std::memcpy(&size, rest.data() + kNameBytes, sizeof(size));
    const auto* const name = reinterpret_cast<const char*>(rest.data());
    rest = rest.subspan(kNameBytes + sizeof(size));
    if (architecture == name) return {rest.begin(), rest.begin() + size};
    rest = rest.subspan(size);
  }
  return {};
}

}  // namespace gfxgraph::replayer
