// Addresses in every form that a legal program may give them: outside of their buffers, packed,
// tagged, recycled, and numbers that only look like one. addresses MODE
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t error = (call);                                   \
    if (error != hipSuccess) {                                         \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(error)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

namespace {

constexpr int kCount = 256;

float* floats(float first) {
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = first + static_cast<float>(i);
  float* buffer = nullptr;
  CHECK(hipMalloc(&buffer, kCount * sizeof(float)));
  CHECK(hipMemcpy(buffer, values.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  return buffer;
}

float* zeros() {
  float* buffer = nullptr;
  CHECK(hipMalloc(&buffer, kCount * sizeof(float)));
  CHECK(hipMemset(buffer, 0, kCount * sizeof(float)));
  return buffer;
}

float first_of(const float* buffer) {
  float value = 0;
  CHECK(hipMemcpy(&value, buffer, sizeof(value), hipMemcpyDeviceToHost));
  return value;
}

template <typename T>
T* device_copy(const T& value) {
  T* copy = nullptr;
  CHECK(hipMalloc(&copy, sizeof(value)));
  CHECK(hipMemcpy(copy, &value, sizeof(value), hipMemcpyHostToDevice));
  return copy;
}

bool expect(const char* what, float got, float expected) {
  if (got == expected) return true;
  std::printf("%s: %g, not %g\n", what, static_cast<double>(got), static_cast<double>(expected));
  return false;
}

}  // namespace

__global__ void biased(const float* from, float* to, long bias) {
  const int i = static_cast<int>(threadIdx.x);
  to[i] = from[i + bias] + 1.0f;
}

__global__ void low_half(const void* from, uint32_t* to) {
  to[threadIdx.x] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from));
}

__global__ void unused(const float*, float* to) { to[threadIdx.x] = 5.0f; }

__global__ void sum_ids(const int* ids, int count, unsigned* out) {
  unsigned sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * 31 + static_cast<unsigned>(ids[i]);
  *out = sum;
}

__global__ void add_rows(const float* const* rows, int count, float* to) {
  for (int row = 0; row < count; ++row) to[threadIdx.x] += rows[row][threadIdx.x];
}

struct Node {
  Node* next;
  float value;
};
// Behind the list's last node, `more` follows. `kept` gets the address of the first one.
__global__ void append(Node* first, Node* more, Node** kept) {
  *kept = first;
  while (first->next != nullptr) first = first->next;
  first->next = more;
}
__global__ void add_nodes(Node* const* first, float* to) {
  for (const Node* node = *first; node != nullptr; node = node->next) to[threadIdx.x] += node->value;
}
__global__ void add_between(const float* begin, const float* end, float* to) {
  for (; begin != end; ++begin) to[threadIdx.x] += *begin;
}
__global__ void add_range(const float* const* range, float* to) {
  for (const float* at = range[0]; at != range[1]; ++at) to[threadIdx.x] += *at;
}
__global__ void sum_words(const uint64_t* words, int count, uint64_t* out) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * 31 + words[i];
  *out = sum;
}

struct __attribute__((packed)) Packed {
  int count;
  const float* from;
};
__global__ void follow_packed(const Packed* packed, float* to) {
  to[threadIdx.x] = packed->from[threadIdx.x] + static_cast<float>(packed->count);
}
__global__ void follow_packed_value(Packed packed, float* to) {
  to[threadIdx.x] = packed.from[threadIdx.x] + static_cast<float>(packed.count);
}

__global__ void follow_tagged(const uint64_t* words, float* to) {
  const auto* low = reinterpret_cast<const float*>(words[0] & ~uint64_t{3});
  const auto* high = reinterpret_cast<const float*>(words[8] & 0xffffffffffff);
  to[threadIdx.x] = low[threadIdx.x] + high[threadIdx.x] + static_cast<float>(words[0] & 3) +
                    static_cast<float>(words[8] >> 56);
}

typedef float (*Function)(float);
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float thrice(float x) { return 3 * x; }
__device__ int calls;  // says where the code is
__global__ void take_functions(Function* table) {
  table[0] = twice;
  table[1] = thrice;
}
__global__ void call_functions(const Function* table, float* to) {
  to[threadIdx.x] = table[threadIdx.x % 2](1.0f + static_cast<float>(threadIdx.x));
  if (threadIdx.x == 0) ++calls;
}

