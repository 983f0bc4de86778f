// captured MODEL.onnx [--hold]: a run of the model is captured (gfxgraph/capture.h) and repeated
// with other inputs as a step in each mode. Each repetition is to leave the bytes of MIGraphX's own
// run. With --hold the captured run is not done: MIGraphX's calls are held by HIP's stream capture
// or the layer of docs/capture.md, which may refuse one; then exit code 3.
#include <cstdio>
#include <gfxgraph/gfxgraph.hpp>
#include <utility>

#include "model.h"

constexpr std::pair<gfxgraph_mode_t, const char*> kModes[] = {{GFXGRAPH_MODE_EAGER, "eager"},
                                                              {GFXGRAPH_MODE_BATCH, "batch"},
                                                              {GFXGRAPH_MODE_GRAPH, "graph"},
                                                              {GFXGRAPH_MODE_PACKETS, "packets"}};

static void repeat(const Model& model, gfxgraph::Step& step, hipStream_t stream) {
  for (unsigned seed = 1; seed < 4; ++seed) {
    model.set_input(seed);
    model.run(stream);
    HIP(hipStreamSynchronize(stream));
    const std::vector<char> own = model.result();
    HIP(hipMemset(model.output, 0xff, model.output_bytes));
    HIP(hipDeviceSynchronize());
    must(model.result() != own, "another result than 0xff");
    step.run(stream);
    step.wait();
    must(model.result() == own, "the bytes of MIGraphX's own run");
  }
}

static int run(const char* file, bool hold) {
  const Model model(file);
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  model.set_input(0);
  if (hold) model.run(stream);  // rocBLAS allocates in its first run, which no capture holds
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  if (hold) options.mode = GFXGRAPH_CAPTURE_HOLD;
  gfxgraph::Capture capture(stream, options);
  if (model.submit(stream) != migraphx_status_success) return 3;  // MIGraphX has printed why
  const gfxgraph::Trace trace = capture.end();
  HIP(hipStreamSynchronize(stream));
  for (const auto& [mode, name] : kModes) {
    try {
      const gfxgraph::Session session(trace);
      gfxgraph::Step step(session, trace.find_range("step"), mode);
      repeat(model, step, stream);
      const gfxgraph_step_info_t info = step.info();
      std::printf("  %s: %u launches, right", name, info.launches);
      if (info.graphs != 0)
        std::printf(", %u graphs of %d nodes", info.graphs, static_cast<int>(info.graph_nodes));
      std::printf("\n");
    } catch (const gfxgraph::Failure& failure) {
      // Mode packets has conditions, which it names; the other modes take every program.
      if (mode != GFXGRAPH_MODE_PACKETS || failure.status() != GFXGRAPH_UNSUPPORTED) throw;
      std::printf("  %s: refused: %s\n", name, failure.what());
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  const bool hold = argc == 3 && std::strcmp(argv[2], "--hold") == 0;
  if (argc != 2 && !hold) return 2;
  try {
    return run(argv[1], hold);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "captured: %s\n", failure.what());
    return 1;
  }
}
