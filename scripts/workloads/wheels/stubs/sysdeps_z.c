/* AMD's own copy of zlib (librocm_sysdeps_z.so.1), which numba-hip is linked to with versioned
 * names: passes on to Debian's. */
#include <dlfcn.h>
#include <stdlib.h>

#define PASS_ON(name)     \
  static void* at_##name; \
  __attribute__((naked)) void name(void) { __asm__("jmp *%0" ::"m"(at_##name)); }
#define FIND(name) \
  if (!(at_##name = dlsym(library, #name))) abort()

PASS_ON(compress2)
PASS_ON(compressBound)
PASS_ON(crc32)
PASS_ON(uncompress)

__attribute__((constructor)) static void find(void) {
  void* library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) abort();
  FIND(compress2);
  FIND(compressBound);
  FIND(crc32);
  FIND(uncompress);
}
