// libzstd.a also decodes the formats of zstd before 0.8: 75 KB of code that no trace needs, and
// that damaged traces could reach. In libgfxgraph.so these take its place: such a frame is an
// error.
#include <zstd_errors.h>

#include <cstddef>

namespace {

constexpr size_t kRefused = size_t{0} - ZSTD_error_prefix_unknown;

}  // namespace

#define GFXGRAPH_NO_LEGACY_ZSTD(version)                                                     \
  extern "C" void* ZSTD##version##_createDCtx() { return nullptr; }                          \
  extern "C" size_t ZSTD##version##_freeDCtx(void*) { return 0; }                            \
  extern "C" size_t ZSTD##version##_getFrameParams(void*, const void*, size_t) {             \
    return kRefused;                                                                         \
  }                                                                                          \
  extern "C" size_t ZSTD##version##_decompress_usingDict(void*, void*, size_t, const void*,  \
                                                         size_t, const void*, size_t) {      \
    return kRefused;                                                                         \
  }                                                                                          \
  extern "C" void ZSTD##version##_findFrameSizeInfoLegacy(const void*, size_t, size_t* size, \
                                                          unsigned long long* bound) {       \
    *size = kRefused;                                                                        \
    *bound = 0ULL - 2; /* ZSTD_CONTENTSIZE_ERROR */                                          \
  }                                                                                          \
  extern "C" void* ZBUFF##version##_createDCtx() { return nullptr; }                         \
  extern "C" size_t ZBUFF##version##_freeDCtx(void*) { return 0; }                           \
  extern "C" size_t ZBUFF##version##_decompressInitDictionary(void*, const void*, size_t) {  \
    return kRefused;                                                                         \
  }                                                                                          \
  extern "C" size_t ZBUFF##version##_decompressContinue(void*, void*, size_t*, const void*,  \
                                                        size_t*) {                           \
    return kRefused;                                                                         \
  }

GFXGRAPH_NO_LEGACY_ZSTD(v04)
GFXGRAPH_NO_LEGACY_ZSTD(v05)
GFXGRAPH_NO_LEGACY_ZSTD(v06)
GFXGRAPH_NO_LEGACY_ZSTD(v07)
