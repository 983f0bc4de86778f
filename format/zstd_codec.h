// zstd in one place. Internal to format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace gfxgraph::format {

// Nothing when the compressed bytes would not be smaller. May throw std::bad_alloc.
std::optional<std::vector<std::byte>> compress(std::span<const std::byte> bytes, int level);

// Exactly `size_bytes` come out, or an error; never writes more, never reads past `stored`.
Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out);

// The same, handed out in pieces that live until `visit` returns. Takes the memory of one window,
// 128 MiB at most, however many bytes come out. May throw std::bad_alloc.
Result<void> decompress(std::span<const std::byte> stored, uint64_t size_bytes,
                        const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace gfxgraph::format
