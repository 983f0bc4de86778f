// A caller's memory, and a MIGraphX program that runs over it: nothing here knows of gfxgraph.
#pragma once

#include <hip/hip_runtime_api.h>

#include <cstring>
#include <utility>

#include "models.h"

inline void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}
#define HIP(call) check((call), #call)
inline void expect(bool condition, const std::string& what, const char* wanted) {
  if (!condition) throw std::runtime_error(what + ": not so: " + wanted);
}

using Numbers = std::vector<float>;
constexpr size_t kRow = kWidth * sizeof(float);

inline bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Rows in device memory, or in pinned memory of the host.
class Rows {
 public:
  explicit Rows(const Numbers& numbers, bool pinned = false)
      : bytes_(numbers.size() * sizeof(float)), pinned_(pinned) {
    HIP(pinned ? hipHostMalloc(&data_, bytes_, 0) : hipMalloc(&data_, bytes_));
    HIP(hipMemcpy(data_, numbers.data(), bytes_, hipMemcpyDefault));  // done when it returns
  }
  // Numbers that no model computes.
  explicit Rows(size_t rows, bool pinned = false) : Rows(Numbers(rows * kWidth, -7e7f), pinned) {}
  ~Rows() { (void)(pinned_ ? hipHostFree(data_) : hipFree(data_)); }
  Rows(Rows&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), pinned_(other.pinned_) {}
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  Numbers numbers() const {
    Numbers result(bytes_ / sizeof(float));
    HIP(hipMemcpy(result.data(), data_, bytes_, hipMemcpyDeviceToHost));
    return result;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
  bool pinned_;
};

// A model that is compiled for one number of rows.
class Compiled {
 public:
  Compiled(Model model, size_t rows, const char* target)
      : program_(build(model, rows)), shape_(shape_of({rows, kWidth})), bytes_(rows * kRow) {
    using Target = Owned<migraphx_target, migraphx_target_destroy>;
    using Options = Owned<migraphx_compile_options, migraphx_compile_options_destroy>;
    using Shapes =
        Owned<migraphx_program_parameter_shapes, migraphx_program_parameter_shapes_destroy>;
    const auto on = made<Target>(migraphx_target_create, target);
    const auto options = made<Options>(migraphx_compile_options_create);
    MIGRAPHX(migraphx_compile_options_set_offload_copy(options.get(), false));
    MIGRAPHX(migraphx_program_compile(program_.get(), on.get(), options.get()));
    const auto shapes = made<Shapes>(migraphx_program_get_parameter_shapes, program_.get());
    size_t count = 0;
    MIGRAPHX(migraphx_program_parameter_shapes_size(&count, shapes.get()));
    std::vector<const char*> names(count);
    MIGRAPHX(migraphx_program_parameter_shapes_names(names.data(), shapes.get()));
    for (const char* name : names)
      if (std::strcmp(name, "x") != 0) output_ = name;
  }

  // Submits the program's work for the rows of `in` to the stream, behind what that holds.
  void run(void* in, void* out, hipStream_t stream) {
    const Parameters parameters = given(in, out);
    const auto results =
        made<Arguments>(migraphx_program_run_async, program_.get(), parameters.get(),
                        static_cast<void*>(stream), "ihipStream_t");
    // The output of a program that ends with a branch is MIGraphX's own memory, which the next run
    // overwrites: the caller gets a copy.
    void* const result = first(results);
    if (result != out) HIP(hipMemcpyAsync(out, result, bytes_, hipMemcpyDeviceToDevice, stream));
  }
  // On the CPU, if compiled for "ref".
  Numbers compute(Numbers in) {
    const Parameters parameters = given(in.data(), nullptr);
    const auto results = made<Arguments>(migraphx_program_run, program_.get(), parameters.get());
    const auto* const values = static_cast<const float*>(first(results));
    return {values, values + in.size()};
  }

 private:
  Parameters given(void* in, void* out) {
    Parameters parameters = made<Parameters>(migraphx_program_parameters_create);
    const auto add = [&](const char* name, void* memory) {
      const auto argument = made<Argument>(migraphx_argument_create, shape_.get(), memory);
      MIGRAPHX(migraphx_program_parameters_add(parameters.get(), name, argument.get()));
    };
    add("x", in);
    if (out != nullptr && !output_.empty()) add(output_.c_str(), out);
    return parameters;
  }
  static void* first(const Arguments& results) {
    const_migraphx_argument_t result = nullptr;
    char* memory = nullptr;
    MIGRAPHX(migraphx_arguments_get(&result, results.get(), 0));
    MIGRAPHX(migraphx_argument_buffer(&memory, result));
    return memory;
  }
  Program program_;
  Shape shape_;
  size_t bytes_;
  std::string output_;  // the parameter's name; empty: the program has none
};
