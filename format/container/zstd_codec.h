// All uses of zstd. Internal to format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace gfxgraph::format {

// Empty if the compressed bytes would not be smaller. May throw std::bad_alloc.
std::optional<std::vector<std::byte>> compress(std::span<const std::byte> bytes, int level);

// Reuses its context between calls; for many small inputs. Not thread-safe.
class Compressor {
 public:
  // Writes a frame to `out` and returns its size; 0: it does not fit. May throw std::bad_alloc.
  size_t compress(std::span<const std::byte> bytes, std::span<std::byte> out, int level);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class Decompressor {
 public:
  // As decompress() below, and not thread-safe.
  Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

// Fails unless `stored` decompresses to exactly the size of `out`. Never writes or reads beyond the
// spans.
Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out);

// The same in pieces, each valid until `visit` returns; exactly `size_bytes` in all. Needs memory
// for one window (at most 128 MiB), whatever the size. May throw std::bad_alloc.
Result<void> decompress(std::span<const std::byte> stored, uint64_t size_bytes,
                        const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace gfxgraph::format
