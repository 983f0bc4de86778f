/* One loop of launches, for python_sites.py: in the thread that calls it, whose calls are named by
 * Python's lines and this place, and in a thread of its own that no Python code is in. */
#include <pthread.h>
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

struct call {
  void *function, *memory;
  int count;
  double result;
};

static void* begin(void* given) {
  struct call* const call = given;
  launches(call->function, call->memory, call->count); /* what the first ones of a thread cost */
  call->result = launches(call->function, call->memory, call->count);
  return NULL;
}

double launches_apart(void* function, void* memory, int count) {
  struct call call = {function, memory, count, -1};
  pthread_t thread;
  if (pthread_create(&thread, NULL, begin, &call) == 0) pthread_join(thread, NULL);
  return call.result;
}
