// A product of matrices and one of a matrix and a vector by rocBLAS, against the host's.
#include <rocblas/rocblas.h>

#include "common.h"

int main(int argc, char** argv) {
  const Stream stream(argc, argv);
  constexpr int kRows = 96, kColumns = 80, kInner = 64;
  const std::vector<float> a = numbers(kRows * kInner), b = numbers(kInner * kColumns, 7), x = numbers(kColumns, 99);
  const Device<float> da(a), db(b), dx(x), dc(kRows * kColumns), dy(kRows);
  rocblas_handle handle;
  check(rocblas_create_handle(&handle), "rocblas_create_handle");
  check(rocblas_set_stream(handle, stream.stream), "rocblas_set_stream");
  const float one = 1, zero = 0;
  stream.run(
      [&] {
        check(rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, kRows, kColumns, kInner, &one, da.data, kRows,
                            db.data, kInner, &zero, dc.data, kRows),
              "rocblas_sgemm");
        check(rocblas_sgemv(handle, rocblas_operation_none, kRows, kColumns, &one, dc.data, kRows, dx.data, 1, &zero, dy.data, 1),
              "rocblas_sgemv");
      },
      [&] {
        dc.clear();
        dy.clear();
      });
  const std::vector<float> got = dy.values();
  check(rocblas_destroy_handle(handle), "rocblas_destroy_handle");
  std::vector<double> expected(kRows);
  for (int column = 0; column < kColumns; ++column) {
    for (int row = 0; row < kRows; ++row) {
      double sum = 0;
      for (int k = 0; k < kInner; ++k) sum += double(a[row + k * kRows]) * b[k + column * kInner];
      expected[row] += sum * x[column];
    }
  }
  return compared("rocBLAS", got, expected, 1e-2);
}
