/* AMD's own copy of zstd (librocm_sysdeps_zstd.so.1), which numba-hip is linked to with versioned
 * names: passes on to Debian's. */
#include <dlfcn.h>
#include <stdlib.h>

#define PASS_ON(name)     \
  static void* at_##name; \
  __attribute__((naked)) void name(void) { __asm__("jmp *%0" ::"m"(at_##name)); }
#define FIND(name) \
  if (!(at_##name = dlsym(library, #name))) abort()

PASS_ON(ZSTD_CCtx_setParameter)
PASS_ON(ZSTD_compress2)
PASS_ON(ZSTD_compressBound)
PASS_ON(ZSTD_createCCtx)
PASS_ON(ZSTD_decompress)
PASS_ON(ZSTD_freeCCtx)
PASS_ON(ZSTD_getErrorName)
PASS_ON(ZSTD_isError)

__attribute__((constructor)) static void find(void) {
  void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) abort();
  FIND(ZSTD_CCtx_setParameter);
  FIND(ZSTD_compress2);
  FIND(ZSTD_compressBound);
  FIND(ZSTD_createCCtx);
  FIND(ZSTD_decompress);
  FIND(ZSTD_freeCCtx);
  FIND(ZSTD_getErrorName);
  FIND(ZSTD_isError);
}
