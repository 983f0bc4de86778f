#include "replayer/code/own_code.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/container/zstd_codec.h"

namespace gfxgraph::replayer {
namespace {

#include "replayer/code/own_code.inc"

constexpr size_t kNameBytes = 16;
// Instead of the sizes in the metadata of gfxgraph_enter (scripts/make-own-code).
constexpr uint32_t kGroupBytesPlace = 0x5f3a17c9;
constexpr uint32_t kPrivateBytesPlace = 0x4b6e21d3;

std::array<std::byte, 4> big_endian(uint32_t number) {
  std::array<std::byte, 4> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(number >> 8 * (bytes.size() - 1 - i));
  return bytes;
}

// MessagePack has big-endian numbers, at any address.
void replace(std::span<std::byte> elf, uint32_t place, uint32_t number) {
  const auto found = std::ranges::search(elf, big_endian(place));
  if (!found.empty()) std::ranges::copy(big_endian(number), found.begin());
}

}  // namespace

std::vector<std::byte> own_code(const std::string& architecture, uint32_t entry_group_bytes,
                                uint32_t entry_private_bytes) {
  std::vector<std::byte> packed(kOwnCodeBytes);
  if (!format::decompress(std::as_bytes(std::span(kOwnCode)), packed)) return {};
  for (std::span<const std::byte> rest = packed; rest.size() > kNameBytes + sizeof(uint32_t);) {
    uint32_t size = 0;
    std::memcpy(&size, rest.data() + kNameBytes, sizeof(size));
    const auto* const name = reinterpret_cast<const char*>(rest.data());
    rest = rest.subspan(kNameBytes + sizeof(size));
    if (architecture == name) {
      std::vector<std::byte> elf(rest.begin(), rest.begin() + size);
      replace(elf, kGroupBytesPlace, entry_group_bytes);
      replace(elf, kPrivateBytesPlace, entry_private_bytes);
      return elf;
    }
    rest = rest.subspan(size);
  }
  return {};
}

}  // namespace gfxgraph::replayer
