// The C ABI over the classes of this folder. No exception and no C++ type passes it.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "gfxgraph/gfxgraph.h"
#include "replayer/c_api_internal.h"
#include "replayer/program.h"
#include "replayer/step.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

struct gfxgraph_trace_s {
  std::shared_ptr<const format::Trace> trace;
  std::shared_ptr<const Program> program;
};
struct gfxgraph_plan_s {
  std::shared_ptr<const Program> program;
  std::vector<Binding> bindings;
};
struct gfxgraph_replay_s {
  std::unique_ptr<Step> replay;
};

namespace {

thread_local std::string last_message;
thread_local const char* last_error = "";  // last_message's text, or one that needs no memory

gfxgraph_status_t record(Status status, std::string_view message) noexcept {
  try {
    last_message = message;
    last_error = last_message.c_str();
  } catch (...) {
    last_error = "out of host memory";
  }
  return static_cast<gfxgraph_status_t>(status);
}

// The body of every function: Result and the standard library's exceptions become a status.
template <typename Body>
gfxgraph_status_t guarded(Body&& body) noexcept {
  try {
    const Result<void> result = body();
    if (result) return GFXGRAPH_OK;
    return record(result.error().status, result.error().message);
  } catch (const std::bad_alloc&) {
    return record(Status::kOutOfMemory, "out of host memory");
  } catch (const std::length_error&) {
    return record(Status::kOutOfMemory, "a size in the trace is beyond host memory");
  } catch (const std::exception& exception) {
    return record(Status::kInternal, exception.what());
  } catch (...) {
    return record(Status::kInternal, "unknown exception");
  }
}

Result<void> require(bool condition, const char* what) {
  if (condition) return {};
  return fail(Status::kInvalidArgument, what);
}

// The caller's structure may be older (shorter) or newer (longer) than ours.
template <typename Structure>
Result<void> write_out(const Structure& ours, Structure* theirs) {
  if (theirs == nullptr || theirs->struct_size < sizeof(uint32_t) * 2) {
    return fail(Status::kInvalidArgument,
                "the result structure is null or its struct_size is not set");
  }
  const uint32_t size = theirs->struct_size;
  std::memcpy(theirs, &ours, std::min<size_t>(size, sizeof(Structure)));
  theirs->struct_size = size;
  return {};
}

template <typename Structure>
Result<Structure> read_in(const Structure* theirs, Structure defaults) {
  if (theirs == nullptr) return defaults;
  if (theirs->struct_size < sizeof(uint32_t) || theirs->struct_size > 4096) {
    return fail(Status::kInvalidArgument,
                "the options' struct_size is not set: begin with the _default() function");
  }
  std::memcpy(&defaults, theirs, std::min<size_t>(theirs->struct_size, sizeof(Structure)));
  return defaults;
}

std::mutex library_mutex;
std::shared_ptr<const HipLibrary> library_for_tests;

// Found again at each load: a process may bring its own runtime later than this library.
Result<std::shared_ptr<const HipLibrary>> hip_library() {
  {
    const std::lock_guard lock(library_mutex);
    if (library_for_tests) return library_for_tests;
  }
  return HipLibrary::load();
}

uint64_t operation_limit(const gfxgraph_trace_options_t& options) {
  return options.max_operations == 0 ? kDefaultMaxOperations : options.max_operations;
}

Result<void> finish_trace(Result<std::shared_ptr<const format::Trace>> opened,
                          uint64_t max_operations, gfxgraph_trace_t* trace) {
  if (!opened) return tl::unexpected<Error>(opened.error());
  auto handle = std::make_unique<gfxgraph_trace_s>();
  handle->trace = std::move(*opened);
  GFXGRAPH_ASSIGN_OR_RETURN(handle->program, Program::build(handle->trace, max_operations));
  *trace = handle.release();
  return {};
}

Result<const Operation*> find_launch(gfxgraph_trace_t trace, uint32_t launch) {
  GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
  if (launch >= trace->program->launch_count()) {
    return fail(Status::kNotFound, fmt::format("launch {} does not exist: the trace has {}", launch,
                                               trace->program->launch_count()));
  }
  return &trace->program->operations()[trace->program->launch_operation(launch)];
}

Result<const format::Kernel*> find_kernel(gfxgraph_trace_t trace, uint32_t kernel) {
  GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
  if (kernel >= trace->trace->kernels().size()) {
    return fail(Status::kNotFound, fmt::format("kernel {} does not exist: the trace has {}", kernel,
                                               trace->trace->kernels().size()));
  }
  return &trace->trace->kernels()[kernel];
}

}  // namespace

