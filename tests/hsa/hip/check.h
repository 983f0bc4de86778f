// Checks for the HIP programs of this folder: each prints "ok" and ends with 0, or says what failed
// and ends with 1. They run on the real libamdhip64, with the software agent in front of the
// library path.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP_OK(call)                                                                           \
  do {                                                                                         \
    const hipError_t check_error = (call);                                                     \
    if (check_error != hipSuccess) {                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(check_error)); \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (false)

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (false)

inline int done() {
  std::puts("ok");
  return 0;
}
