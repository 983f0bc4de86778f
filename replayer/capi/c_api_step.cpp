// The C ABI of steps.
#include "gfxgraph/order.h"
#include "replayer/capi/c_api_internal.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

gfxgraph_step_s::~gfxgraph_step_s() {
  OnDeviceRelaxed scope(step->instance().library(), step->instance().device().ordinal);
  try {
    (void)scope.enter();
  } catch (...) {  // no memory for an error's text
  }
  step.reset();
}

namespace {

// The body of a function of a step, on its device.
template <typename Body>
gfxgraph_status_t on_step(gfxgraph_step_t step, Body&& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(step != nullptr, "step is null"));
    GFXGRAPH_TRY(require_own(step->made_in));
    OnDevice scope(step->step->instance().library(), step->step->instance().device().ordinal);
    GFXGRAPH_TRY(scope.enter());
    return body(*step->step);
  });
}

// The same for what only sets values, in memory of the host: asking HIP for the device costs more
// than that.
template <typename Body>
gfxgraph_status_t set_in(gfxgraph_step_t step, Body&& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(step != nullptr, "step is null"));
    GFXGRAPH_TRY(require_own(step->made_in));
    return body(*step->step);
  });
}

// One of a list of the step's range.
template <typename Thing>
Result<const Thing*> pick(const gfxgraph_step_s& step, const std::vector<Thing>& all,
                          uint32_t index, const char* what) {
  if (index < all.size()) [[likely]]
    return &all[index];
  return fail(Status::kNotFound, fmt::format("{} {} does not exist: range {} has {}", what, index,
                                             step.range->name, all.size()));
}

// A capture would not have the run's work.
Result<void> require_no_capture() {
  if (!is_capturing()) [[likely]]
    return {};
  return fail(Status::kUnsupported,
              "this thread has a capture open (gfxgraph_capture_begin), which cannot have a run of "
              "another step: nothing was submitted; end the capture, or pause it, before the run");
}

// The caller's function as the step calls it.
BorderCall border_call(const gfxgraph_step_options_t& options) {
  if (options.border == nullptr) return {};
  return [function = options.border, context = options.border_context](const Border& border,
                                                                       uint32_t number) {
    gfxgraph_border_t description{};
    description.struct_size = sizeof description;
    description.kind = static_cast<uint32_t>(border.kind);
    description.number = number;
    description.name = border.name.c_str();
    return function(context, &description);
  };
}

// In place, runs take the place of the program's own calls: what its host did between them is the
// caller's to do.
Result<void> check_borders(const Range& range, bool called) {
  for (const Border& border : range.program->borders()) {
    const auto at = [&] {
      return fmt::format("at event {} of range {} ({})", border.sequence, range.name, border.name);
    };
    if (border.in_graph) {
      return fail(Status::kUnsupported,
                  "a graph that the step launches has a host function, which a run in place cannot "
                  "leave to the caller: " +
                      at());
    }
    if (!called) {
      return fail(Status::kInvalidArgument,
                  fmt::format("the host acted between the work of the step, {}: name a function in "
                              "gfxgraph_step_options_t.border that does its part ({} borders)",
                              at(), range.program->borders().size()));
    }
  }
  return {};
}

gfxgraph_status_t set_parameter(gfxgraph_step_t step, uint32_t parameter,
                                const PlaceValue& value) noexcept {
  return set_in(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const StepParameter* const found,
                              pick(*step, step->range->parameters, parameter, "parameter"));
    return one.values().set(*found, value);
  });
}

}  // namespace

