/* One loop of launches, for python_sites.py: compiled as an extension module of CPython, whose
 * calls are named by Python's lines, and as a plain library, whose calls are named by their own
 * place. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned lds, void* stream, void** arguments,
                          void** extra);

/* Nanoseconds per launch. */
double launches(void* function, void* memory, int count) {
  int value = 1, elements = 256;
  void* arguments[] = {&memory, &value, &elements};
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < count; ++i)
    if (hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL) != 0)
      return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
         count;
}
