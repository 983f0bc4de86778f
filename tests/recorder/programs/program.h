// What the recorder's test programs share.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t check_result = (call);                            \
    if (check_result != hipSuccess) {                                  \
      std::printf("%s: %s\n", #call, hipGetErrorString(check_result)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}
