// One piece of work for the device or a host function, whatever way it is given to HIP: what it
// touches, what it does to the model, and its text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "memory.h"

namespace random_programs {

enum class WorkKind { kKernel, kSet, kCopy, kHost, kEmpty, kChild };

// Rows of bytes: 1D, 2D and 3D.
struct Shape {
  uint64_t width = 0;  // bytes
  uint64_t height = 1;
  uint64_t depth = 1;
};

struct Side {
  Ref ref;
  uint64_t pitch = 0;  // bytes between rows
  uint64_t slice = 0;  // bytes between layers
};

struct Work {
  WorkKind kind = WorkKind::kEmpty;

  Kernel kernel = Kernel::fill;
  int module = -1;     // -1: linked code
  int device = 0;      // that runs it
  bool extra = false;  // a module's launch: arguments as one block
  std::array<Ref, 3> refs = {};
  uint32_t n = 0;  // elements, entries, words, ...
  uint32_t m = 0;  // gather: entries; biased: k; walk: nodes
  uint32_t a = 0;
  uint32_t spin = 0;
  uint32_t block = 64;

  Side to;    // set, copy, host
  Side from;  // copy, host (region -1: none)
  Shape shape;
  uint32_t element = 1;  // set: bytes of an element
  uint32_t value = 0;    // set
  uint32_t api = 0;      // the variant of HIP's call

  ImageShape image;  // kernels of textures and surfaces

  int graph = -1;  // child
};

using Accesses = std::vector<Access>;

// Everything that work touches, with the memory as it is now. Reads are of defined bytes that hold
// no pointers unless work is made for pointers: then the list of a table is walked. False: the work
// would be illegal (undefined input, dead region, foreign pointer).
bool accesses_of(const Work& work, const Memory& memory, Accesses& accesses);
// As far as that is possible without a look at memory's contents.
Accesses static_accesses(const Work& work, const Memory& memory);
void apply(const Work& work, Memory& memory);

// work_images.cpp: textures and surfaces. What is read through a handle in memory is not among a
// kernel's accesses but of table_accesses().
bool is_image_kernel(Kernel kernel);
void image_accesses(const Work& work, const Memory& memory, Accesses& accesses);
void table_accesses(const Memory& memory, const Region& texture, Accesses& accesses);
void apply_image_kernel(const Work& work, Memory& memory, const Region& object);

struct Arguments {
  alignas(16) std::array<uint8_t, 160> bytes{};
  size_t size = 0;
  std::array<void*, 8> pointers{};
};
void pack_arguments(const Work& work, const Memory& memory, Arguments& arguments);
uint32_t grid_of(const Work& work);

const char* kernel_name(Kernel kernel);
std::string ref_text(const Memory& memory, const Ref& ref);
std::string work_text(const Work& work, const Memory& memory);
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);

// What a host function does, in the model and in the program.
void host_function(uint8_t* to, const uint8_t* from, uint64_t size, uint32_t a);

}  // namespace random_programs