__device__ float* variable;
__global__ void follow_variable(float* to) { to[threadIdx.x] = variable[threadIdx.x]; }

namespace {

bool outside() {
  float* below = floats(1000);
  float* from = floats(1);
  float* to = zeros();
  // In front by more than any neighbour's guard, by less, one element; behind.
  for (const long bias : {2048L / 4, 1L, -300L, 1500L / 4}) {
    biased<<<1, kCount>>>(from - bias, to, bias);
    if (!expect("biased", first_of(to), 2)) return false;
  }
  // The buffer that the biased pointer may have been made from is another's neighbour, too.
  biased<<<1, kCount>>>(to + kCount + 200, below, -kCount - 200);
  return expect("biased", first_of(below), 3);
}

// The same between pinned buffers and between managed ones.
bool outside_host() {
  float* to = zeros();
  for (const bool managed : {false, true}) {
    float* from[3] = {};
    for (float*& one : from) {
      if (managed) {
        CHECK(hipMallocManaged(reinterpret_cast<void**>(&one), kCount * sizeof(float)));
      } else {
        CHECK(hipHostMalloc(reinterpret_cast<void**>(&one), kCount * sizeof(float), 0));
      }
      for (int i = 0; i < kCount; ++i) one[i] = static_cast<float>(&one - from) * 1000;
    }
    biased<<<1, kCount>>>(from[1] - 50, to, 50);
    if (!expect("biased", first_of(to), 1001)) return false;
    if (managed) continue;
    for (float* one : from) CHECK(hipHostFree(one));
  }
  return true;
}

// Tables in device memory and in pinned memory lead to registered memory by the host's address.
bool registered_words() {
  float* to = zeros();
  static float host[3 * kCount];
  for (float& one : host) one = 1000;
  CHECK(hipHostRegister(host, sizeof(host), 0));
  const float* const words[] = {host, host + kCount, host + 2 * kCount};
  const float** table = nullptr;
  CHECK(hipMalloc(&table, sizeof(words)));
  CHECK(hipMemcpy(table, words, sizeof(words), hipMemcpyHostToDevice));
  add_rows<<<1, kCount>>>(table, 3, to);
  CHECK(hipDeviceSynchronize());
  const float** pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), sizeof(words), 0));
  std::memcpy(pinned, words, sizeof(words));
  add_rows<<<1, kCount>>>(pinned, 3, to);
  CHECK(hipDeviceSynchronize());
  CHECK(hipHostUnregister(host));
  return expect("add_rows", first_of(to), 6000);
}

// A list in registered memory leads through registered memory by the host's addresses. The host makes
// it, a kernel appends to it, the host goes on with it.
bool registered_list() {
  float* to = zeros();
  alignas(4096) static Node nodes[2][kCount];
  Node** kept = nullptr;
  for (auto& part : nodes) CHECK(hipHostRegister(part, sizeof(part), 0));
  CHECK(hipMalloc(reinterpret_cast<void**>(&kept), sizeof(Node*)));
  const auto make = [&](int from, int until) {
    for (int i = from; i < until; ++i)
      nodes[i % 2][i] = {i + 1 == until ? nullptr : &nodes[(i + 1) % 2][i + 1], 100};
  };
  make(0, 8);
  make(8, 12);
  append<<<1, 1>>>(&nodes[0][0], &nodes[0][8], kept);
  add_nodes<<<1, kCount>>>(kept, to);
  if (!expect("append", first_of(to), 1200)) return false;
  nodes[0][20] = {&nodes[1][21], 3};
  nodes[1][21] = {nullptr, 4};
  nodes[1][11].next = &nodes[0][20];  // behind what the kernel appended
  add_nodes<<<1, kCount>>>(kept, to);
  if (!expect("add_nodes", first_of(to), 2407)) return false;
  // The second part ends first, and words still lead there.
  CHECK(hipHostUnregister(nodes[1]));
  CHECK(hipHostUnregister(nodes[0]));
  return true;
}

