// Pointers where a recorder does not see them by type: inside a struct passed by value, in a table
// in device memory, and in a linked list. With --lookalike also a plain 64-bit number whose value
// happens to lie inside a live buffer: nothing but the program's own use of it tells that it is no
// pointer.
#include "sample.h"

struct Job {
  const float* input;
  float factor;
  int count;
  float* output;
};

struct Node {
  Node* next;
  float value;
};

__global__ void run_job(Job job) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.count) job.output[i] = job.input[i] * job.factor;
}

// out[i] = the sum over rows of rows[r][i].
__global__ void sum_rows(const float* const* rows, int row_count, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int row = 0; row < row_count; ++row) sum += rows[row][i];
  out[i] = sum;
}

// Each lane walks its own list and counts.
__global__ void walk_lists(Node* const* heads, float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (const Node* node = heads[i]; node != nullptr; node = node->next) sum += node->value;
  sums[i] = sum;
}

__global__ void stir(uint64_t seed, uint64_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (seed + static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
}

namespace {

constexpr int kCount = 1000, kRows = 7, kLists = 40, kListLength = 9;

bool check_job(const std::vector<float>& input, float* device_input) {
  float* output = sample::device_alloc<float>(kCount);
  run_job<<<sample::blocks(kCount, 64), 64>>>(Job{device_input, 1.5f, kCount, output});
  std::vector<float> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[i] = input[i] * 1.5f;
  const bool passed = sample::same("job", sample::to_host(output, kCount), expected);
  HIP_CHECK(hipFree(output));
  return passed;
}

bool check_table() {
  std::vector<float> expected(kCount, 0.0f);
  std::vector<const float*> table;
  for (int row = 0; row < kRows; ++row) {
    const std::vector<float> values = sample::random_floats(kCount, 20 + row);
    for (int i = 0; i < kCount; ++i) expected[i] += values[i];
    table.push_back(sample::to_device(values));
  }
  const float** device_table = sample::to_device(table);
  float* output = sample::device_alloc<float>(kCount);
  sum_rows<<<sample::blocks(kCount, 64), 64>>>(device_table, kRows, output, kCount);
  const bool passed = sample::same("table", sample::to_host(output, kCount), expected);
  for (const float* row : table) HIP_CHECK(hipFree(const_cast<float*>(row)));
  HIP_CHECK(hipFree(device_table));
  HIP_CHECK(hipFree(output));
  return passed;
}

bool check_lists() {
  // All nodes in one buffer; list i runs through it in strides, so links go back and forth.
  Node* device_nodes = sample::device_alloc<Node>(kLists * kListLength);
  std::vector<Node> nodes(kLists * kListLength);
  std::vector<Node*> heads(kLists);
  std::vector<float> expected(kLists, 0.0f);
  const auto slot = [](int list, int position) {
    return (position * 7 % kListLength) * kLists + list;
  };
  for (int list = 0; list < kLists; ++list) {
    heads[list] = device_nodes + slot(list, 0);
    for (int position = 0; position < kListLength; ++position) {
      const bool last = position + 1 == kListLength;
      Node& node = nodes[slot(list, position)];
      node.next = last ? nullptr : device_nodes + slot(list, position + 1);
      node.value = static_cast<float>(list * 10 + position);
      expected[list] += node.value;
    }
  }
  HIP_CHECK(
      hipMemcpy(device_nodes, nodes.data(), nodes.size() * sizeof(Node), hipMemcpyHostToDevice));
  Node** device_heads = sample::to_device(heads);
  float* sums = sample::device_alloc<float>(kLists);
  walk_lists<<<sample::blocks(kLists, 64), 64>>>(device_heads, sums, kLists);
  const bool passed = sample::same("lists", sample::to_host(sums, kLists), expected);
  HIP_CHECK(hipFree(device_nodes));
  HIP_CHECK(hipFree(device_heads));
  HIP_CHECK(hipFree(sums));
  return passed;
}

bool check_lookalike(const float* buffer) {
  const uint64_t seed = reinterpret_cast<uint64_t>(buffer) + 64;
  uint64_t* output = sample::device_alloc<uint64_t>(kCount);
  stir<<<sample::blocks(kCount, 64), 64>>>(seed, output, kCount);
  std::vector<uint64_t> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    expected[i] = (seed + static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
  }
  const bool passed = sample::same("lookalike", sample::to_host(output, kCount), expected);
  HIP_CHECK(hipFree(output));
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<float> input = sample::random_floats(kCount, 10);
  float* device_input = sample::to_device(input);
  bool passed = check_job(input, device_input);
  passed = check_table() && passed;
  passed = check_lists() && passed;
  if (sample::has_flag(argc, argv, "--lookalike")) passed = check_lookalike(device_input) && passed;
  HIP_CHECK(hipFree(device_input));
  return sample::finish("struct_args", passed);
}
