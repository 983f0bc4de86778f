// What a step that was captured in this process works with: the program's own code and memory. The
// recorder makes it (recorder/recording/captures.h), the replay library uses it; the two are
// libraries of their own, so only plain functions pass between them.
#pragma once

#include <atomic>
#include <cstdint>

namespace gfxgraph::live {

// A kernel as the program launches it. One of the two is there.
struct Code {
  void* function = nullptr;    // hipFunction_t
  const void* stub = nullptr;  // what hipLaunchKernel takes
};

// Memory of the program. All zero: the program does not have it any more, or it lived only inside
// of the capture.
struct Place {
  void* device = nullptr;  // as kernels see it; of a texture or surface: its handle
  void* host = nullptr;    // null: the host cannot reach it
  void* array = nullptr;   // hipArray_t, of an array
  uint64_t size_bytes = 0;
};

// The first thing that the program gave back after the capture; 0: none. Set once.
struct Gone {
  std::atomic<uint32_t> allocation{0};   // format::AllocationId
  std::atomic<uint32_t> code_object{0};  // format::CodeObjectId
};

inline constexpr uint32_t kObjectsVersion = 1;

// Every function may be called by any thread and throws nothing. `self` lives until release().
struct Objects {
  uint32_t version = kObjectsVersion;
  void* self = nullptr;
  const Gone* gone = nullptr;
  Code (*code)(void* self, uint32_t kernel) = nullptr;        // by format::KernelId
  Place (*place)(void* self, uint32_t allocation) = nullptr;  // by format::AllocationId
  void (*release)(void* self) = nullptr;
};

}  // namespace gfxgraph::live
