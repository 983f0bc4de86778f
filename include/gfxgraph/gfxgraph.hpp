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
  Failure(gfxgraph_status_t status, const char* text)
      : std::runtime_error(text), status_(status), hip_error_(gfxgraph_last_hip_error()) {}
  gfxgraph_status_t status() const noexcept { return status_; }
  int32_t hip_error() const noexcept { return hip_error_; }  // hipError_t; 0: not from HIP

 private:
  gfxgraph_status_t status_;
  int32_t hip_error_;
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

// Calls a C function that fills a description.
template <typename Description, typename Function, typename... Arguments>
Description described(Function function, Arguments... arguments) {
  auto description = sized<Description>();
  check(function(arguments..., &description));
  return description;
}

template <typename Handle, void (*Destroy)(Handle) GFXGRAPH_NOEXCEPT>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { Destroy(handle); }
};

}  // namespace detail

// An opened trace. Strings and bytes that it returns are valid as long as it lives.
class Trace {
 public:
  explicit Trace(const std::string& path,
                 const gfxgraph_trace_options_t& options = gfxgraph_trace_options_default()) {
    gfxgraph_trace_t handle = nullptr;
    detail::check(gfxgraph_trace_open(path.c_str(), &options, &handle));
    handle_.reset(handle);
  }
  // The descriptor may be closed afterwards.
  static Trace from_descriptor(
      int descriptor, const gfxgraph_trace_options_t& options = gfxgraph_trace_options_default()) {
    gfxgraph_trace_t handle = nullptr;
    detail::check(gfxgraph_trace_open_descriptor(descriptor, &options, &handle));
    return Trace(handle);
  }
  // The bytes are not copied: they must begin at a multiple of 64 and stay valid.
  static Trace from_memory(
      const void* bytes, size_t size_bytes,
      const gfxgraph_trace_options_t& options = gfxgraph_trace_options_default()) {
    gfxgraph_trace_t handle = nullptr;
    detail::check(gfxgraph_trace_open_memory(bytes, size_bytes, &options, &handle));
    return Trace(handle);
  }

  // Takes a handle over.
  static Trace own(gfxgraph_trace_t handle) { return Trace(handle); }
  // gfxgraph_trace_save, of a captured one.
  void save(const std::string& path) const {
    detail::check(gfxgraph_trace_save(get(), path.c_str()));
  }

  gfxgraph_environment_t environment() const {
    return detail::described<gfxgraph_environment_t>(gfxgraph_trace_environment, get());
  }
  gfxgraph_kernel_t kernel(uint32_t index) const {
    return detail::described<gfxgraph_kernel_t>(gfxgraph_trace_kernel, get(), index);
  }
  gfxgraph_argument_t argument(uint32_t kernel, uint32_t index) const {
    return detail::described<gfxgraph_argument_t>(gfxgraph_trace_argument, get(), kernel, index);
  }
  gfxgraph_launch_t launch(uint32_t index) const {
    return detail::described<gfxgraph_launch_t>(gfxgraph_trace_launch, get(), index);
  }
  gfxgraph_relocation_t relocation(uint32_t launch, uint32_t index) const {
    return detail::described<gfxgraph_relocation_t>(gfxgraph_trace_relocation, get(), launch,
                                                    index);
  }
  gfxgraph_buffer_t buffer(uint32_t id) const {
    return detail::described<gfxgraph_buffer_t>(gfxgraph_trace_buffer, get(), id);
  }

  gfxgraph_range_t find_range(const std::string& name) const {
    gfxgraph_range_t range = 0;
    detail::check(gfxgraph_trace_find_range(get(), name.c_str(), &range));
    return range;
  }
  gfxgraph_range_info_t range(gfxgraph_range_t range) const {
    return detail::described<gfxgraph_range_info_t>(gfxgraph_trace_range, get(), range);
  }
  uint32_t find_buffer(const std::string& name, gfxgraph_range_t range = GFXGRAPH_RANGE_ALL) const {
    return found(gfxgraph_trace_find_buffer, range, name);
  }
  uint32_t find_parameter(gfxgraph_range_t range, const std::string& name) const {
    return found(gfxgraph_trace_find_parameter, range, name);
  }
  uint32_t name_parameter(gfxgraph_range_t range, const std::string& name, int64_t step,
                          const std::vector<gfxgraph_place_t>& places) {
    uint32_t parameter = 0;
    detail::check(gfxgraph_trace_name_parameter(get(), range, name.c_str(), step, places.data(),
                                                static_cast<uint32_t>(places.size()), &parameter));
    return parameter;
  }
  uint32_t find_input(gfxgraph_range_t range, const std::string& name) const {
    return found(gfxgraph_trace_find_input, range, name);
  }
  uint32_t find_output(gfxgraph_range_t range, const std::string& name) const {
    return found(gfxgraph_trace_find_output, range, name);
  }
  std::vector<gfxgraph_parameter_t> parameters(gfxgraph_range_t range) const {
    return all<gfxgraph_parameter_t>(gfxgraph_trace_parameter_count, gfxgraph_trace_parameter,
                                     range);
  }
  std::vector<gfxgraph_transfer_t> inputs(gfxgraph_range_t range) const {
    return all<gfxgraph_transfer_t>(gfxgraph_trace_input_count, gfxgraph_trace_input, range);
  }
  std::vector<gfxgraph_transfer_t> outputs(gfxgraph_range_t range) const {
    return all<gfxgraph_transfer_t>(gfxgraph_trace_output_count, gfxgraph_trace_output, range);
  }

