// What a caller sets in a step's operations between its runs: values of arguments, sizes, ends of
// copies and memsets, and bytes of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/program/parameters.h"
#include "replayer/session/executor.h"
#include "replayer/session/instance.h"
#include "replayer/step/step_arguments.h"

namespace gfxgraph::replayer {

// Not thread-safe. Runs in flight keep the values that they were submitted with.
class StepValues {
 public:
  // The instance outlives it.
  explicit StepValues(Instance& instance);
  // Gets the changes from now on; before anything is set.
  void use(Executor& executor) noexcept { executor_ = &executor; }

  Result<void> set_kernarg(uint32_t launch_index, uint64_t offset,
                           std::span<const std::byte> bytes);
  // In workgroups.
  Result<void> set_grid(uint32_t launch_index, const hip::Dim3& grid);
  // kInvalidArgument: the operation would leave its buffers; kUnsupported: such a place cannot be
  // set; the message has the reason.
  Result<void> set_place(const PlaceTarget& target, const PlaceValue& value) {
    switch (set_number(target, value)) {
      case Set::kChanged: arguments_changed(target.operation); break;
      case Set::kSame: break;
      case Set::kOther: return set_other_place(target, value);
    }
    return {};
  }
  // All places of a parameter.
  Result<void> set(const StepParameter& parameter, const PlaceValue& value);
  // All of them at once: of a step of the same work (check_same_work()). Allocates nothing.
  void set_all(const StepArguments& arguments) noexcept;
  // Whether a device can run the launches whose sizes were set. Not when they are set, because a
  // caller sets them one by one.
  bool any_resized() const noexcept { return !resized_.empty(); }
  Result<void> check_resized();

  // The memory outside of buffers that a copy reads or writes, its own or the caller's. `operation`
  // is such a copy. Null destination: its own again. The bytes at the source are new.
  void set_host_source(uint32_t operation, const uint8_t* bytes) noexcept;
  void set_host_destination(uint32_t operation, uint8_t* bytes) noexcept;
  // As many bytes as recorded.
  void set_host_write(uint32_t index, std::span<const std::byte> bytes) noexcept;

  // How often something was set to another value.
  uint64_t changes() const { return changes_; }

 private:
  // A number of four or eight bytes in a launch's arguments: the most frequent change, which is
  // made within the caller.
  enum class Set : uint8_t { kChanged, kSame, kOther };
  Set set_number(const PlaceTarget& target, const PlaceValue& value) noexcept {
    if (target.kind != ranges::PlaceKind::kArgument || value.allocation != 0) return Set::kOther;
    const PreparedOperation& prepared = prepared_.all[target.operation];
    if (prepared.kind != OperationKind::kLaunch) return Set::kOther;
    const PreparedLaunch& launch = prepared_.launches[prepared.index];
    if (uint64_t{target.offset_bytes} + target.size_bytes > launch.kernarg_bytes)
      return Set::kOther;
    uint8_t* const at = launch.kernarg + target.offset_bytes;
    if (target.size_bytes == sizeof(uint32_t))
      return store(at, static_cast<uint32_t>(value.number));
    if (target.size_bytes == sizeof(uint64_t))
      return store(at, static_cast<uint64_t>(value.number));
    return Set::kOther;
  }
  template <typename Word>
  static Set store(uint8_t* at, Word word) noexcept {
    Word before;
    std::memcpy(&before, at, sizeof(before));
    std::memcpy(at, &word, sizeof(word));
    return before == word ? Set::kSame : Set::kChanged;
  }
  Result<void> set_other_place(const PlaceTarget& target, const PlaceValue& value);
  Result<uint32_t> find_launch(uint32_t launch_index) const;
  Result<bool> change(const PlaceTarget& target, const PlaceValue& value);
  Result<bool> set_launch(PreparedLaunch& launch, const PlaceTarget& target,
                          const PlaceValue& value) const;
  Result<bool> set_copy(const format::Copy& recorded, PreparedCopy& copy, const PlaceTarget& target,
                        const PlaceValue& value) const;
  Result<bool> set_memset(PreparedMemset& memset, const PlaceTarget& target,
                          const PlaceValue& value) const;
  uint64_t room(const format::Copy& recorded, const format::CopyEnd& end, const uint8_t* at) const;
  Result<uint64_t> address(const PlaceValue& value, uint64_t size_bytes, bool by_host) const;
  Result<void> check_place(const PlaceTarget& target, const PlaceValue& value) const;
  const Memory& memory() const { return std::as_const(instance_).memory(); }
  void take(uint32_t operation, const PreparedLaunch& launch, const uint8_t* kernarg) noexcept;
  void take(uint32_t operation, const PreparedCopy& copy) noexcept;
  void take(uint32_t operation, const PreparedMemset& memset) noexcept;
  void operation_changed(uint32_t operation) noexcept;
  void arguments_changed(uint32_t operation) noexcept {
    executor_->arguments_changed(operation);
    ++changes_;
  }
  void note_resized(uint32_t operation) noexcept;

  Instance& instance_;
  PreparedOperations& prepared_;  // of the instance
  const Program& program_;
  Executor* executor_ = nullptr;  // of the step
  uint64_t changes_ = 0;
  // Launches whose new sizes check_resized() has not accepted yet; by operation, and as a list.
  std::vector<bool> is_resized_;
  std::vector<uint32_t> resized_;
};

}  // namespace gfxgraph::replayer
