/* A library beneath Python code that calls HIP itself, as torch's do: in the thread that calls it,
 * in one of its own, and until the process ends. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

int hipDeviceSynchronize(void);
int hipMalloc(void** memory, size_t size);

int wait_once(void) { return hipDeviceSynchronize() + 0; }

int wait_other(void) {
  int result = hipDeviceSynchronize();
  return result;
}

void* allocate_small(void) {
  void* memory = NULL;
  return hipMalloc(&memory, 256) == 0 ? memory : NULL;
}

void* allocate_large(void) {
  void* memory = NULL;
  return hipMalloc(&memory, 4096) == 0 ? memory : NULL;
}

static void* begin(void* given) {
  (void)given;
  wait_other();
  return NULL;
}

void wait_apart(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, begin, NULL) == 0) pthread_join(thread, NULL);
}

static atomic_int exiting, inside;

/* HIP's own exit handlers, which come later, crash under threads that call it. */
static void leave_hip(void) {
  exiting = 1;
  while (inside != 0) sched_yield();
}
static void at_exit(void) { (void)atexit(leave_hip); }

/* Never returns: the thread is in here, without the interpreter's lock, when the interpreter ends.
 */
void wait_for_ever(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)wait_once(); /* behind the handlers of HIP */
  (void)pthread_once(&once, at_exit);
  for (;;) {
    ++inside;
    if (!exiting) (void)wait_once();
    --inside;
  }
}