  gfxgraph_trace_t get() const noexcept { return handle_.get(); }

 private:
  explicit Trace(gfxgraph_trace_t handle) : handle_(handle) {}
  template <typename Find>
  uint32_t found(Find find, gfxgraph_range_t range, const std::string& name) const {
    uint32_t index = 0;
    detail::check(find(get(), range, name.c_str(), &index));
    return index;
  }
  template <typename Description, typename Count, typename Describe>
  std::vector<Description> all(Count count, Describe describe, gfxgraph_range_t range) const {
    uint32_t size = 0;
    detail::check(count(get(), range, &size));
    std::vector<Description> list;
    list.reserve(size);
    for (uint32_t i = 0; i < size; ++i)
      list.push_back(detail::described<Description>(describe, get(), range, i));
    return list;
  }
  std::unique_ptr<gfxgraph_trace_s, detail::Destroyer<gfxgraph_trace_t, gfxgraph_trace_destroy>>
      handle_;
};

// A step that this program captures (gfxgraph/capture.h). Given up unless it is ended.
class Capture {
 public:
  explicit Capture(void* hip_stream,
                   const gfxgraph_capture_options_t& options = gfxgraph_capture_options_default()) {
    gfxgraph_capture_t handle = nullptr;
    detail::check(gfxgraph_capture_begin(hip_stream, &options, &handle));
    handle_.reset(handle);
  }

  void pause() { detail::check(gfxgraph_capture_pause(get())); }
  void resume() { detail::check(gfxgraph_capture_resume(get())); }
  void border(const std::string& name) {
    detail::check(gfxgraph_capture_break(get(), name.c_str()));
  }
  uint32_t launches() const {
    uint32_t count = 0;
    detail::check(gfxgraph_capture_launches(get(), &count));
    return count;
  }
  Trace end() {
    gfxgraph_trace_t trace = nullptr;
    detail::check(gfxgraph_capture_end(handle_.release(), &trace));
    return Trace::own(trace);
  }

  gfxgraph_capture_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_capture_s,
                  detail::Destroyer<gfxgraph_capture_t, gfxgraph_capture_abandon>>
      handle_;
};

// A trace on a HIP device: modules and memory once, for all steps.
class Session {
 public:
  explicit Session(const Trace& trace,
                   const gfxgraph_session_options_t& options = gfxgraph_session_options_default()) {
    gfxgraph_session_t handle = nullptr;
    detail::check(gfxgraph_session_create(trace.get(), &options, &handle));
    handle_.reset(handle);
  }

  // The memory must stay valid as long as the session and its steps.
  Session& bind(uint32_t buffer, void* pointer, uint64_t size_bytes, uint32_t flags = 0) {
    detail::check(gfxgraph_session_bind(get(), buffer, pointer, size_bytes, flags));
    return *this;
  }
  void load() { detail::check(gfxgraph_session_load(get())); }
  void read(uint32_t buffer, uint64_t offset_bytes, void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_session_read(get(), buffer, offset_bytes, bytes, size_bytes));
  }
  void write(uint32_t buffer, uint64_t offset_bytes, const void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_session_write(get(), buffer, offset_bytes, bytes, size_bytes));
  }
  void* address(uint32_t buffer) {
    void* address = nullptr;
    detail::check(gfxgraph_session_address(get(), buffer, &address));
    return address;
  }
  gfxgraph_session_info_t info() const {
    return detail::described<gfxgraph_session_info_t>(gfxgraph_session_info, get());
  }

  gfxgraph_session_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_session_s,
                  detail::Destroyer<gfxgraph_session_t, gfxgraph_session_destroy>>
      handle_;
};

// A range of the session's trace, prepared in one mode.
class Step {
 public:
  Step(const Session& session, gfxgraph_range_t range = GFXGRAPH_RANGE_ALL,
       const gfxgraph_step_options_t& options = gfxgraph_step_options_default()) {
    gfxgraph_step_t handle = nullptr;
    detail::check(gfxgraph_step_create(session.get(), range, &options, &handle));
    handle_.reset(handle);
  }
  Step(const Session& session, gfxgraph_range_t range, gfxgraph_mode_t mode)
      : Step(session, range, with_mode(mode)) {}