namespace gfxgraph::replayer {

void use_hip_library_for_tests(std::shared_ptr<const HipLibrary> library) {
  const std::lock_guard lock(library_mutex);
  library_for_tests = std::move(library);
}

}  // namespace gfxgraph::replayer

extern "C" {

const char* gfxgraph_status_name(gfxgraph_status_t status) noexcept {
  return status_name(static_cast<Status>(status));
}
const char* gfxgraph_last_error(void) noexcept { return last_error; }
const char* gfxgraph_version(void) noexcept { return GFXGRAPH_VERSION_TEXT; }

// ---- trace ----

gfxgraph_trace_options_t gfxgraph_trace_options_default(void) noexcept {
  return gfxgraph_trace_options_t{sizeof(gfxgraph_trace_options_t), 0, 0};
}

gfxgraph_status_t gfxgraph_trace_open(const char* path, const gfxgraph_trace_options_t* options,
                                      gfxgraph_trace_t* trace) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(path != nullptr && trace != nullptr, "path or trace is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_trace_options_t chosen,
                              read_in(options, gfxgraph_trace_options_default()));
    return finish_trace(format::Trace::open(path, format::ReadOptions{chosen.allow_torn != 0}),
                        operation_limit(chosen), trace);
  });
}

gfxgraph_status_t gfxgraph_trace_open_memory(const void* bytes, size_t size_bytes,
                                             const gfxgraph_trace_options_t* options,
                                             gfxgraph_trace_t* trace) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require((bytes != nullptr || size_bytes == 0) && trace != nullptr,
                         "bytes or trace is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_trace_options_t chosen,
                              read_in(options, gfxgraph_trace_options_default()));
    return finish_trace(
        format::Trace::from_bytes({static_cast<const std::byte*>(bytes), size_bytes},
                                  format::ReadOptions{chosen.allow_torn != 0}),
        operation_limit(chosen), trace);
  });
}

void gfxgraph_trace_destroy(gfxgraph_trace_t trace) noexcept { delete trace; }

gfxgraph_status_t gfxgraph_trace_environment(gfxgraph_trace_t trace,
                                             gfxgraph_environment_t* environment) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    const format::Environment& recorded = trace->trace->environment();
    gfxgraph_environment_t result{};
    result.emulated = recorded.emulated ? 1 : 0;
    result.gfxgraph_version = recorded.gfxgraph_version.c_str();
    result.gpu_arch = recorded.gpu_arch.c_str();
    result.device_name = recorded.device_name.c_str();
    result.hip_runtime_version = recorded.hip_runtime_version;
    result.sealed = trace->trace->sealed() ? 1 : 0;
    result.complete = trace->trace->sealed() && trace->trace->complete() ? 1 : 0;
    result.launch_count = trace->program->launch_count();
    result.kernel_count = static_cast<uint32_t>(trace->trace->kernels().size());
    result.allocation_count = static_cast<uint32_t>(trace->program->allocations().size());
    return write_out(result, environment);
  });
}

