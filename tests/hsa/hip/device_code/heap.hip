// malloc and free in kernels: memory that outlives the kernel which asked for it, is given back by
// another one and comes again. HIP gets it from the host through the service thread of printf.
#include <set>

#include "../array.h"

struct Node {
  Node* next;
  unsigned value;
};

__global__ void make_list(Node** heads, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Node* head = nullptr;
  for (unsigned k = 0; k < i % 5 + 1; ++k) {
    auto* const node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) break;
    *node = Node{head, i * 10 + k};
    head = node;
  }
  heads[i] = head;
}

__global__ void sum_list(Node** heads, unsigned* sums, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (Node* node = heads[i]; node != nullptr;) {
    sums[i] += node->value;
    Node* const next = node->next;
    free(node);
    node = next;
  }
}

// Sizes from one byte to many pages; each block is filled to its end.
__global__ void fill_blocks(unsigned char** blocks, const unsigned* sizes, unsigned count) {
  const unsigned i = threadIdx.x;
  if (i >= count) return;
  blocks[i] = static_cast<unsigned char*>(malloc(sizes[i]));
  if (blocks[i] == nullptr) return;
  for (unsigned k = 0; k < sizes[i]; ++k) blocks[i][k] = static_cast<unsigned char>(i + k);
}

__global__ void check_blocks(unsigned char** blocks, const unsigned* sizes, unsigned* wrong,
                             unsigned count) {
  const unsigned i = threadIdx.x;
  if (i >= count || blocks[i] == nullptr) return;
  for (unsigned k = 0; k < sizes[i]; ++k)
    wrong[i] += blocks[i][k] != static_cast<unsigned char>(i + k);
  free(blocks[i]);
}

static void run_lists() {
  constexpr unsigned kCount = 1000;
  const DeviceArray<Node*> heads(kCount);
  const DeviceArray<unsigned> sums(kCount);
  make_list<<<8, 128>>>(heads.data(), kCount);
  std::set<Node*> different;
  for (Node* const head : heads.read()) {
    CHECK(head != nullptr);
    CHECK(different.insert(head).second);
  }
  sum_list<<<8, 128>>>(heads.data(), sums.data(), kCount);
  const std::vector<unsigned> got = sums.read();
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned want = 0;
    for (unsigned k = 0; k < i % 5 + 1; ++k) want += i * 10 + k;
    CHECK(got[i] == want);
  }
}

static void run_blocks() {
  const std::vector<unsigned> list = {1, 16, 17, 100, 1000, 3000, 4096, 5000, 40000, 300000};
  const auto count = static_cast<unsigned>(list.size());
  const DeviceArray<unsigned> sizes(list), wrong(count);
  const DeviceArray<unsigned char*> blocks(count);
  fill_blocks<<<1, 32>>>(blocks.data(), sizes.data(), count);
  const std::vector<unsigned char*> got = blocks.read();
  for (unsigned i = 0; i < count; ++i) {
    CHECK(got[i] != nullptr);
    for (unsigned k = 0; k < count; ++k)
      CHECK(k == i || got[i] + list[i] <= got[k] || got[k] + list[k] <= got[i]);
  }
  check_blocks<<<1, 32>>>(blocks.data(), sizes.data(), wrong.data(), count);
  for (const unsigned bytes : wrong.read()) CHECK(bytes == 0);
}

int main() {
  for (int turn = 0; turn < 3; ++turn) run_lists();
  run_blocks();
  return done();
}
