// Calls of HIP whose arguments are wrong: the first argument says which; with "right" behind it, the
// same program without the fault. It looks at no error, as many programs do.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

__device__ int table[16];  // HIP 5.2.3 does not find one without a name outside of this file

namespace {

constexpr int kCount = 100;

__global__ void increment(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1 + table[i % 16];
}

int* buffer() {
  int* memory = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&memory), kCount * sizeof(int)) != hipSuccess) return nullptr;
  (void)hipMemset(memory, 0, kCount * sizeof(int));
  return memory;
}

void launch(int* values, int count = kCount) { increment<<<1, 128>>>(values, count); }

void copy_past(int* a, int*, bool right) {
  const std::vector<int> source(kCount + 1, 7);
  const size_t bytes = (right ? kCount : kCount + 1) * sizeof(int);
  (void)hipMemcpy(a, source.data(), bytes, hipMemcpyHostToDevice);
  launch(a);
}

void rows_past(int* a, int* b, bool right) {
  launch(b);
  // 24 of each 20 bytes: HIP does not look at the last row.
  (void)hipMemset2DAsync(a, 24, 1, 20, right ? 16 : 17, nullptr);
}

void variable_past(int* a, int*, bool right) {
  const std::vector<int> source(17, 7);
  // Not the template of HIP's header, whose line the call would have.
  (void)hipMemcpyToSymbol(static_cast<const void*>(&table), source.data(),
                          (right ? 16 : 17) * sizeof(int), 0, hipMemcpyHostToDevice);
  launch(a);
}

void freed(int* a, int* b, bool right) {
  std::vector<int> back(kCount);
  launch(a);
  launch(b);
  if (!right) (void)hipFree(a);
  (void)hipMemcpy(back.data(), a, kCount * sizeof(int), hipMemcpyDeviceToHost);
  if (right) (void)hipFree(a);
}

void freed_in_order(int* a, int*, bool right) {
  hipStream_t stream = nullptr;
  (void)hipStreamCreate(&stream);
  int* memory = nullptr;
  (void)hipMallocAsync(reinterpret_cast<void**>(&memory), kCount * sizeof(int), stream);
  if (!right) (void)hipFreeAsync(memory, stream);
  (void)hipMemsetAsync(memory, 0, kCount * sizeof(int), stream);
  if (right) (void)hipFreeAsync(memory, stream);
  (void)hipStreamSynchronize(stream);
  launch(a);  // hipStreamDestroy() of HIP 5.2.3 does not return while memory freed in the stream is in the pool
}

void twice(int* a, int* b, bool right) {
  launch(a);
  launch(b);
  (void)hipFree(a);
  if (!right) (void)hipFree(a);
}

void inside(int* a, int* b, bool right) {
  launch(b);
  (void)hipFree(right ? a : a + 1);  // HIP frees it all the same
}

void launch_fails(int* a, int*, bool right) {
  increment<<<1, right ? 128 : 4096>>>(a, kCount);
  launch(a);
}

void other_call(int* a, int*, bool right) {
  hipEvent_t first = nullptr, second = nullptr;
  (void)hipEventCreate(&first);
  (void)hipEventCreate(&second);
  launch(a);
  (void)hipEventRecord(first, nullptr);
  if (right) (void)hipEventRecord(second, nullptr);
  (void)hipDeviceSynchronize();
  float elapsed = 0;
  (void)hipEventElapsedTime(&elapsed, first, second);
  (void)hipEventDestroy(first);
  (void)hipEventDestroy(second);
}

// Memory of one stream, which another one uses before it is there, or until it is freed.
void stream_memory(int* a, bool waits_for_memory, bool waits_for_use) {
  hipStream_t owner = nullptr, user = nullptr;
  hipEvent_t event = nullptr;
  (void)hipStreamCreateWithFlags(&owner, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&user, hipStreamNonBlocking);
  (void)hipEventCreate(&event);
  int* memory = nullptr;
  (void)hipMallocAsync(reinterpret_cast<void**>(&memory), kCount * sizeof(int), owner);
  if (waits_for_memory) {
    (void)hipEventRecord(event, owner);
    (void)hipStreamWaitEvent(user, event, 0);
  }
  (void)hipMemsetAsync(memory, 0, kCount * sizeof(int), user);
  increment<<<1, 128, 0, user>>>(memory, kCount);
  if (waits_for_use) {
    (void)hipEventRecord(event, user);
    (void)hipStreamWaitEvent(owner, event, 0);
  }
  (void)hipFreeAsync(memory, owner);
  (void)hipStreamSynchronize(owner);
  (void)hipStreamSynchronize(user);
  (void)hipEventDestroy(event);
  launch(a);
}
void early_use(int* a, int*, bool right) { stream_memory(a, right, true); }
void early_free(int* a, int*, bool right) { stream_memory(a, true, right); }

void leaks(int* a, int* b, bool right) {
  const std::vector<int> source(kCount, 7);
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  (void)hipStreamCreate(&stream);
  (void)hipEventCreate(&event);
  int* unused = nullptr;
  if (!right) (void)hipMalloc(reinterpret_cast<void**>(&unused), 1000);
  launch(a);
  (void)hipMemcpy(b, source.data(), kCount * sizeof(int), hipMemcpyHostToDevice);
  if (!right) return;
  launch(b);
  (void)hipEventDestroy(event);
  (void)hipStreamDestroy(stream);
  (void)hipFree(a);
  (void)hipFree(b);
}

struct Mode {
  const char* name;
  void (*run)(int*, int*, bool);
};
constexpr Mode kModes[] = {{"copy_past", copy_past},   {"rows_past", rows_past},
                           {"variable_past", variable_past}, {"freed", freed},
                           {"freed_in_order", freed_in_order}, {"twice", twice},
                           {"inside", inside},         {"launch_fails", launch_fails},
                           {"other_call", other_call}, {"early_use", early_use},
                           {"early_free", early_free}, {"leaks", leaks}};

}  // namespace

int main(int argc, char** argv) {
  const bool right = argc > 2 && std::strcmp(argv[2], "right") == 0;
  for (const Mode& mode : kModes) {
    if (argc < 2 || std::strcmp(argv[1], mode.name) != 0) continue;
    int* const a = buffer();
    int* const b = buffer();
    mode.run(a, b, right);
    (void)hipDeviceSynchronize();
    return 0;
  }
  std::fputs("usage: api_faults MODE [right]\n", stderr);
  return 2;
}
