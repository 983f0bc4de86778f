// An ONNX file that MIGraphX has compiled for the device, with memory for its input "x" and its
// output.
#pragma once

#include <hip/hip_runtime_api.h>
#include <migraphx/migraphx.h>

#include <cstring>
#include <vector>

#include "numbers.h"

#define MIGRAPHX(call) must((call) == migraphx_status_success, #call)
#define HIP(call) must((call) == hipSuccess, #call)

struct Model {
  migraphx_program_t program = nullptr;
  migraphx_program_parameters_t parameters = nullptr;
  void* input = nullptr;
  void* output = nullptr;
  size_t input_bytes = 0, output_bytes = 0;
  bool half = false;  // numbers of 16 bits

  explicit Model(const char* file) {
    migraphx_onnx_options_t onnx;
    MIGRAPHX(migraphx_onnx_options_create(&onnx));
    MIGRAPHX(migraphx_parse_onnx(&program, file, onnx));
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
    MIGRAPHX(migraphx_program_parameters_create(&parameters));
    for (const char* name : names) {
      const_migraphx_shape_t shape;
      MIGRAPHX(migraphx_program_parameter_shapes_get(&shape, shapes, name));
      const bool is_input = std::strcmp(name, "x") == 0;
      size_t& bytes = is_input ? input_bytes : output_bytes;
      void*& memory = is_input ? input : output;
      must(memory == nullptr, "one input and one output");
      migraphx_shape_datatype_t type;
      MIGRAPHX(migraphx_shape_type(&type, shape));
      half = type == migraphx_shape_half_type;
      MIGRAPHX(migraphx_shape_bytes(&bytes, shape));
      HIP(hipMalloc(&memory, bytes));
      migraphx_argument_t argument;
      MIGRAPHX(migraphx_argument_create(&argument, shape, memory));
      MIGRAPHX(migraphx_program_parameters_add(parameters, name, argument));
    }
  }

  migraphx_status submit(hipStream_t stream) const {
    migraphx_arguments_t results = nullptr;
    const migraphx_status status =
        migraphx_program_run_async(&results, program, parameters, stream, "ihipStream_t");
    if (results != nullptr) MIGRAPHX(migraphx_arguments_destroy(results));
    return status;
  }
  void run(hipStream_t stream) const {
    must(submit(stream) == migraphx_status_success, "migraphx_program_run_async");
  }
  // The input becomes the numbers of the seed.
  void set_input(unsigned seed) const {
    const std::vector<float> numbers =
        numbers_of(seed, input_bytes / (half ? sizeof(_Float16) : sizeof(float)));
    const std::vector<_Float16> halves(numbers.begin(), numbers.end());
    const void* const bytes = half ? static_cast<const void*>(halves.data()) : numbers.data();
    HIP(hipMemcpy(input, bytes, input_bytes, hipMemcpyHostToDevice));
    HIP(hipDeviceSynchronize());
  }
  std::vector<char> result() const {
    std::vector<char> bytes(output_bytes);
    HIP(hipMemcpy(bytes.data(), output, output_bytes, hipMemcpyDeviceToHost));
    return bytes;
  }
};
