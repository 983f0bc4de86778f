// What gfxgraph-replay --prove tells apart. placed nowhere: results that depend on values only;
// placed address: on where a buffer lies; placed host: on where memory of the host lies; placed unwritten: on what fresh
// memory holds.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void add_one(const unsigned* in, unsigned* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
__global__ void note_page(const unsigned* in, unsigned* out) {
  out[threadIdx.x] = static_cast<unsigned>(reinterpret_cast<uintptr_t>(in) >> 12);
}

int main(int argc, char** argv) {
  constexpr unsigned kCount = 64;
  if (argc != 2) return 2;
  unsigned *in = nullptr, *out = nullptr;
  std::vector<unsigned> values(kCount, 5);
  alignas(4096) static unsigned of_host[1024];
  bool good = hipMalloc(&in, kCount * 4) == hipSuccess && hipMalloc(&out, kCount * 4) == hipSuccess;
  if (good && std::strcmp(argv[1], "unwritten") != 0)
    good = hipMemcpy(in, values.data(), kCount * 4, hipMemcpyHostToDevice) == hipSuccess;
  if (!good) return 1;
  if (std::strcmp(argv[1], "address") == 0)
    note_page<<<1, kCount>>>(in, out);
  else if (std::strcmp(argv[1], "host") == 0) {
    if (hipHostRegister(of_host, sizeof(of_host), hipHostRegisterDefault) != hipSuccess) return 1;
    note_page<<<1, kCount>>>(of_host, out);
  } else
    add_one<<<1, kCount>>>(in, out);
  good = hipMemcpy(values.data(), out, kCount * 4, hipMemcpyDeviceToHost) == hipSuccess;
  std::puts(good ? "done" : "failed");
  return good ? 0 : 1;
}
