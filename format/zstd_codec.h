// zstd in one place. Internal to format/.
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

// Nothing when the compressed bytes would not be smaller. May throw std::bad_alloc.
std::optional<std::vector<std::byte>> compress(std::span<const std::byte> bytes, int level);

// Keeps its memory from call to call; for many small inputs. Not thread-safe.
class Compressor {
 public:
  // The size of the frame in `out`; 0: it does not fit there. May throw std::bad_alloc.
  size_t compress(std::span<const std::byte> bytes, std::span<std::byte> out, int level);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class Decompressor {
 public:
  // As decompress() below.
  Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

// Exactly `size_bytes` come out, or an error; never writes more, never reads past `stored`.
Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out);

// The same, handed out in pieces that live until `visit` returns. Takes the memory of one window,
// 128 MiB at most, however many bytes come out. May throw std::bad_alloc.
Result<void> decompress(std::span<const std::byte> stored, uint64_t size_bytes,
                        const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace gfxgraph::format
