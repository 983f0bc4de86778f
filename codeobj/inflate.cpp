#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "codeobj/inflate_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

constexpr size_t kStepBytes = size_t{1} << 20;

tl::unexpected<Error> wrong_size(uint64_t declared) {
  return fail(
      Status::kCorrupt,
      fmt::format("compressed data does not expand to the {} bytes that its header declares",
                  declared));
}

Result<Inflated> inflate_zstd(std::span<const std::byte> input, uint64_t size_bytes) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (!stream) return fail(Status::kOutOfMemory, "no memory for a zstd stream");
  Inflated result;
  ZSTD_inBuffer in{input.data(), input.size(), 0};
  size_t made = 0;
  while (true) {
    // One byte more than declared, to detect excess data.
    const size_t room = static_cast<size_t>(std::min<uint64_t>(kStepBytes, size_bytes + 1 - made));
    result.bytes.resize(made + room);
    ZSTD_outBuffer out{result.bytes.data() + made, room, 0};
    const size_t left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      return fail(Status::kCorrupt, fmt::format("zstd: {}", ZSTD_getErrorName(left)));
    }
    made += out.pos;
    if (made > size_bytes) return wrong_size(size_bytes);
    if (left == 0) break;
    if (out.pos < room && in.pos == in.size) {
      return fail(Status::kTruncated, "zstd: the data ends inside a frame");
    }
  }
  if (made != size_bytes) return wrong_size(size_bytes);
  result.bytes.resize(made);
  result.consumed_bytes = in.pos;
  return result;
}

Result<Inflated> inflate_zlib(std::span<const std::byte> input, uint64_t size_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return fail(Status::kOutOfMemory, "no memory for zlib");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  Inflated result;
  size_t consumed = 0;
  size_t made = 0;
  while (true) {
    const size_t room = static_cast<size_t>(std::min<uint64_t>(kStepBytes, size_bytes + 1 - made));
    const size_t feed = std::min(kStepBytes, input.size() - consumed);
    result.bytes.resize(made + room);
    // zlib's interface lacks const; it does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data() + consumed));
    stream.avail_in = static_cast<uInt>(feed);
    stream.next_out = reinterpret_cast<Bytef*>(result.bytes.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    consumed += feed - stream.avail_in;
    made += room - stream.avail_out;
    if (made > size_bytes) return wrong_size(size_bytes);
    if (status == Z_STREAM_END) break;
    if (status != Z_OK && status != Z_BUF_ERROR) {
      return fail(Status::kCorrupt,
                  fmt::format("zlib: {}", stream.msg == nullptr ? "bad data" : stream.msg));
    }
    if (stream.avail_out != 0 && consumed == input.size()) {
      return fail(Status::kTruncated, "zlib: the data ends inside a stream");
    }
  }
  if (made != size_bytes) return wrong_size(size_bytes);
  result.bytes.resize(made);
  result.consumed_bytes = consumed;
  return result;
}

}  // namespace

Result<Inflated> inflate_frame(std::span<const std::byte> input, Compression method,
                               uint64_t size_bytes) {
  return method == Compression::kZlib ? inflate_zlib(input, size_bytes)
                                      : inflate_zstd(input, size_bytes);
}

}  // namespace gfxgraph::codeobj::internal