// The end of an array is an address, too: as an argument and in registered memory. No other memory
// begins there.
bool registered_end() {
  float* to = zeros();
  static struct {
    float host[2 * kCount];
    char between[64];
    const float* range[2];
  } memory;
  auto& host = memory.host;
  auto& range = memory.range;
  for (float& one : host) one = 2;
  CHECK(hipHostRegister(host, sizeof(host), 0));
  CHECK(hipHostRegister(range, sizeof(range), 0));
  add_between<<<1, kCount>>>(host, host + 2 * kCount, to);
  range[0] = host + kCount;
  range[1] = host + 2 * kCount;
  add_range<<<1, kCount>>>(range, to);
  if (!expect("ends", first_of(to), 6 * kCount)) return false;
  CHECK(hipHostUnregister(range));
  CHECK(hipHostUnregister(host));
  return true;
}

// Numbers of registered memory that equal host addresses of registered memory, as a heap leaves them.
bool registered_numbers() {
  static uint64_t host[512];
  uint64_t* out = nullptr;
  uint64_t expected = 0;
  uint64_t got = 0;
  for (int i = 0; i < 512; ++i) host[i] = i % 64 == 0 ? reinterpret_cast<uint64_t>(host + i) : 7;
  for (const uint64_t word : host) expected = expected * 31 + word;
  CHECK(hipHostRegister(host, sizeof(host), 0));
  CHECK(hipMalloc(reinterpret_cast<void**>(&out), sizeof(uint64_t)));
  sum_words<<<1, 1>>>(host, 512, out);
  CHECK(hipMemcpy(&got, out, sizeof(got), hipMemcpyDeviceToHost));
  CHECK(hipHostUnregister(host));
  return got == expected;
}

bool far_outside() {
  float* to = zeros();
  const auto word = reinterpret_cast<uintptr_t>(to) ^ (uintptr_t{1} << 42);
  unused<<<1, kCount>>>(reinterpret_cast<const float*>(word), to);
  return expect("unused", first_of(to), 5);
}

// Memory of the program that HIP does not know: a kernel computes with its address as a number.
bool host_number() {
  float* to = zeros();
  void* const from = std::malloc(size_t{1} << 20);
  low_half<<<1, kCount>>>(from, reinterpret_cast<uint32_t*>(to));
  uint32_t half = 0;
  CHECK(hipMemcpy(&half, to, sizeof(half), hipMemcpyDeviceToHost));
  return half == static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from));
}

bool sentinels() {
  float* to = zeros();
  for (const uintptr_t word : {uintptr_t{0}, uintptr_t{1}, ~uintptr_t{0}, ~uintptr_t{0} - 15}) {
    unused<<<1, kCount>>>(reinterpret_cast<const float*>(word), to);
  }
  return expect("unused", first_of(to), 5);
}

bool lookalike() {
  float* other = floats(1);
  const auto address = reinterpret_cast<uint64_t>(other + 4);
  const std::vector<int> ids = {7, 8, static_cast<int>(address), static_cast<int>(address >> 32),
                                9, 10, 11, 12};
  int* device_ids = nullptr;
  unsigned* out = nullptr;
  CHECK(hipMalloc(&device_ids, ids.size() * sizeof(int)));
  CHECK(hipMalloc(&out, sizeof(unsigned)));
  CHECK(hipMemcpy(device_ids, ids.data(), ids.size() * sizeof(int), hipMemcpyHostToDevice));
  sum_ids<<<1, 1>>>(device_ids, static_cast<int>(ids.size()), out);
  unsigned expected = 0;
  for (const int id : ids) expected = expected * 31 + static_cast<unsigned>(id);
  unsigned got = 0;
  CHECK(hipMemcpy(&got, out, sizeof(got), hipMemcpyDeviceToHost));
  return got == expected;
}

bool packed() {
  float* from = floats(1);
  float* to = zeros();
  const Packed value = {3, from};
  follow_packed<<<1, kCount>>>(device_copy(value), to);
  if (!expect("packed", first_of(to), 4)) return false;
  follow_packed_value<<<1, kCount>>>(value, to);
  return expect("packed value", first_of(to), 4);
}