extern "C" {

gfxgraph_step_options_t gfxgraph_step_options_default(void) noexcept {
  gfxgraph_step_options_t options{};
  options.struct_size = sizeof options;
  options.mode = GFXGRAPH_MODE_AUTO;
  return options;
}

gfxgraph_status_t gfxgraph_step_create(gfxgraph_session_t session, gfxgraph_range_t range,
                                       const gfxgraph_step_options_t* options,
                                       gfxgraph_step_t* step) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(session != nullptr && step != nullptr, "session or step is null"));
    GFXGRAPH_TRY(require_own(session->made_in));
    GFXGRAPH_ASSIGN_OR_RETURN(
        const gfxgraph_step_options_t chosen,
        read_in(options, gfxgraph_step_options_default(), "gfxgraph_step_options_t"));
    GFXGRAPH_TRY(require(chosen.mode >= GFXGRAPH_MODE_EAGER && chosen.mode <= GFXGRAPH_MODE_PACKETS,
                         "unknown mode"));
    GFXGRAPH_TRY(require_flags("gfxgraph_step_options_t", {{"graph_linear", chosen.graph_linear},
                                                           {"keep_memory", chosen.keep_memory}}));
    StepOptions prepared;
    prepared.mode = static_cast<Mode>(chosen.mode);
    prepared.graph_max_nodes = chosen.graph_max_nodes;
    prepared.graph_linear = chosen.graph_linear != 0;
    prepared.keep_memory = chosen.keep_memory != 0;
    if (chosen.auto_milliseconds != 0) prepared.auto_seconds = chosen.auto_milliseconds / 1000.0;
    prepared.border = border_call(chosen);
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Range> open, session->open->range(range));
    if (session->options.live != nullptr) {
      GFXGRAPH_TRY(check_borders(*open, chosen.border != nullptr));
    }
    OnDeviceRelaxed scope(*session->library, session->device.ordinal);
    GFXGRAPH_TRY(scope.enter());
    GFXGRAPH_TRY(session->load());
    if (!session->session->has_content()) prepared.keep_memory = false;
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Step> made,
                              Step::prepare(session->session, open->program, prepared));
    *step = std::make_unique<gfxgraph_step_s>(std::move(open), std::move(made)).release();
    return {};
  });
}

void gfxgraph_step_destroy(gfxgraph_step_t step) noexcept {
  if (step != nullptr && !is_inherited(step->made_in)) delete step;
}

gfxgraph_status_t gfxgraph_step_stream(gfxgraph_step_t step, void** hip_stream) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require(hip_stream != nullptr, "hip_stream is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(*hip_stream, one.own_stream());
    return {};
  });
}

gfxgraph_status_t gfxgraph_step_run(gfxgraph_step_t step, void* hip_stream) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require_no_capture());
    one.set_stream(hip_stream);
    return one.run();
  });
}

gfxgraph_status_t gfxgraph_step_run_unfenced(gfxgraph_step_t step, void* hip_stream) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require_no_capture());
    one.set_stream(hip_stream);
    return one.run_unfenced();
  });
}

gfxgraph_status_t gfxgraph_step_query(gfxgraph_step_t step) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool complete, one.is_complete());
    if (complete) return {};
    return fail(Status::kNotReady, "work is in flight");
  });
}

#define GFXGRAPH_STEP_CALL(name)                                          \
  gfxgraph_status_t gfxgraph_step_##name(gfxgraph_step_t step) noexcept { \
    return on_step(step, [](Step& one) { return one.name(); });           \
  }
GFXGRAPH_STEP_CALL(wait)
GFXGRAPH_STEP_CALL(restore)
GFXGRAPH_STEP_CALL(commit)
#undef GFXGRAPH_STEP_CALL

gfxgraph_status_t gfxgraph_step_set_parameter(gfxgraph_step_t step, uint32_t parameter,
                                              int64_t number) noexcept {
  return set_parameter(step, parameter, PlaceValue{0, number});
}

gfxgraph_status_t gfxgraph_step_set_parameter_address(gfxgraph_step_t step, uint32_t parameter,
                                                      uint32_t buffer,
                                                      uint64_t offset_bytes) noexcept {
  if (buffer == 0) {
    return record_error(Status::kNotFound, "buffer 0 does not exist", 0);
  }
  return set_parameter(step, parameter, PlaceValue{buffer, static_cast<int64_t>(offset_bytes)});
}

