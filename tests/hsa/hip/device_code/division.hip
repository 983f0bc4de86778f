// Integer division and remainder, for which the device has no instruction: edge values against each
// other, numbers of every length, and divisors that the compiler knows.
#include <limits>

#include "../array.h"

template <typename T>
struct Results {
  T quotient, remainder, by_seven, by_power, of_constant;
};

template <typename T>
__host__ __device__ Results<T> divide(T a, T b) {
  return {static_cast<T>(a / b), static_cast<T>(a % b), static_cast<T>(a / 7),
          static_cast<T>(a % 64), static_cast<T>(T{100} / b)};
}

template <typename T>
__global__ void divide_all(const T* a, const T* b, Results<T>* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = divide(a[i], b[i]);
}

template <typename T>
static void test(const char* name, Digest& digest) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges = {0, 1, 2, 3, 5, 7, 10, 16, 63, 64, 100, 127};
  for (const T x : {Limits::max(), static_cast<T>(Limits::max() - 1), static_cast<T>(Limits::max() / 2),
                    Limits::min(), static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() / 3)})
    edges.push_back(x);
  for (int bits = 8; bits < Limits::digits; bits += 8)
    for (const int near : {-1, 0, 1}) edges.push_back(static_cast<T>((T{1} << bits) + static_cast<T>(near)));
  if (Limits::is_signed)
    for (size_t i = edges.size(); i-- > 0;) edges.push_back(static_cast<T>(0 - static_cast<uint64_t>(edges[i])));
  std::vector<T> a, b;
  const auto add = [&](T x, T y) {
    // Neither has a meaning in C++.
    if (y == 0 || (Limits::is_signed && x == Limits::min() && y == static_cast<T>(-1))) return;
    a.push_back(x);
    b.push_back(y);
  };
  for (const T x : edges)
    for (const T y : edges) add(x, y);
  const std::vector<T> numbers = random_integers<T>(8000, sizeof(T));
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const auto shift = static_cast<int>(i / 2 % Limits::digits);
    add(numbers[i], static_cast<T>(numbers[i + 1] >> shift));
    add(static_cast<T>(numbers[i] >> shift), numbers[i + 1]);
  }
  const auto n = static_cast<unsigned>(a.size());
  const DeviceArray<T> da(a), db(b);
  const DeviceArray<Results<T>> out(n);
  divide_all<<<(n + 127) / 128, 128>>>(da.data(), db.data(), out.data(), n);
  const std::vector<Results<T>> got = out.read();
  digest.add(got);
  for (unsigned i = 0; i < n; ++i) {
    const Results<T> want = divide(a[i], b[i]);
    const bool same = got[i].quotient == want.quotient && got[i].remainder == want.remainder &&
                      got[i].by_seven == want.by_seven && got[i].by_power == want.by_power &&
                      got[i].of_constant == want.of_constant;
    if (same) continue;
    std::printf("%s: %lld / %lld: %lld remainder %lld instead of %lld remainder %lld\n", name,
                static_cast<long long>(a[i]), static_cast<long long>(b[i]),
                static_cast<long long>(got[i].quotient), static_cast<long long>(got[i].remainder),
                static_cast<long long>(want.quotient), static_cast<long long>(want.remainder));
    std::exit(1);
  }
}

int main() {
  Digest digest;
  test<int8_t>("int8", digest);
  test<uint16_t>("uint16", digest);
  test<int32_t>("int32", digest);
  test<uint32_t>("uint32", digest);
  test<int64_t>("int64", digest);
  test<uint64_t>("uint64", digest);
  digest.print();
  return done();
}
