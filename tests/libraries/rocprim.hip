// Sorting and a running sum by rocPRIM, whose kernels are compiled with the program, against the host's.
#include <hip/hip_runtime.h>
#include <rocprim/device/device_radix_sort.hpp>
#include <rocprim/device/device_scan.hpp>

#include <algorithm>

#include "common.h"

int main(int argc, char** argv) {
  const Stream stream(argc, argv);
  constexpr size_t kCount = 5000;
  const std::vector<float> in = numbers(kCount);
  const Device<float> unsorted(in), sorted(kCount), summed(kCount);
  size_t sort_bytes = 0, scan_bytes = 0;
  check(rocprim::radix_sort_keys(nullptr, sort_bytes, unsorted.data, sorted.data, kCount), "radix_sort_keys");
  check(rocprim::inclusive_scan(nullptr, scan_bytes, sorted.data, summed.data, kCount, rocprim::plus<float>()), "inclusive_scan");
  const Device<char> scratch(std::max(sort_bytes, scan_bytes));
  stream.run(
      [&] {
        check(rocprim::radix_sort_keys(scratch.data, sort_bytes, unsorted.data, sorted.data, kCount, 0, 32, stream.stream),
              "radix_sort_keys");
        check(rocprim::inclusive_scan(scratch.data, scan_bytes, sorted.data, summed.data, kCount, rocprim::plus<float>(), stream.stream),
              "inclusive_scan");
      },
      [&] {
        sorted.clear();
        summed.clear();
      });
  const std::vector<float> got = summed.values();
  std::vector<double> expected(in.begin(), in.end());
  std::sort(expected.begin(), expected.end());
  for (size_t i = 1; i < kCount; ++i) expected[i] += expected[i - 1];
  return compared("rocPRIM", got, expected, 0.05);
}