gfxgraph_status_t gfxgraph_step_advance(gfxgraph_step_t step, uint64_t iterations) noexcept {
  return set_in(step, [&](Step& one) -> Result<void> {
    for (const StepParameter& parameter : step->range->parameters)
      GFXGRAPH_TRY(one.values().set(parameter, parameter.value(iterations)));
    return {};
  });
}

gfxgraph_status_t gfxgraph_step_set_argument(gfxgraph_step_t step, uint32_t launch,
                                             uint32_t offset_bytes, const void* bytes,
                                             uint32_t size_bytes) noexcept {
  return set_in(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require(bytes != nullptr || size_bytes == 0, "bytes is null"));
    return one.values().set_kernarg(launch, offset_bytes,
                                    {static_cast<const std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_step_set_grid(gfxgraph_step_t step, uint32_t launch, uint32_t x,
                                         uint32_t y, uint32_t z) noexcept {
  return set_in(step, [&](Step& one) { return one.values().set_grid(launch, {x, y, z}); });
}

gfxgraph_status_t gfxgraph_step_set_input(gfxgraph_step_t step, uint32_t input, const void* bytes,
                                          uint64_t size_bytes) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require(bytes != nullptr, "bytes is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const Transfer* const found,
                              pick(*step, step->range->inputs, input, "input"));
    return one.set_input(*found, {static_cast<const std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_step_set_output(gfxgraph_step_t step, uint32_t output, void* bytes,
                                           uint64_t size_bytes) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Transfer* const found,
                              pick(*step, step->range->outputs, output, "output"));
    return one.set_output(*found,
                          {static_cast<std::byte*>(bytes), bytes == nullptr ? 0 : size_bytes});
  });
}

gfxgraph_status_t gfxgraph_step_read_output(gfxgraph_step_t step, uint32_t output, void* bytes,
                                            uint64_t size_bytes) noexcept {
  return on_step(step, [&](Step& one) -> Result<void> {
    GFXGRAPH_TRY(require(bytes != nullptr, "bytes is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const Transfer* const found,
                              pick(*step, step->range->outputs, output, "output"));
    return one.read_output(*found, {static_cast<std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_step_verify(gfxgraph_step_t step, gfxgraph_verification_t* verification,
                                       gfxgraph_buffer_result_t* results, uint32_t capacity,
                                       uint32_t result_size_bytes) noexcept {
  return on_step(step, [&](Step&) -> Result<void> {
    GFXGRAPH_TRY(require(results == nullptr || result_size_bytes >= sizeof(uint32_t) * 4,
                         "result_size_bytes is not sizeof(gfxgraph_buffer_result_t)"));
    GFXGRAPH_ASSIGN_OR_RETURN(const VerifyReport report, step->check.verify());
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

gfxgraph_status_t gfxgraph_step_info(gfxgraph_step_t step, gfxgraph_step_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(step != nullptr, "step is null"));
    const Step& one = *step->step;
    const GraphStatistics graph = one.graph_statistics();
    gfxgraph_step_info_t result{};
    result.mode = static_cast<gfxgraph_mode_t>(one.mode());
    result.mode_reason = one.mode_reason().c_str();
    result.launches = one.instance().program().launch_count();
    result.first_launch = one.instance().program().first_launch();
    result.graphs = graph.graphs;
    result.submits = static_cast<uint32_t>(graph.launches + graph.outside.size());
    result.graph_nodes = graph.nodes;
    result.prepare_us = one.load_times().load_us;
    result.restore_us = one.load_times().restore_us;
    result.build_us = one.load_times().build_us;
    result.instantiate_us = one.load_times().instantiate_us;
    return write_out(result, info);
  });
}

gfxgraph_status_t gfxgraph_step_order_info(gfxgraph_step_t step,
                                           gfxgraph_order_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(step != nullptr, "step is null"));
    const OrderUse use = step->step->executor().order_use();
    gfxgraph_order_info_t result{};
    result.proven = use.proven ? 1 : 0;
    result.reason = use.reason;
    result.edges_recorded = use.edges_recorded;
    result.edges_needed = use.edges_needed;
    result.packets = use.packets;
    result.barriers = use.barriers;
    return write_out(result, info);
  });
}

}  // extern "C"
