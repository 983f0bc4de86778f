// What program_sites loads.
#include "../program.h"

extern "C" int* library_load(size_t count) {
  int* values = nullptr;
  CHECK(hipMalloc(&values, count * sizeof(int)));
  CHECK(hipMemset(values, 0, count * sizeof(int)));
  return values;
}
