// Operations with complete arguments: submitting one is a single HIP call that reads only memory
// owned here and in the session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

struct PreparedLaunch {
  uint8_t* kernarg = nullptr;  // in PreparedOperations::arena
  format::KernelId kernel = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t lds_bytes = 0;
  hip::Dim3 grid;        // workgroups
  hip::Dim3 block;       // work items
  uint32_t special = 0;  // of PreparedOperations::specials, from 1; 0: it is none
};
static_assert(sizeof(PreparedLaunch) == 48);

// Data that only cooperative launches, those with partial workgroups and those by a stub have.
struct SpecialLaunch {
  // Neither cooperative nor partial, but by the stub: a graph's node takes it.
  bool in_graph() const { return stub != nullptr && !cooperative && !partial; }

  const void* stub = nullptr;  // instead of the function: Modules::stub()
  bool cooperative = false;
  bool partial = false;  // `work_items` is no multiple of the block
  hip::Dim3 work_items;
  // Cooperative launches and stubs take no `extra`: as many as the kernel has arguments, of
  // PreparedOperations::parameters.
  void** parameters = nullptr;
};

// The bytes of a launch, in the runtime's form. Points into itself.
class LaunchArguments {
 public:
  explicit LaunchArguments(const PreparedLaunch& launch)
      : bytes_(launch.kernarg_bytes),
        extra_{hip::kLaunchBufferPointer, launch.kernarg, hip::kLaunchBufferSize, &bytes_,
               hip::kLaunchEnd} {}
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;
  void** extra() { return extra_.data(); }

 private:
  size_t bytes_;
  std::array<void*, 5> extra_;  // POINTER, SIZE, END: one runtime reads the values by position
};

struct PreparedCopy {
  uint8_t* destination = nullptr;
  const uint8_t* source = nullptr;
  uint64_t width = 0, height = 1, depth = 1;  // bytes, rows, slices
  uint64_t destination_pitch = 0, source_pitch = 0;
  uint64_t destination_slice = 0, source_slice = 0;
  int kind = hip::kCopyDefault;
  bool given = false;  // the source holds the caller's bytes
  // Memory of the instance for the end outside of buffers. Of a streamed copy to the device: null.
  uint8_t* staged = nullptr;
  uint32_t streamed = 0;  // its number, from 1, if it goes through the ring (staging.h); or 0
  // An end in an array: it, and as pointer above kArrayBase + the place in linear order.
  static constexpr uint64_t kArrayBase = uint64_t{1} << 62;
  // As a box for HIP, whichever memory the other end is now.
  hip::Memcpy3dParams parameters(const HipTable& hip) const noexcept;
  void* destination_array = nullptr;
  void* source_array = nullptr;
  const format::ArrayShape* shape = nullptr;  // the destination's, or else the source's
  const format::ArrayShape* source_shape = nullptr;
  uint64_t destination_offset = 0, source_offset = 0;  // in their buffers
  // Allocates nothing.
  hip::Error submit(const HipTable& hip, hip::Stream stream) const noexcept;
  bool in_array() const { return shape != nullptr; }
  bool linear() const { return height == 1 && depth == 1 && !in_array(); }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  hip::Memcpy3dParams parameters() const;
};

struct PreparedMemset {
  uint8_t* destination = nullptr;
  uint8_t* copy_destination = nullptr;  // the same place by the address that copies take
  uint32_t element_bytes = 1;
  uint32_t value = 0;
  uint64_t width = 0, height = 1, depth = 1;  // elements, rows, slices
  uint64_t pitch = 0, slice = 0;
  // Fills of single rows would write past their ends (kSmallFillOverruns): they are copied from
  // here, device memory with the row's bytes. Null: they would not.
  const void* small_row = nullptr;
  // Allocates nothing.
  hip::Error submit(const HipTable& hip, hip::Stream stream) const noexcept;
};

struct PreparedOperation {
  OperationKind kind = OperationKind::kLaunch;
  bool empty = false;     // moves or sets nothing
  bool turns = false;     // turnovers come before it
  bool streamed = false;  // a copy that goes through the ring
  uint32_t index = 0;     // in the vector of its kind
};
static_assert(sizeof(PreparedOperation) == 8);

// What the program received by a copy to plain host memory.
struct HostResult {
  uint32_t operation = 0;
  const format::Content* expected = nullptr;
  uint8_t* bytes = nullptr;
  uint64_t size_bytes = 0;
};

// Those of a program.
struct PreparedOperations {
  std::vector<PreparedOperation> all;
  std::vector<PreparedLaunch> launches;
  std::vector<SpecialLaunch> specials;
  std::vector<PreparedCopy> copies;
  std::vector<PreparedMemset> memsets;
  std::vector<HostResult> host_results;
  std::vector<uint8_t> arena;     // kernarg bytes
  std::vector<void*> parameters;  // of special launches, one after another

  PreparedCopy& copy_of(uint32_t operation) { return copies[all[operation].index]; }
};

// Whether a device can run a launch of these sizes, as a whole. `operation`: the launch.
Result<void> check_sizes(const Program& program, uint32_t operation, const hip::Dim3& grid,
                         const hip::Dim3& block);

}  // namespace gfxgraph::replayer
