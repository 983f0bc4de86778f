// Four arguments, as the figures of hip.md: one launch of it is small enough that the host decides.
// Integers that are mixed: after any number of launches a missing or swapped one shows in the
// bytes.
#include <hip/hip_runtime.h>

extern "C" __global__ void step(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (a[i] ^ (a[i] >> 15)) * 2654435761u + (b[i] << 13 | b[i] >> 19) + i;
}