gfxgraph_status_t gfxgraph_trace_kernel(gfxgraph_trace_t trace, uint32_t kernel,
                                        gfxgraph_kernel_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const format::Kernel* const found, find_kernel(trace, kernel));
    gfxgraph_kernel_t result{};
    result.argument_count = static_cast<uint32_t>(found->arguments.size());
    result.name = found->name.c_str();
    result.explicit_size_bytes = found->explicit_size_bytes;
    result.group_segment_bytes = found->group_segment_bytes;
    result.private_segment_bytes = found->private_segment_bytes;
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_argument(gfxgraph_trace_t trace, uint32_t kernel,
                                          uint32_t argument,
                                          gfxgraph_argument_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const format::Kernel* const found, find_kernel(trace, kernel));
    if (argument >= found->arguments.size()) {
      return fail(Status::kNotFound,
                  fmt::format("kernel {} has no argument {}", found->name, argument));
    }
    const format::Argument& recorded = found->arguments[argument];
    gfxgraph_argument_t result{};
    result.offset_bytes = recorded.offset_bytes;
    result.size_bytes = recorded.size_bytes;
    result.is_pointer = recorded.kind == format::ArgumentKind::kGlobalBuffer ? 1 : 0;
    result.is_hidden = recorded.kind == format::ArgumentKind::kHidden ? 1 : 0;
    result.name = recorded.name.c_str();
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_launch(gfxgraph_trace_t trace, uint32_t launch,
                                        gfxgraph_launch_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Operation* const operation, find_launch(trace, launch));
    const format::Launch& recorded = *operation->launch;
    gfxgraph_launch_t result{};
    result.kernel = recorded.kernel - 1;
    std::copy(recorded.grid.begin(), recorded.grid.end(), result.grid);
    std::copy(recorded.block.begin(), recorded.block.end(), result.block);
    result.dynamic_lds_bytes = recorded.dynamic_lds_bytes;
    result.stream = operation->stream;
    result.kernarg_size_bytes = static_cast<uint32_t>(recorded.kernarg.size());
    result.relocation_count = static_cast<uint32_t>(recorded.relocations.size());
    result.kernarg = recorded.kernarg.data();
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_relocation(gfxgraph_trace_t trace, uint32_t launch,
                                            uint32_t relocation,
                                            gfxgraph_relocation_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Operation* const operation, find_launch(trace, launch));
    if (relocation >= operation->launch->relocations.size()) {
      return fail(Status::kNotFound,
                  fmt::format("launch {} has no relocation {}", launch, relocation));
    }
    const format::Relocation& recorded = operation->launch->relocations[relocation];
    gfxgraph_relocation_t result{};
    result.offset_bytes = static_cast<uint32_t>(recorded.offset_bytes);
    result.allocation = recorded.allocation;
    result.source = static_cast<uint32_t>(recorded.source);
    result.ambiguous = recorded.ambiguous ? 1 : 0;
    result.addend_bytes = static_cast<uint64_t>(recorded.addend);
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_allocation(gfxgraph_trace_t trace, uint32_t allocation,
                                            gfxgraph_allocation_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    const std::vector<AllocationInfo>& all = trace->program->allocations();
    if (allocation == 0 || allocation > all.size() || all[allocation - 1].begin == nullptr) {
      return fail(Status::kNotFound, fmt::format("allocation {} does not exist", allocation));
    }
    const AllocationInfo& info = all[allocation - 1];
    gfxgraph_allocation_t result{};
    result.kind = static_cast<uint32_t>(info.begin->kind);
    result.size_bytes = info.begin->size_bytes;
    result.recorded_address = info.begin->recorded_address;
    result.begin_sequence = info.begin_sequence;
    result.end_sequence = info.end == nullptr ? UINT64_MAX : info.end_sequence;
    result.post_state_known =
        info.end != nullptr && (info.end->post.stored || info.end->post.hash) ? 1 : 0;
    result.initial_state_unknown = info.begin->initial.stored ? 0 : 1;
    result.symbol = info.begin->symbol.c_str();
    result.name = info.name.c_str();
    result.name_source = static_cast<uint32_t>(info.name_source);
    return write_out(result, description);
  });
}

// ---- plan ----

gfxgraph_plan_options_t gfxgraph_plan_options_default(void) noexcept {
  return gfxgraph_plan_options_t{sizeof(gfxgraph_plan_options_t), 0};
}

gfxgraph_status_t gfxgraph_plan_create(gfxgraph_trace_t trace,
                                       const gfxgraph_plan_options_t* options,
                                       gfxgraph_plan_t* plan) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr && plan != nullptr, "trace or plan is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_plan_options_t chosen,
                              read_in(options, gfxgraph_plan_options_default()));
    if (chosen.allow_incomplete == 0) GFXGRAPH_TRY(trace->program->check_complete());
    auto handle = std::make_unique<gfxgraph_plan_s>();
    handle->program = trace->program;
    *plan = handle.release();
    return {};
  });
}

void gfxgraph_plan_destroy(gfxgraph_plan_t plan) noexcept { delete plan; }

