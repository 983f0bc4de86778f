// C++17 over gfxgraph.h: handles that destroy themselves, failures as exceptions. Header-only.
#pragma once

#include <gfxgraph/gfxgraph.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace gfxgraph {

// A failed call: what() is gfxgraph_last_error().
class Failure : public std::runtime_error {
 public:
  Failure(gfxgraph_status_t status, const char* text) : std::runtime_error(text), status_(status) {}
  gfxgraph_status_t status() const noexcept { return status_; }

 private:
  gfxgraph_status_t status_;
};

namespace detail {

inline void check(gfxgraph_status_t status) {
  if (status != GFXGRAPH_OK) throw Failure(status, gfxgraph_last_error());
}

template <typename Description>
Description sized() {
  Description description{};
  description.struct_size = static_cast<uint32_t>(sizeof(Description));
  return description;
}

template <typename Handle, void (*Destroy)(Handle) GFXGRAPH_NOEXCEPT>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { Destroy(handle); }
};

}  // namespace detail

// An opened trace. Copies of its texts and bytes are valid as long as it.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path, bool allow_torn = false) {
    gfxgraph_trace_options_t options = gfxgraph_trace_options_default();
    options.allow_torn = allow_torn ? 1 : 0;
    gfxgraph_trace_t handle = nullptr;
    detail::check(gfxgraph_trace_open(path.c_str(), &options, &handle));
    handle_.reset(handle);
  }

  gfxgraph_environment_t environment() const {
    auto result = detail::sized<gfxgraph_environment_t>();
    detail::check(gfxgraph_trace_environment(get(), &result));
    return result;
  }
  gfxgraph_kernel_t kernel(uint32_t index) const {
    auto result = detail::sized<gfxgraph_kernel_t>();
    detail::check(gfxgraph_trace_kernel(get(), index, &result));
    return result;
  }
  gfxgraph_argument_t argument(uint32_t kernel, uint32_t index) const {
    auto result = detail::sized<gfxgraph_argument_t>();
    detail::check(gfxgraph_trace_argument(get(), kernel, index, &result));
    return result;
  }
  gfxgraph_launch_t launch(uint32_t index) const {
    auto result = detail::sized<gfxgraph_launch_t>();
    detail::check(gfxgraph_trace_launch(get(), index, &result));
    return result;
  }
  gfxgraph_relocation_t relocation(uint32_t launch, uint32_t index) const {
    auto result = detail::sized<gfxgraph_relocation_t>();
    detail::check(gfxgraph_trace_relocation(get(), launch, index, &result));
    return result;
  }
  gfxgraph_allocation_t allocation(uint32_t id) const {
    auto result = detail::sized<gfxgraph_allocation_t>();
    detail::check(gfxgraph_trace_allocation(get(), id, &result));
    return result;
  }

  gfxgraph_trace_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_trace_s, detail::Destroyer<gfxgraph_trace_t, gfxgraph_trace_destroy>>
      handle_;
};

// What will run, with the caller's buffers in it. Needs no device.
class Plan {
 public:
  explicit Plan(const TraceFile& trace, bool allow_incomplete = false) {
    gfxgraph_plan_options_t options = gfxgraph_plan_options_default();
    options.allow_incomplete = allow_incomplete ? 1 : 0;
    gfxgraph_plan_t handle = nullptr;
    detail::check(gfxgraph_plan_create(trace.get(), &options, &handle));
    handle_.reset(handle);
  }

  // The buffer must stay valid as long as the replays made from this plan.
  Plan& bind(uint32_t allocation, void* pointer, uint64_t size_bytes, uint32_t flags = 0) {
    detail::check(gfxgraph_plan_bind(get(), allocation, pointer, size_bytes, flags));
    return *this;
  }

  gfxgraph_plan_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_plan_s, detail::Destroyer<gfxgraph_plan_t, gfxgraph_plan_destroy>>
      handle_;
};

// A plan loaded onto the calling thread's HIP device.
class Replay {
 public:
  explicit Replay(const Plan& plan,
                  const gfxgraph_replay_options_t& options = gfxgraph_replay_options_default()) {
    gfxgraph_replay_t handle = nullptr;
    detail::check(gfxgraph_replay_create(plan.get(), &options, &handle));
    handle_.reset(handle);
  }

  void set_stream(void* hip_stream) {
    detail::check(gfxgraph_replay_set_stream(get(), hip_stream));
  }
  void run() { detail::check(gfxgraph_replay_run(get())); }
  void wait() { detail::check(gfxgraph_replay_wait(get())); }
  void restore() { detail::check(gfxgraph_replay_restore(get())); }
  void commit() { detail::check(gfxgraph_replay_commit(get())); }

  void set_kernarg(uint32_t launch, uint32_t offset_bytes, const void* bytes, uint32_t size_bytes) {
    detail::check(gfxgraph_replay_set_kernarg(get(), launch, offset_bytes, bytes, size_bytes));
  }
  template <typename Value>
  void set_argument(uint32_t launch, uint32_t offset_bytes, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    set_kernarg(launch, offset_bytes, &value, static_cast<uint32_t>(sizeof(value)));
  }

  void read(uint32_t allocation, uint64_t offset_bytes, void* bytes, uint64_t size_bytes) const {
    detail::check(gfxgraph_replay_read(get(), allocation, offset_bytes, bytes, size_bytes));
  }
  void write(uint32_t allocation, uint64_t offset_bytes, const void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_replay_write(get(), allocation, offset_bytes, bytes, size_bytes));
  }
  void* address(uint32_t allocation) const {
    void* address = nullptr;
    detail::check(gfxgraph_replay_address(get(), allocation, &address));
    return address;
  }

  // Differences are a result here, not an exception.
  gfxgraph_verification_t verify(std::vector<gfxgraph_buffer_result_t>* buffers = nullptr) {
    auto result = detail::sized<gfxgraph_verification_t>();
    gfxgraph_status_t status = gfxgraph_replay_verify(get(), &result, nullptr, 0, 0);
    if (buffers != nullptr && (status == GFXGRAPH_OK || status == GFXGRAPH_MISMATCH)) {
      buffers->resize(size_t{result.identical} + result.different + result.uncompared);
      status = gfxgraph_replay_verify(get(), &result, buffers->data(),
                                      static_cast<uint32_t>(buffers->size()),
                                      static_cast<uint32_t>(sizeof(gfxgraph_buffer_result_t)));
    }
    if (status != GFXGRAPH_MISMATCH) detail::check(status);
    return result;
  }

  gfxgraph_replay_info_t info() const {
    auto result = detail::sized<gfxgraph_replay_info_t>();
    detail::check(gfxgraph_replay_info(get(), &result));
    return result;
  }

  gfxgraph_replay_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_replay_s, detail::Destroyer<gfxgraph_replay_t, gfxgraph_replay_destroy>>
      handle_;
};

}  // namespace gfxgraph
