// A program prepared in a session: every operation with complete arguments, so that submitting one
// is a single HIP call that reads only memory owned here and in the session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/parameters.h"
#include "replayer/pattern_buffers.h"
#include "replayer/program.h"
#include "replayer/session.h"
#include "replayer/staging.h"

namespace gfxgraph::replayer {

struct PreparedLaunch {
  uint8_t* kernarg = nullptr;  // in the instance's arena
  format::KernelId kernel = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t lds_bytes = 0;
  hip::Dim3 grid;        // workgroups
  hip::Dim3 block;       // work items
  uint32_t special = 0;  // Instance::special(); 0: it is none
};
static_assert(sizeof(PreparedLaunch) == 48);

// Data that only cooperative launches and those with partial workgroups have.
struct SpecialLaunch {
  const void* stub = nullptr;  // instead of the function: Modules::stub()
  bool cooperative = false;
  bool partial = false;  // `work_items` is no multiple of the block
  hip::Dim3 work_items;
  std::vector<void*> parameters;  // cooperative launches take no `extra`
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
};

struct PreparedOperation {
  OperationKind kind = OperationKind::kLaunch;
  bool empty = false;     // moves or sets nothing
  bool turns = false;     // turnovers come before it
  bool streamed = false;  // a copy that goes through the ring
  uint32_t index = 0;     // in the vector of its kind
};
static_assert(sizeof(PreparedOperation) == 8);

struct PreparedHostWrite {
  uint8_t* destination = nullptr;
  std::vector<std::byte> bytes;  // relocated
  bool in_doubt = false;
  bool given = false;  // by the caller
  bool made = false;   // by a kernel, as a run from the recorded memory has shown
};

// Host writes that a kernel may have made instead (format::HostWrite::in_doubt), in the last run.
struct DoubtfulWrites {
  size_t made = 0;           // the bytes were already there: this replay's kernels write them
  size_t given = 0;          // they did not: taken from the recording as the program's
  uint32_t first_given = 0;  // index into Program::host_writes()
};

// What the program received by a copy to plain host memory.
struct HostResult {
  uint32_t operation = 0;
  const format::Content* expected = nullptr;
  uint8_t* bytes = nullptr;
  uint64_t size_bytes = 0;
};

struct Before;
class Executor;

// Not thread-safe.
class Instance {
 public:
  // `program` is the session's, or a part of it.
  static Result<std::unique_ptr<Instance>> load(std::shared_ptr<Session> session,
                                                std::shared_ptr<const Program> program);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Program& program() const { return *program_; }
  Session& session() { return *session_; }
  const Session& session() const { return *session_; }
  Deadline& deadline() { return session_->deadline(); }
  const HipLibrary& library() const { return session_->library(); }
  const HipTable& hip() const { return session_->hip(); }
  const HipDevice& device() const { return session_->device(); }
  Memory& memory() { return session_->memory(); }
  const Memory& memory() const { return std::as_const(*session_).memory(); }

  // Waits for everything on the device.
  Result<void> synchronize() const { return session_->synchronize(); }
  // Restores memory to its state at the beginning of the program: the recorded initial contents,
  // and the results of earlier work.
  Result<void> restore();
  // Submits one operation to a stream. Allocates nothing, takes no lock of this library, except for
  // copies that use the ring: their bytes are read from the trace, and they wait for space there.
  hip::Error submit(uint32_t operation, hip::Stream stream) noexcept;
  // Submits a copy that uses the ring, without the turnovers before it.
  hip::Error submit_streamed(uint32_t operation, hip::Stream stream) noexcept;
  // Converts the return value of submit() or submit_streamed() to an error.
  tl::unexpected<Error> failure(hip::Error code, uint32_t operation);
  // All submitted work is complete: bytes that came through the ring go to their HostResult.
  void collect_results() noexcept {
    if (ring_) ring_->collect();
  }
  // The caller has synchronised. By the order of the indices.
  void apply_host_write(uint32_t index) noexcept;
  const DoubtfulWrites& doubtful_writes() const { return doubtful_; }

  const PreparedOperation& operation(uint32_t index) const { return operations_[index]; }
  const PreparedLaunch& launch(uint32_t index) const { return launches_[index]; }
  size_t launches() const { return launches_.size(); }
  hip::Function function(const PreparedLaunch& launch) const {
    return session_->modules().function(launch.kernel);
  }
  // Null: it is a plain one.
  const SpecialLaunch* special(const PreparedLaunch& launch) const {
    return launch.special == 0 ? nullptr : &specials_[launch.special - 1];
  }
  const PreparedCopy& copy(uint32_t index) const { return copies_[index]; }
  const PreparedMemset& memset(uint32_t index) const { return memsets_[index]; }
  const std::vector<HostResult>& host_results() const { return host_results_; }
  // Done before an operation, in order: for each, the ended one is copied, if it is kept, and then
  // the bytes are filled.
  std::span<const Turnover> turnovers(uint32_t operation) const;