  void* stream() const {
    void* stream = nullptr;
    detail::check(gfxgraph_step_stream(get(), &stream));
    return stream;
  }
  void run(void* hip_stream) { detail::check(gfxgraph_step_run(get(), hip_stream)); }
  void run_unfenced(void* hip_stream) {
    detail::check(gfxgraph_step_run_unfenced(get(), hip_stream));
  }
  bool is_complete() {
    const gfxgraph_status_t status = gfxgraph_step_query(get());
    if (status != GFXGRAPH_NOT_READY) detail::check(status);
    return status == GFXGRAPH_OK;
  }
  void wait() { detail::check(gfxgraph_step_wait(get())); }
  void restore() { detail::check(gfxgraph_step_restore(get())); }
  void commit() { detail::check(gfxgraph_step_commit(get())); }

  void set_parameter(uint32_t parameter, int64_t number) {
    detail::check(gfxgraph_step_set_parameter(get(), parameter, number));
  }
  void set_parameter(uint32_t parameter, uint32_t buffer, uint64_t offset_bytes) {
    detail::check(gfxgraph_step_set_parameter_address(get(), parameter, buffer, offset_bytes));
  }
  void advance(uint64_t iterations) { detail::check(gfxgraph_step_advance(get(), iterations)); }
  template <typename Value>
  void set_argument(uint32_t launch, uint32_t offset_bytes, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    detail::check(gfxgraph_step_set_argument(get(), launch, offset_bytes, &value,
                                             static_cast<uint32_t>(sizeof(value))));
  }
  void set_grid(uint32_t launch, uint32_t x, uint32_t y = 1, uint32_t z = 1) {
    detail::check(gfxgraph_step_set_grid(get(), launch, x, y, z));
  }
  void set_input(uint32_t input, const void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_step_set_input(get(), input, bytes, size_bytes));
  }
  void set_output(uint32_t output, void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_step_set_output(get(), output, bytes, size_bytes));
  }
  void read_output(uint32_t output, void* bytes, uint64_t size_bytes) {
    detail::check(gfxgraph_step_read_output(get(), output, bytes, size_bytes));
  }

  // Returns differences as a result instead of throwing.
  gfxgraph_verification_t verify(std::vector<gfxgraph_buffer_result_t>* buffers = nullptr) {
    auto result = detail::sized<gfxgraph_verification_t>();
    gfxgraph_status_t status = gfxgraph_step_verify(get(), &result, nullptr, 0, 0);
    if (buffers != nullptr && (status == GFXGRAPH_OK || status == GFXGRAPH_MISMATCH)) {
      buffers->resize(size_t{result.identical} + result.different + result.uncompared);
      status = gfxgraph_step_verify(get(), &result, buffers->data(),
                                    static_cast<uint32_t>(buffers->size()),
                                    static_cast<uint32_t>(sizeof(gfxgraph_buffer_result_t)));
    }
    if (status != GFXGRAPH_MISMATCH) detail::check(status);
    return result;
  }
  gfxgraph_step_info_t info() const {
    return detail::described<gfxgraph_step_info_t>(gfxgraph_step_info, get());
  }

  gfxgraph_step_t get() const noexcept { return handle_.get(); }

 private:
  static gfxgraph_step_options_t with_mode(gfxgraph_mode_t mode) {
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = mode;
    return options;
  }
  std::unique_ptr<gfxgraph_step_s, detail::Destroyer<gfxgraph_step_t, gfxgraph_step_destroy>>
      handle_;
};

// What several steps of the same work are set to, for one of them to run (gfxgraph/sets.h).
class Sets {
 public:
  explicit Sets(const Step& step, uint64_t max_bytes = 0) {
    gfxgraph_sets_t handle = nullptr;
    detail::check(gfxgraph_sets_create(step.get(), max_bytes, &handle));
    handle_.reset(handle);
  }

  void keep(uint64_t size, const Step& other) {
    detail::check(gfxgraph_sets_keep(get(), size, other.get()));
  }
  uint64_t use(uint64_t size) {
    uint64_t chosen = 0;
    detail::check(gfxgraph_sets_use(get(), size, &chosen));
    return chosen;
  }
  gfxgraph_sets_info_t info() const {
    return detail::described<gfxgraph_sets_info_t>(gfxgraph_sets_info, get());
  }

  gfxgraph_sets_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<gfxgraph_sets_s, detail::Destroyer<gfxgraph_sets_t, gfxgraph_sets_destroy>>
      handle_;
};

}  // namespace gfxgraph