gfxgraph_status_t gfxgraph_plan_bind(gfxgraph_plan_t plan, uint32_t allocation, void* pointer,
                                     uint64_t size_bytes, uint32_t flags) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(plan != nullptr, "plan is null"));
    GFXGRAPH_TRY(require((flags & ~GFXGRAPH_BIND_KEEP_CONTENT) == 0,
                         "unknown flags for gfxgraph_plan_bind"));
    const Binding binding{allocation, pointer, size_bytes,
                          (flags & GFXGRAPH_BIND_KEEP_CONTENT) != 0};
    GFXGRAPH_TRY(check_binding(*plan->program, binding));
    std::erase_if(plan->bindings,
                  [&](const Binding& other) { return other.allocation == allocation; });
    plan->bindings.push_back(binding);
    return {};
  });
}

// ---- replay ----

gfxgraph_replay_options_t gfxgraph_replay_options_default(void) noexcept {
  return gfxgraph_replay_options_t{sizeof(gfxgraph_replay_options_t),
                                   GFXGRAPH_MODE_AUTO,
                                   GFXGRAPH_LAYOUT_SAME,
                                   -1,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0};
}

gfxgraph_status_t gfxgraph_replay_create(gfxgraph_plan_t plan,
                                         const gfxgraph_replay_options_t* options,
                                         gfxgraph_replay_t* replay) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(plan != nullptr && replay != nullptr, "plan or replay is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_replay_options_t chosen,
                              read_in(options, gfxgraph_replay_options_default()));
    GFXGRAPH_TRY(require(chosen.mode >= GFXGRAPH_MODE_EAGER && chosen.mode <= GFXGRAPH_MODE_AUTO,
                         "unknown mode"));
    GFXGRAPH_TRY(
        require(chosen.layout == GFXGRAPH_LAYOUT_SAME || chosen.layout == GFXGRAPH_LAYOUT_SHIFT,
                "unknown layout"));
    LoadOptions load;
    load.mode = static_cast<Mode>(chosen.mode);
    load.layout = static_cast<Layout>(chosen.layout);
    load.device = chosen.device;
    load.graph_max_nodes = chosen.graph_max_nodes;
    load.graph_linear = chosen.graph_linear != 0;
    load.keep_ambiguous = chosen.keep_ambiguous != 0;
    load.zero_unknown = chosen.zero_unknown != 0;
    load.poison_fresh = chosen.poison_fresh != 0;
    load.max_load_seconds = chosen.max_load_seconds;
    load.max_memory_bytes = chosen.max_memory_bytes;
    load.bindings = plan->bindings;
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> library, hip_library());
    auto handle = std::make_unique<gfxgraph_replay_s>();
    GFXGRAPH_ASSIGN_OR_RETURN(handle->replay, Step::load(plan->program, std::move(library), load));
    *replay = handle.release();
    return {};
  });
}

void gfxgraph_replay_destroy(gfxgraph_replay_t replay) noexcept { delete replay; }

gfxgraph_status_t gfxgraph_replay_set_stream(gfxgraph_replay_t replay, void* hip_stream) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr, "replay is null"));
    replay->replay->set_stream(hip_stream);
    return {};
  });
}

#define GFXGRAPH_REPLAY_CALL(name)                                              \
  gfxgraph_status_t gfxgraph_replay_##name(gfxgraph_replay_t replay) noexcept { \
    return guarded([&]() -> Result<void> {                                      \
      GFXGRAPH_TRY(require(replay != nullptr, "replay is null"));               \
      return replay->replay->name();                                            \
    });                                                                         \
  }
GFXGRAPH_REPLAY_CALL(run)
GFXGRAPH_REPLAY_CALL(wait)
GFXGRAPH_REPLAY_CALL(restore)
GFXGRAPH_REPLAY_CALL(commit)
#undef GFXGRAPH_REPLAY_CALL

