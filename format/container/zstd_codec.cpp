#include "format/container/zstd_codec.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <new>

namespace gfxgraph::format {
namespace {

// Random-looking floats do not compress; testing a sample costs little.
constexpr size_t kSampleBytes = 1u << 15;

}  // namespace

std::optional<std::vector<std::byte>> compress(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> out;
  if (bytes.size() > 8 * kSampleBytes) {
    out.resize(kSampleBytes);
    const std::span<const std::byte> sample =
        bytes.subspan(bytes.size() / 2 / 64 * 64, kSampleBytes);
    const size_t got = ZSTD_compress(out.data(), kSampleBytes - kSampleBytes / 16, sample.data(),
                                     kSampleBytes, level);
    const size_t head = ZSTD_compress(out.data(), kSampleBytes - kSampleBytes / 16, bytes.data(),
                                      kSampleBytes, level);
    if (ZSTD_isError(got) != 0 && ZSTD_isError(head) != 0) return std::nullopt;
  }
  if (bytes.size() < 2) return std::nullopt;
  // zstd fails if the target is too small, which is the "not smaller" case.
  out.resize(std::min(bytes.size() - 1, ZSTD_compressBound(bytes.size())));
  const size_t got = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(got) != 0) return std::nullopt;
  out.resize(got);
  return out;
}

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

size_t Compressor::compress(std::span<const std::byte> bytes, std::span<std::byte> out, int level) {
  if (!context_) context_.reset(ZSTD_createCCtx());
  if (!context_) throw std::bad_alloc();
  const size_t got =
      ZSTD_compressCCtx(context_.get(), out.data(), out.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return ZSTD_isError(got) != 0 ? 0 : got;
}

void Decompressor::Free::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

Result<void> Decompressor::decompress(std::span<const std::byte> stored, std::span<std::byte> out) {
  if (!context_) context_.reset(ZSTD_createDCtx());
  if (!context_) throw std::bad_alloc();
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    return fail(Status::kCorrupt, "the compressed bytes are not exactly one zstd frame");
  }
  const size_t got =
      ZSTD_decompressDCtx(context_.get(), out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(got) != 0) {
    return fail(Status::kCorrupt, fmt::format("zstd: {}", ZSTD_getErrorName(got)));
  }
  if (got != out.size()) {
    return fail(Status::kCorrupt,
                fmt::format("zstd produced {} bytes, {} are declared", got, out.size()));
  }
  return {};
}

Result<void> decompress(std::span<const std::byte> stored, std::span<std::byte> out) {
  return Decompressor().decompress(stored, out);
}

Result<void> decompress(std::span<const std::byte> stored, uint64_t size_bytes,
                        const std::function<void(std::span<const std::byte>)>& visit) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) throw std::bad_alloc();
  std::vector<std::byte> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  uint64_t left = size_bytes;
  while (true) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const size_t hint = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(hint) != 0) {
      return fail(Status::kCorrupt, fmt::format("zstd: {}", ZSTD_getErrorName(hint)));
    }
    if (out.pos > left) return fail(Status::kCorrupt, "zstd produced more bytes than declared");
    left -= out.pos;
    visit(std::span<const std::byte>(piece).first(out.pos));
    if (hint == 0) break;
    if (out.pos == 0 && in.pos == in.size) {
      return fail(Status::kCorrupt, "zstd: the compressed bytes end early");
    }
  }
  if (in.pos != in.size) {
    return fail(Status::kCorrupt, "the compressed bytes are not exactly one zstd frame");
  }
  if (left != 0) {
    return fail(Status::kCorrupt, fmt::format("zstd produced {} bytes, {} are declared",
                                              size_bytes - left, size_bytes));
  }
  return {};
}

}  // namespace gfxgraph::format
