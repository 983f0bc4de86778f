// A sparse matrix times a vector by rocSPARSE, with the analysis that it makes before, against the host's.
#include <rocsparse/rocsparse.h>

#include "common.h"

int main() {
  constexpr int kRows = 300, kColumns = 200;
  std::vector<int> begins(1), columns;
  std::vector<float> values;
  for (int row = 0; row < kRows; ++row) {
    for (int column = row % 3; column < kColumns; column += 7 + row % 11) {
      columns.push_back(column);
      values.push_back(number(values.size()));
    }
    begins.push_back(static_cast<int>(columns.size()));
  }
  const std::vector<float> x = numbers(kColumns, 5);
  const Device<int> db(begins), dc(columns);
  const Device<float> dv(values), dx(x), dy(kRows);
  rocsparse_handle handle;
  check(rocsparse_create_handle(&handle), "rocsparse_create_handle");
  rocsparse_mat_descr matrix;
  check(rocsparse_create_mat_descr(&matrix), "rocsparse_create_mat_descr");
  rocsparse_mat_info info;
  check(rocsparse_create_mat_info(&info), "rocsparse_create_mat_info");
  const int count = static_cast<int>(values.size());
  check(rocsparse_scsrmv_analysis(handle, rocsparse_operation_none, kRows, kColumns, count, matrix, dv.data, db.data, dc.data, info),
        "rocsparse_scsrmv_analysis");
  const float one = 1, zero = 0;
  check(rocsparse_scsrmv(handle, rocsparse_operation_none, kRows, kColumns, count, &one, matrix, dv.data, db.data, dc.data, info, dx.data,
                         &zero, dy.data),
        "rocsparse_scsrmv");
  const std::vector<float> got = dy.values();
  check(rocsparse_destroy_mat_info(info), "rocsparse_destroy_mat_info");
  check(rocsparse_destroy_mat_descr(matrix), "rocsparse_destroy_mat_descr");
  check(rocsparse_destroy_handle(handle), "rocsparse_destroy_handle");
  std::vector<double> expected(kRows);
  for (int row = 0; row < kRows; ++row) {
    for (int i = begins[row]; i < begins[row + 1]; ++i) expected[row] += double(values[i]) * x[columns[i]];
  }
  return compared("rocSPARSE", got, expected, 1e-4);
}
