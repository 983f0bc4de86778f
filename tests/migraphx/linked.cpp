// linked TRACE MODE SEED RESULT [SEED RESULT...]: opens a recorded MIGraphX inference
// (inference.cpp) through libgfxgraph, puts input and output buffers of its own in place of the
// recorded ones, runs the range for the numbers of each SEED, and compares with the bytes of the
// file RESULT. MODE: 0 eager, 1 batch, 2 graph, 3 auto. Knows nothing of MIGraphX.
#include <hip/hip_runtime_api.h>

#include <cstdlib>
#include <vector>

#include "../../include/gfxgraph/gfxgraph.h"
#include "numbers.h"

#define HIP(call) must((call) == hipSuccess, #call)

static void ok(gfxgraph_status_t status, const char* what) {
  if (status == GFXGRAPH_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, gfxgraph_last_error());
  std::exit(1);
}
#define GFXGRAPH(call) ok((call), #call)

// A buffer of the caller's in place of the recorded one; its address and size.
static std::vector<char> own_buffer(gfxgraph_trace_t trace, gfxgraph_session_t session,
                                    gfxgraph_range_t range, const char* name, void** address) {
  uint32_t id = 0;
  GFXGRAPH(gfxgraph_trace_find_buffer(trace, range, name, &id));
  gfxgraph_buffer_t buffer{};
  buffer.struct_size = sizeof(buffer);
  GFXGRAPH(gfxgraph_trace_buffer(trace, id, &buffer));
  HIP(hipMalloc(address, buffer.extent_bytes));
  GFXGRAPH(gfxgraph_session_bind(session, id, *address, buffer.extent_bytes, 0));
  return std::vector<char>(buffer.size_bytes);
}

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) return 2;
  gfxgraph_trace_t trace = nullptr;
  GFXGRAPH(gfxgraph_trace_open(argv[1], nullptr, &trace));
  gfxgraph_range_t range = 0;
  GFXGRAPH(gfxgraph_trace_find_range(trace, "inference#1", &range));
  gfxgraph_session_t session = nullptr;
  GFXGRAPH(gfxgraph_session_create(trace, nullptr, &session));
  void* input = nullptr;
  void* output = nullptr;
  const std::vector<char> in = own_buffer(trace, session, range, "input", &input);
  std::vector<char> out = own_buffer(trace, session, range, "output", &output);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = std::atoi(argv[2]);
  gfxgraph_step_t step = nullptr;
  GFXGRAPH(gfxgraph_step_create(session, range, &options, &step));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (int i = 3; i < argc; i += 2) {
    const std::vector<float> numbers =
        numbers_of(static_cast<unsigned>(std::atoi(argv[i])), in.size() / sizeof(float));
    HIP(hipMemcpyAsync(input, numbers.data(), in.size(), hipMemcpyHostToDevice, stream));
    HIP(hipMemsetAsync(output, 0xff, out.size(), stream));
    GFXGRAPH(gfxgraph_step_run(step, stream));
    HIP(hipMemcpyAsync(out.data(), output, out.size(), hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    must(out == read_file(argv[i + 1]), "the same bytes as MIGraphX's own");
  }
  gfxgraph_step_destroy(step);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(trace);
  std::printf("%d inputs: the same bytes as from MIGraphX\n", (argc - 3) / 2);
  return 0;
}
