// A complex transform of 240 points by rocFFT, which compiles its kernels when it runs, against the host's sum.
#include <rocfft/rocfft.h>

#include "common.h"

int main(int argc, char** argv) {
  const Stream stream(argc, argv);
  constexpr size_t kPoints = 240;
  const std::vector<float> in = numbers(2 * kPoints);
  const Device<float> memory(in);
  check(rocfft_setup(), "rocfft_setup");
  rocfft_plan plan = nullptr;
  check(rocfft_plan_create(&plan, rocfft_placement_inplace, rocfft_transform_type_complex_forward, rocfft_precision_single, 1, &kPoints,
                           1, nullptr),
        "rocfft_plan_create");
  size_t work_bytes = 0;
  check(rocfft_plan_get_work_buffer_size(plan, &work_bytes), "rocfft_plan_get_work_buffer_size");
  const Device<char> work(work_bytes + 1);
  rocfft_execution_info info = nullptr;
  check(rocfft_execution_info_create(&info), "rocfft_execution_info_create");
  if (work_bytes != 0) check(rocfft_execution_info_set_work_buffer(info, work.data, work_bytes), "rocfft_execution_info_set_work_buffer");
  void* buffers[] = {memory.data};
  check(rocfft_execution_info_set_stream(info, stream.stream), "rocfft_execution_info_set_stream");
  stream.run([&] { check(rocfft_execute(plan, buffers, nullptr, info), "rocfft_execute"); }, [&] { memory.set(in); });
  const std::vector<float> got = memory.values();
  check(rocfft_execution_info_destroy(info), "rocfft_execution_info_destroy");
  check(rocfft_plan_destroy(plan), "rocfft_plan_destroy");
  check(rocfft_cleanup(), "rocfft_cleanup");
  std::vector<double> expected(2 * kPoints);
  for (size_t f = 0; f < kPoints; ++f) {
    for (size_t t = 0; t < kPoints; ++t) {
      const double angle = -2 * M_PI * double(f * t % kPoints) / kPoints;
      expected[2 * f] += in[2 * t] * std::cos(angle) - in[2 * t + 1] * std::sin(angle);
      expected[2 * f + 1] += in[2 * t] * std::sin(angle) + in[2 * t + 1] * std::cos(angle);
    }
  }
  return compared("rocFFT", got, expected, 1e-3);
}
