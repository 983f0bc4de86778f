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
  const gfxgraph::Trace trace(path);
  const gfxgraph_environment_t environment = trace.environment();
  std::printf("%s: %u launches of %u kernels for %s\n", path, environment.launch_count,
              environment.kernel_count, environment.gpu_arch);

  // Declared before the session: the buffers must outlive it.
  std::vector<DeviceBuffer> buffers;
  uint32_t last_bound = 0;
  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  bool same = true;
  {
    gfxgraph::Session session(trace);
    for (uint32_t id = 1; id <= (environment.buffer_count + 1) / 2; ++id) {
      const gfxgraph_buffer_t buffer = trace.buffer(id);
      if (buffer.kind != GFXGRAPH_BUFFER_DEVICE) continue;
      buffers.emplace_back(buffer.extent_bytes);
      session.bind(id, buffers.back().pointer, buffers.back().size_bytes, GFXGRAPH_BIND_FILL);
      last_bound = id;
    }
    gfxgraph::Step step(session, GFXGRAPH_RANGE_ALL, mode);
    std::printf("loaded onto %s as %d (%s), %zu buffers are ours\n", session.info().device_name,
                step.info().mode, step.info().mode_reason, buffers.size());
    for (int run = 0; run < 3; ++run) {
      step.restore();
      step.run(stream);
      check(hipStreamSynchronize(stream), "hipStreamSynchronize");
      const gfxgraph_verification_t result = step.verify();
      std::printf("run %d: %u buffers identical, %u different, %u not compared\n", run,
                  result.identical, result.different, result.uncompared);
      same = same && result.different == 0 && result.copies_different == 0 && result.identical != 0;
    }
    // The results are in our own memory.
    if (last_bound != 0) {
      const uint64_t size = trace.buffer(last_bound).size_bytes;
      std::vector<unsigned char> ours(size);
      std::vector<unsigned char> theirs(size);
      check(hipMemcpy(ours.data(), buffers.back().pointer, size, hipMemcpyDeviceToHost),
            "hipMemcpy");
      session.read(last_bound, 0, theirs.data(), size);
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
