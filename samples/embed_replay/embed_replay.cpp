// A product that runs a recorded launch stream without the program it came from: the first half of
// the device buffers are its own hipMalloc'ed memory, the work goes to its own stream, and the
// result is checked.
//
//   embed_replay TRACE.gfxg [eager|batch|graph|auto]
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <gfxgraph/gfxgraph.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorName(error));
}

struct DeviceBuffer {
  explicit DeviceBuffer(uint64_t bytes) : size_bytes(bytes) {
    check(hipMalloc(&pointer, bytes), "hipMalloc");
  }
  ~DeviceBuffer() { (void)hipFree(pointer); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : pointer(other.pointer), size_bytes(other.size_bytes) {
    other.pointer = nullptr;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* pointer = nullptr;
  uint64_t size_bytes = 0;
};

gfxgraph_mode_t parse_mode(const char* text) {
  if (std::strcmp(text, "eager") == 0) return GFXGRAPH_MODE_EAGER;
  if (std::strcmp(text, "batch") == 0) return GFXGRAPH_MODE_BATCH;
  if (std::strcmp(text, "graph") == 0) return GFXGRAPH_MODE_GRAPH;
  return GFXGRAPH_MODE_AUTO;
}

int replay(const char* path, gfxgraph_mode_t mode) {
  const gfxgraph::TraceFile trace(path);
  const gfxgraph_environment_t environment = trace.environment();
  std::printf("%s: %u launches of %u kernels for %s\n", path, environment.launch_count,
              environment.kernel_count, environment.gpu_arch);

  // Declared before the replay: the buffers must outlive it.
  std::vector<DeviceBuffer> buffers;
  gfxgraph::Plan plan(trace);
  uint32_t last_bound = 0;
  for (uint32_t id = 1; id <= (environment.allocation_count + 1) / 2; ++id) {
    const gfxgraph_allocation_t allocation = trace.allocation(id);
    if (allocation.kind != GFXGRAPH_ALLOCATION_DEVICE) continue;
    // Mapped, not only requested, bytes may be in use.
    buffers.emplace_back((allocation.size_bytes + 4095) / 4096 * 4096);
    plan.bind(id, buffers.back().pointer, buffers.back().size_bytes);
    last_bound = id;
  }

  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  bool same = true;
  {
    gfxgraph_replay_options_t options = gfxgraph_replay_options_default();
    options.mode = mode;
    gfxgraph::Replay replay(plan, options);
    replay.set_stream(stream);
    const gfxgraph_replay_info_t info = replay.info();
    std::printf("loaded onto %s as %d (%s), %zu buffers are ours\n", info.device_name, info.mode,
                info.mode_reason, buffers.size());
    for (int run = 0; run < 3; ++run) {
      replay.restore();
      replay.run();
      check(hipStreamSynchronize(stream), "hipStreamSynchronize");
      const gfxgraph_verification_t result = replay.verify();
      std::printf("run %d: %u buffers identical, %u different, %u not compared\n", run,
                  result.identical, result.different, result.uncompared);
      same = same && result.different == 0 && result.copies_different == 0 && result.identical != 0;
    }
    // The results are in our own memory.
    if (last_bound != 0) {
      const uint64_t size = trace.allocation(last_bound).size_bytes;
      std::vector<unsigned char> ours(size);
      std::vector<unsigned char> theirs(size);
      check(hipMemcpy(ours.data(), buffers.back().pointer, size, hipMemcpyDeviceToHost),
            "hipMemcpy");
      replay.read(last_bound, 0, theirs.data(), size);
      same = same && ours == theirs;
    }
  }
  check(hipStreamDestroy(stream), "hipStreamDestroy");
  std::printf("embed_replay: %s\n", same ? "PASS" : "FAIL");
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: embed_replay TRACE.gfxg [eager|batch|graph|auto]   (libgfxgraph %s)\n",
                 gfxgraph_version());
    return 2;
  }
  try {
    return replay(argv[1], parse_mode(argc > 2 ? argv[2] : "auto"));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed_replay: %s\n", error.what());
    return 1;
  }
}
