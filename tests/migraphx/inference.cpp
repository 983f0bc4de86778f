// inference MODEL.onnx OUTPUT SEED: MIGraphX compiles the model for the device and computes it
// twice; the second time, in the range "inference", of the numbers of SEED. Writes the result's
// bytes. The buffers "input" and "output" are this program's.
#include <hip/hip_runtime_api.h>
#include <migraphx/migraphx.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../include/gfxgraph/record.h"
#include "numbers.h"

#define MIGRAPHX(call) must((call) == migraphx_status_success, #call)
#define HIP(call) must((call) == hipSuccess, #call)

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  migraphx_onnx_options_t onnx;
  MIGRAPHX(migraphx_onnx_options_create(&onnx));
  migraphx_program_t program;
  MIGRAPHX(migraphx_parse_onnx(&program, argv[1], onnx));
  migraphx_target_t target;
  MIGRAPHX(migraphx_target_create(&target, "gpu"));
  migraphx_compile_options_t options;
  MIGRAPHX(migraphx_compile_options_create(&options));
  MIGRAPHX(migraphx_compile_options_set_offload_copy(options, false));
  MIGRAPHX(migraphx_program_compile(program, target, options));

  migraphx_program_parameter_shapes_t shapes;
  MIGRAPHX(migraphx_program_get_parameter_shapes(&shapes, program));
  size_t count = 0;
  MIGRAPHX(migraphx_program_parameter_shapes_size(&count, shapes));
  std::vector<const char*> names(count);
  MIGRAPHX(migraphx_program_parameter_shapes_names(names.data(), shapes));
  migraphx_program_parameters_t parameters;
  MIGRAPHX(migraphx_program_parameters_create(&parameters));
  void* input = nullptr;
  void* output = nullptr;
  size_t input_bytes = 0, output_bytes = 0;
  for (const char* name : names) {
    const_migraphx_shape_t shape;
    MIGRAPHX(migraphx_program_parameter_shapes_get(&shape, shapes, name));
    const bool is_input = std::strcmp(name, "x") == 0;
    size_t& bytes = is_input ? input_bytes : output_bytes;
    void*& memory = is_input ? input : output;
    must(memory == nullptr, "one input and one output");
    MIGRAPHX(migraphx_shape_bytes(&bytes, shape));
    HIP(hipMalloc(&memory, bytes));
    gfxgraph_name(memory, is_input ? "input" : "output");
    migraphx_argument_t argument;
    MIGRAPHX(migraphx_argument_create(&argument, shape, memory));
    MIGRAPHX(migraphx_program_parameters_add(parameters, name, argument));
  }

  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  const auto compute = [&](unsigned seed) {
    const std::vector<float> numbers = numbers_of(seed, input_bytes / sizeof(float));
    HIP(hipMemcpy(input, numbers.data(), input_bytes, hipMemcpyHostToDevice));
    HIP(hipDeviceSynchronize());
    gfxgraph_range_begin("inference");
    migraphx_arguments_t results;
    MIGRAPHX(migraphx_program_run_async(&results, program, parameters, stream, "ihipStream_t"));
    HIP(hipStreamSynchronize(stream));
    gfxgraph_range_end("inference");
  };
  compute(0);
  compute(static_cast<unsigned>(std::atoi(argv[3])));
  std::vector<char> bytes(output_bytes);
  HIP(hipMemcpy(bytes.data(), output, output_bytes, hipMemcpyDeviceToHost));
  write_file(argv[2], bytes);
  return 0;
}