  // Overwrites bytes of a launch's kernarg segment; the next submit uses them. Returns whether they
  // differ.
  Result<bool> set_kernarg(uint32_t launch_index, uint64_t offset,
                           std::span<const std::byte> bytes);
  // The memory outside of buffers that a copy reads or writes, its own or the caller's. `operation`
  // is such a copy. Null: its own again.
  uint8_t* host_source(uint32_t operation) const {
    return const_cast<uint8_t*>(copies_[operations_[operation].index].source);
  }
  uint8_t* host_destination(uint32_t operation) const {
    return copies_[operations_[operation].index].destination;
  }
  void set_host_source(uint32_t operation, const uint8_t* bytes) noexcept;
  void set_host_destination(uint32_t operation, uint8_t* bytes) noexcept;
  // The caller has written there: no words that follow what is bound.
  void given_source(uint32_t operation) noexcept {
    copies_[operations_[operation].index].given = true;
  }
  // As many bytes as recorded.
  void set_host_write(uint32_t index, std::span<const std::byte> bytes) noexcept;
  // Applies the session's bindings since the last call, and passes the changes to `executor`, which
  // may be null. Call only when no work is in flight.
  void follow_moves(Executor* executor) noexcept {
    if (moves_followed_ != session_->moves().size()) [[unlikely]]
      follow_new_moves(executor);
  }
  // Changes one value of an operation; the next submit uses it. Returns whether it differs.
  // kInvalidArgument: the operation would leave its buffers; kUnsupported: such a place cannot be
  // set; the message has the reason.
  Result<bool> set_place(const PlaceTarget& target, const PlaceValue& value);
  // Whether a device can run the launch, as a whole; with `grid` instead of its own.
  Result<void> check_sizes(uint32_t operation, const hip::Dim3* grid) const;
  // Fast path for a number of four or eight bytes in a launch's arguments, the most frequent
  // change. nullopt: set_place() decides.
  std::optional<bool> set_number(const PlaceTarget& target, const PlaceValue& value) noexcept {
    if (target.kind != ranges::PlaceKind::kArgument || value.allocation != 0) return std::nullopt;
    const PreparedOperation& prepared = operations_[target.operation];
    if (prepared.kind != OperationKind::kLaunch) return std::nullopt;
    const PreparedLaunch& launch = launches_[prepared.index];
    if (uint64_t{target.offset_bytes} + target.size_bytes > launch.kernarg_bytes)
      return std::nullopt;
    uint8_t* const at = launch.kernarg + target.offset_bytes;
    if (target.size_bytes == sizeof(uint32_t))
      return store(at, static_cast<uint32_t>(value.number));
    if (target.size_bytes == sizeof(uint64_t))
      return store(at, static_cast<uint64_t>(value.number));
    return std::nullopt;
  }

 private:
  // Returns whether the value differs from the one before.
  template <typename Word>
  static bool store(uint8_t* at, Word word) noexcept {
    Word before;
    std::memcpy(&before, at, sizeof(before));
    std::memcpy(at, &word, sizeof(word));
    return before != word;
  }
  void follow_new_moves(Executor* executor) noexcept;
  Instance(std::shared_ptr<Session> session, std::shared_ptr<const Program> program);
  Result<void> check_contents() const;
  Result<void> prepare();
  Result<void> prepare_launch(const Operation& operation, uint64_t& arena_offset);
  Result<void> prepare_special(const Operation& operation, PreparedLaunch& launch);
  std::string name_of(const Operation& launch) const;
  Result<void> prepare_staging();
  uint8_t* stage(const format::Copy& recorded, PreparedCopy& copy);
  Result<void> prepare_copy(uint32_t index, const Operation& operation);
  Result<void> prepare_memset(const Operation& operation);
  Result<void> prepare_host_writes();
  Result<void> prepare_turnovers();
  hip::Error submit_turnovers(uint32_t operation, hip::Stream stream) noexcept;
  Result<void> run_before();
  Result<bool> set_launch(PreparedLaunch& launch, const PlaceTarget& target,
                          const PlaceValue& value);
  Result<bool> set_copy(const format::Copy& recorded, PreparedCopy& copy, const PlaceTarget& target,
                        const PlaceValue& value);
  Result<bool> set_memset(PreparedMemset& memset, const PlaceTarget& target,
                          const PlaceValue& value);
  uint64_t room(const format::Copy& recorded, const format::CopyEnd& end, const uint8_t* at) const;
  Result<uint64_t> address(const PlaceValue& value, uint64_t size_bytes, bool by_host) const;
  Result<void> check_place(const PlaceTarget& target, const PlaceValue& value) const;
  void follow(const Move& move, Executor* executor) noexcept;
  hip::Error submit_launch(const PreparedLaunch& launch, hip::Stream stream) noexcept;
  hip::Error submit_special(const PreparedLaunch& launch, hip::Stream stream) noexcept;
  hip::Error submit_copy(const PreparedCopy& copy, hip::Stream stream) noexcept;
  hip::Error stream_to_device(const format::Copy& recorded, const PreparedCopy& copy,
                              hip::Stream stream);
  hip::Error stream_to_host(const PreparedCopy& copy, hip::Stream stream);
  hip::Error submit_memset(const PreparedMemset& memset, hip::Stream stream) noexcept;

  std::shared_ptr<Session> session_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Before> before_;
  size_t moves_followed_ = 0;  // of the session's
  PatternBuffers small_rows_;
  std::vector<PreparedOperation> operations_;
  std::vector<PreparedLaunch> launches_;
  std::vector<SpecialLaunch> specials_;
  std::vector<PreparedCopy> copies_;
  std::vector<PreparedMemset> memsets_;
  std::vector<PreparedHostWrite> host_writes_;
  std::vector<Turnover> turnovers_;  // by operation of this program
  DoubtfulWrites doubtful_;
  uint64_t runs_ = 0;  // that made host writes, since memory was restored
  std::vector<HostResult> host_results_;
  std::vector<uint8_t> arena_;  // kernarg bytes
  StagingPlan staging_plan_;
  uint8_t* staging_ = nullptr;  // pinned host memory of copies from and to plain host memory
  std::unique_ptr<StagingRing> ring_;
  std::unique_ptr<uint8_t[]> received_;  // what copies to the host brought through it
  uint64_t staging_offset_ = 0;          // of the next one
  uint64_t received_offset_ = 0;
  uint32_t streamed_ = 0;
  std::optional<Error> streamed_error_;  // instead of one of HIP's
};

}  // namespace gfxgraph::replayer
