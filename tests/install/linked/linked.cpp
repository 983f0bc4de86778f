// Captures a memset of rows, which HIP 5.2.3's own capture refuses, and runs its graph twice.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(hipError_t result, const char* call) {
  if (result == hipSuccess) return;
  std::printf("%s: %d\n", call, result);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

}  // namespace

int main() {
  constexpr size_t kPitch = 128, kWidth = 64, kRows = 8;
  char* memory = nullptr;
  hipStream_t stream = nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&memory), kPitch * kRows));
  CHECK(hipMemset(memory, 0, kPitch * kRows));
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemset2DAsync(memory, kPitch, 7, kWidth, kRows, stream));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  std::vector<char> bytes(kPitch * kRows);
  CHECK(hipMemcpy(bytes.data(), memory, bytes.size(), hipMemcpyDeviceToHost));
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == (i % kPitch < kWidth ? 7 : 0)) continue;
    std::printf("byte %zu: %d\n", i, bytes[i]);
    return 1;
  }
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  std::printf("linked: PASS\n");
  return 0;
}
