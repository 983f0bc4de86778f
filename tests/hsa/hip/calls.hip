// Calls of every kind: recursion, pointers to functions, virtual functions of objects that live in
// device memory, and switches that become jump tables.
#include <new>

#include "array.h"

#define HERE __host__ __device__ __attribute__((noinline))

HERE unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

// Each level keeps an array on the stack that the next one reads through a pointer.
HERE unsigned deep(unsigned level, const unsigned* above) {
  unsigned mine[8];
  for (unsigned k = 0; k < 8; ++k) mine[k] = above[k ^ 1] * 3 + level;
  if (level == 0) return mine[0] ^ mine[7];
  return deep(level - 1, mine) + mine[level % 8];
}

HERE unsigned odd(unsigned n);
HERE unsigned even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
HERE unsigned odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }

__global__ void recurse(unsigned* out) {
  const unsigned i = threadIdx.x;
  const unsigned start[8] = {i, i + 1, 2 * i, 5, i * i, 9, 0, 1};
  out[i] = ackermann(2, i % 6) + deep(20 + i % 3, start) + even(i) * 1000000;
}

HERE unsigned add_one(unsigned x) { return x + 1; }
HERE unsigned twice(unsigned x) { return x * 2; }
HERE unsigned mix(unsigned x) { return (x ^ x >> 3) * 2654435761u; }
HERE unsigned collatz(unsigned x) {
  unsigned steps = 0;
  for (; x > 1 && steps < 500; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
  return steps;
}
using Function = unsigned (*)(unsigned);
__device__ Function table[4] = {add_one, twice, mix, collatz};

// The lanes of a wave call different functions.
__global__ void call_table(unsigned* out, unsigned turns) {
  unsigned x = threadIdx.x + blockIdx.x * blockDim.x;
  for (unsigned turn = 0; turn < turns; ++turn) x = table[(x + turn) % 4](x);
  out[threadIdx.x + blockIdx.x * blockDim.x] = x;
}

struct Shape {
  __host__ __device__ explicit Shape(int w) : width(w) {}
  __host__ __device__ virtual int area() const = 0;
  __host__ __device__ virtual int edge() const { return 4 * width; }
  __host__ __device__ virtual ~Shape() {}
  int width;
};
struct Square final : Shape {
  __host__ __device__ explicit Square(int w) : Shape(w) {}
  __host__ __device__ int area() const override { return width * width; }
};
struct Box final : Shape {
  __host__ __device__ Box(int w, int h) : Shape(w), height(h) {}
  __host__ __device__ int area() const override { return width * height; }
  __host__ __device__ int edge() const override { return 2 * (width + height); }
  int height;
};
struct Hole final : Shape {
  __host__ __device__ explicit Hole(int w) : Shape(w) {}
  __host__ __device__ int area() const override { return -width; }
};
union Room {
  char box[sizeof(Box)];
  double aligned[3];
};

__host__ __device__ Shape* place(Room* room, int i) {
  if (i % 3 == 0) return new (room) Square(i);
  if (i % 3 == 1) return new (room) Box(i, i + 2);
  return new (room) Hole(i);
}

__global__ void construct(Room* rooms, Shape** shapes, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) shapes[i] = place(&rooms[i], i);
}
// A later kernel finds the objects and their functions.
__global__ void measure(Shape* const* shapes, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = shapes[i]->area() * 1000 + shapes[i]->edge();
}

// A machine with a program of its own: its switch is dense, and the cases are too different to be
// folded into a table of values.
HERE int interpret(const unsigned char* program, int x) {
  int y = 1;
  for (int at = 0; at < 64; ++at) {
    switch (program[at] & 15) {
      case 0: return x ^ y;
      case 1: x += y; break;
      case 2: y -= x * 3; break;
      case 3: x = x << 1 | (x >> 31 & 1); break;
      case 4: y = x > y ? x - 1 : y + 2; break;
      case 5: x *= y | 1; break;
      case 6: at += x & 3; break;
      case 7: y ^= 0x55aa; break;
      case 8: x = ~x; break;
      case 9: if (y < 0) y = -(y + 1); break;
      case 10: x -= program[63 - at]; break;
      case 11: y = x % 17; break;
      case 12: { const int t = x; x = y; y = t; break; }
      case 13: x &= 0x00ffffff; break;
      case 14: y += at; break;
      default: x ^= y >> 4;
    }
  }
  return x + y;
}
__global__ void interpret_all(const unsigned char* programs, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = interpret(programs + i * 64, i);
}

int main() {
  Digest digest;
  {
    const DeviceArray<unsigned> out(70);
    recurse<<<1, 70>>>(out.data());
    const std::vector<unsigned> got = out.read();
    for (unsigned i = 0; i < 70; ++i) {
      const unsigned start[8] = {i, i + 1, 2 * i, 5, i * i, 9, 0, 1};
      CHECK(got[i] == ackermann(2, i % 6) + deep(20 + i % 3, start) + even(i) * 1000000);
    }
    digest.add(got);
  }
  {
    const Function host_table[4] = {add_one, twice, mix, collatz};
    const DeviceArray<unsigned> out(300);
    call_table<<<3, 100>>>(out.data(), 9);
    const std::vector<unsigned> got = out.read();
    for (unsigned i = 0; i < 300; ++i) {
      unsigned x = i;
      for (unsigned turn = 0; turn < 9; ++turn) x = host_table[(x + turn) % 4](x);
      CHECK(got[i] == x);
    }
    digest.add(got);
  }
  {
    constexpr int kCount = 301;
    const DeviceArray<Room> rooms(kCount);
    const DeviceArray<Shape*> shapes(kCount);
    const DeviceArray<int> out(kCount);
    construct<<<5, 64>>>(rooms.data(), shapes.data(), kCount);
    measure<<<5, 64>>>(shapes.data(), out.data(), kCount);
    const std::vector<int> got = out.read();
    for (int i = 0; i < kCount; ++i) {
      Room room;
      const Shape* const shape = place(&room, i);
      CHECK(got[static_cast<size_t>(i)] == shape->area() * 1000 + shape->edge());
    }
    digest.add(got);
  }
  {
    constexpr int kCount = 1000;
    const std::vector<unsigned char> programs = random_integers<unsigned char>(kCount * 64, 3);
    const DeviceArray<unsigned char> input(programs);
    const DeviceArray<int> out(kCount);
    interpret_all<<<8, 128>>>(input.data(), out.data(), kCount);
    const std::vector<int> got = out.read();
    for (int i = 0; i < kCount; ++i)
      CHECK(got[static_cast<size_t>(i)] == interpret(programs.data() + i * 64, i));
    digest.add(got);
  }
  digest.print();
  return done();
}