gfxgraph_status_t gfxgraph_replay_set_kernarg(gfxgraph_replay_t replay, uint32_t launch,
                                              uint32_t offset_bytes, const void* bytes,
                                              uint32_t size_bytes) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr && (bytes != nullptr || size_bytes == 0),
                         "replay or bytes is null"));
    return replay->replay->set_kernarg(launch, offset_bytes,
                                       {static_cast<const std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_replay_read(gfxgraph_replay_t replay, uint32_t allocation,
                                       uint64_t offset_bytes, void* bytes,
                                       uint64_t size_bytes) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr && (bytes != nullptr || size_bytes == 0),
                         "replay or bytes is null"));
    GFXGRAPH_TRY(replay->replay->wait());
    return replay->replay->instance().memory().read(allocation, offset_bytes,
                                                    {static_cast<std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_replay_write(gfxgraph_replay_t replay, uint32_t allocation,
                                        uint64_t offset_bytes, const void* bytes,
                                        uint64_t size_bytes) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr && (bytes != nullptr || size_bytes == 0),
                         "replay or bytes is null"));
    GFXGRAPH_TRY(replay->replay->wait());
    return replay->replay->instance().memory().write(
        allocation, offset_bytes, {static_cast<const std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_replay_address(gfxgraph_replay_t replay, uint32_t allocation,
                                          void** address) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr && address != nullptr, "replay or address is null"));
    const Memory& memory = replay->replay->instance().memory();
    if (!memory.exists(allocation))
      return fail(Status::kNotFound, fmt::format("allocation {} does not exist", allocation));
    *address = memory.device_pointer(allocation);
    return {};
  });
}

gfxgraph_status_t gfxgraph_replay_verify(gfxgraph_replay_t replay,
                                         gfxgraph_verification_t* verification,
                                         gfxgraph_buffer_result_t* results, uint32_t capacity,
                                         uint32_t result_size_bytes) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr, "replay is null"));
    GFXGRAPH_TRY(require(results == nullptr || result_size_bytes >= sizeof(uint32_t) * 4,
                         "result_size_bytes is not sizeof(gfxgraph_buffer_result_t)"));
    GFXGRAPH_ASSIGN_OR_RETURN(const VerifyReport report, replay->replay->verify());
    gfxgraph_verification_t result{};
    result.identical = static_cast<uint32_t>(report.identical);
    result.different = static_cast<uint32_t>(report.different);
    result.uncompared = static_cast<uint32_t>(report.uncompared);
    result.copies_identical = static_cast<uint32_t>(report.copies_identical);
    result.copies_different = static_cast<uint32_t>(report.copies_different);
    result.copies_uncompared = static_cast<uint32_t>(report.copies_uncompared);
    GFXGRAPH_TRY(write_out(result, verification));
    auto* out = reinterpret_cast<unsigned char*>(results);
    for (size_t i = 0; results != nullptr && i < std::min<size_t>(capacity, report.buffers.size());
         ++i) {
      const BufferResult& buffer = report.buffers[i];
      const gfxgraph_buffer_result_t entry{
          result_size_bytes,        buffer.allocation, static_cast<uint32_t>(buffer.comparison),
          buffer.by_hash ? 1u : 0u, buffer.size_bytes, buffer.first_difference,
          buffer.differing_bytes,   buffer.expected,   buffer.got};
      std::memcpy(out + i * result_size_bytes, &entry,
                  std::min<size_t>(result_size_bytes, sizeof(entry)));
    }
    if (report.different == 0 && report.copies_different == 0) return {};
    return fail(
        Status::kMismatch,
        fmt::format("{} of {} buffers and {} of {} received copies differ from the recording",
                    report.different, report.buffers.size(), report.copies_different,
                    report.copies.size()));
  });
}

gfxgraph_status_t gfxgraph_replay_info(gfxgraph_replay_t replay,
                                       gfxgraph_replay_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(replay != nullptr, "replay is null"));
    const Step& loaded = *replay->replay;
    const GraphStatistics graph = loaded.graph_statistics();
    gfxgraph_replay_info_t result{};
    result.mode = static_cast<gfxgraph_mode_t>(loaded.mode());
    result.mode_reason = loaded.mode_reason().c_str();
    result.device_name = loaded.instance().device().name.c_str();
    result.gpu_arch = loaded.instance().device().arch.c_str();
    result.hip_library = loaded.instance().library().path().c_str();
    result.hip_runtime_version = loaded.instance().library().runtime_version();
    result.graphs = graph.graphs;
    result.graph_nodes = graph.nodes;
    result.load_us = loaded.load_times().load_us;
    result.restore_us = loaded.load_times().restore_us;
    result.build_us = loaded.load_times().build_us;
    result.instantiate_us = loaded.load_times().instantiate_us;
    return write_out(result, info);
  });
}

}  // extern "C"
