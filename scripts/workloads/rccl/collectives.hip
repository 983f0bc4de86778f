// One collective of RCCL over two devices of one process, compared with the host's result.
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK_HIP(call)                                         \
  do {                                                          \
    const hipError_t error = (call);                            \
    if (error != hipSuccess) {                                  \
      std::printf("%s: %s\n", #call, hipGetErrorString(error)); \
      return 1;                                                 \
    }                                                           \
  } while (0)
#define CHECK_NCCL(call)                                         \
  do {                                                           \
    const ncclResult_t error = (call);                           \
    if (error != ncclSuccess) {                                  \
      std::printf("%s: %s\n", #call, ncclGetErrorString(error)); \
      return 1;                                                  \
    }                                                            \
  } while (0)

namespace {

constexpr int kDevices = 2;
constexpr int kCount = 1000;

__global__ void fill(float* out, float first, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = first + static_cast<float>(i);
}

float input(int device, int i) {
  return 100.0f * static_cast<float>(device + 1) + static_cast<float>(i);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "all_reduce";
  const bool gathers = std::strcmp(what, "all_gather") == 0;
  const bool sends = std::strcmp(what, "send_recv") == 0;
  if (!gathers && !sends && std::strcmp(what, "all_reduce") != 0) return 2;
  const int devices[kDevices] = {0, 1};
  ncclComm_t comms[kDevices];
  CHECK_NCCL(ncclCommInitAll(comms, kDevices, devices));
  float* in[kDevices];
  float* out[kDevices];
  hipStream_t streams[kDevices];
  const int results = gathers ? kDevices * kCount : kCount;
  for (int device = 0; device < kDevices; ++device) {
    CHECK_HIP(hipSetDevice(device));
    CHECK_HIP(hipMalloc(&in[device], kCount * sizeof(float)));
    CHECK_HIP(hipMalloc(&out[device], static_cast<size_t>(results) * sizeof(float)));
    CHECK_HIP(hipStreamCreate(&streams[device]));
    fill<<<(kCount + 255) / 256, 256, 0, streams[device]>>>(in[device], input(device, 0), kCount);
  }
  CHECK_NCCL(ncclGroupStart());
  for (int device = 0; device < kDevices; ++device) {
    if (gathers) {
      CHECK_NCCL(ncclAllGather(in[device], out[device], kCount, ncclFloat, comms[device],
                               streams[device]));
    } else if (sends) {
      CHECK_NCCL(
          ncclSend(in[device], kCount, ncclFloat, 1 - device, comms[device], streams[device]));
      CHECK_NCCL(
          ncclRecv(out[device], kCount, ncclFloat, 1 - device, comms[device], streams[device]));
    } else {
      CHECK_NCCL(ncclAllReduce(in[device], out[device], kCount, ncclFloat, ncclSum, comms[device],
                               streams[device]));
    }
  }
  CHECK_NCCL(ncclGroupEnd());
  int wrong = 0;
  for (int device = 0; device < kDevices; ++device) {
    CHECK_HIP(hipSetDevice(device));
    CHECK_HIP(hipStreamSynchronize(streams[device]));
    std::vector<float> got(static_cast<size_t>(results));
    CHECK_HIP(
        hipMemcpy(got.data(), out[device], got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < results; ++i) {
      const float expected = gathers ? input(i / kCount, i % kCount)
                             : sends ? input(1 - device, i)
                                     : input(0, i) + input(1, i);
      wrong += got[static_cast<size_t>(i)] != expected;
    }
  }
  std::printf("%s: %d of %d values wrong\n", what, wrong, kDevices * results);
  return wrong != 0;
}
