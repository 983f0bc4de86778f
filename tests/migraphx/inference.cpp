// inference MODEL.onnx OUTPUT SEED: MIGraphX compiles the model for the device and computes it
// twice; the second time, in the range "inference", of the numbers of SEED. Writes the result's
// bytes. The buffers "input" and "output" are this program's.
#include <cstdlib>

#include "../../include/gfxgraph/record.h"
#include "model.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Model model(argv[1]);
  gfxgraph_name(model.input, "input");
  gfxgraph_name(model.output, "output");
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  const auto compute = [&](unsigned seed) {
    model.set_input(seed);
    gfxgraph_range_begin("inference");
    model.run(stream);
    HIP(hipStreamSynchronize(stream));
    gfxgraph_range_end("inference");
  };
  compute(0);
  compute(static_cast<unsigned>(std::atoi(argv[3])));
  write_file(argv[2], model.result());
  return 0;
}