bool tagged() {
  float* from = floats(1);
  float* to = zeros();
  struct Words {
    uint64_t words[16];
  } words = {};
  words.words[0] = reinterpret_cast<uint64_t>(from) | 3;
  words.words[8] = reinterpret_cast<uint64_t>(from) | uint64_t{0x5a} << 56;
  follow_tagged<<<1, kCount>>>(device_copy(words)->words, to);
  return expect("tagged", first_of(to), 1 + 1 + 3 + 0x5a);
}

// A word keeps the allocation that it was made from, whoever gets the address next.
bool recycled() {
  uint64_t* table = nullptr;
  CHECK(hipMalloc(&table, 64));
  CHECK(hipMemset(table, 0, 64));
  void* first = nullptr;
  CHECK(hipMalloc(&first, 1 << 16));
  const auto address = reinterpret_cast<uint64_t>(first) + 0x1238;
  CHECK(hipMemcpy(table + 2, &address, sizeof(address), hipMemcpyHostToDevice));
  CHECK(hipFree(first));
  void* second = nullptr;
  CHECK(hipMalloc(&second, 1 << 16));
  if (second != first) std::printf("the address was not recycled\n");
  uint64_t got = 0;
  CHECK(hipMemcpy(&got, table + 2, sizeof(got), hipMemcpyDeviceToHost));
  CHECK(hipFree(table));
  // A smaller one at the same place hides part of it, and is gone again.
  CHECK(hipFree(second));
  return got == address && second == first;
}

// The host writes the same bytes again, which are another buffer's address by now.
__global__ void follow_table(const uint64_t* table, float* to) {
  to[threadIdx.x] = reinterpret_cast<const float*>(table[1])[threadIdx.x];
}
bool recycled_pinned() {
  uint64_t* table = nullptr;
  float* to = zeros();
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&table), 64, 0));
  std::memset(table, 0, 64);
  float* first = floats(1);
  table[1] = reinterpret_cast<uint64_t>(first);
  follow_table<<<1, kCount>>>(table, to);
  if (!expect("first", first_of(to), 1)) return false;
  CHECK(hipFree(first));
  float* second = floats(100);
  table[1] = reinterpret_cast<uint64_t>(second);
  follow_table<<<1, kCount>>>(table, to);
  return expect("second", first_of(to), 100) && second == first;
}

// A table that the host copied: its words are the recorded code's.
bool functions() {
  Function* table = nullptr;
  Function* copied = nullptr;
  float* to = zeros();
  CHECK(hipMalloc(&table, 2 * sizeof(Function)));
  CHECK(hipMalloc(&copied, 2 * sizeof(Function)));
  take_functions<<<1, 1>>>(table);
  Function host[2] = {};
  CHECK(hipMemcpy(host, table, sizeof(host), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(copied, host, sizeof(host), hipMemcpyHostToDevice));
  call_functions<<<1, kCount>>>(copied, to);
  return expect("functions", first_of(to), 2);
}

bool through_variable() {
  float* from = floats(1);
  float* to = zeros();
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), &from, sizeof(from)));
  follow_variable<<<1, kCount>>>(to);
  return expect("variable", first_of(to), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const struct {
    const char* name;
    bool (*run)();
  } modes[] = {{"outside", outside},     {"far_outside", far_outside}, {"outside_host", outside_host}, {"sentinels", sentinels},
               {"host_number", host_number},
               {"lookalike", lookalike}, {"packed", packed},           {"tagged", tagged},
               {"registered_words", registered_words}, {"registered_list", registered_list},
               {"registered_end", registered_end}, {"registered_numbers", registered_numbers},
               {"recycled", recycled},   {"variable", through_variable},
               {"functions", functions},
               {"recycled_pinned", recycled_pinned}};
  for (const auto& one : modes) {
    if (mode != one.name) continue;
    const bool passed = one.run();
    CHECK(hipDeviceSynchronize());
    std::printf("addresses %s: %s\n", one.name, passed ? "PASS" : "FAIL");
    return passed ? 0 : 1;
  }
  std::fprintf(stderr, "addresses MODE\n");
  return 2;
}
