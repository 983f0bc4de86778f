// The C ABI of compositions and pipelines, and of all metrics (gfxgraph/flow.h).
#include "replayer/flow/c_api_flow.h"

#include "replayer/flow/flow_metrics.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

namespace gfxgraph::replayer {
namespace {

Result<void> require_handle(const FlowHandle* handle) {
  GFXGRAPH_TRY(require(handle != nullptr, "the handle is null"));
  return require_own(handle->made_in);
}

}  // namespace

gfxgraph_status_t on_host(const FlowHandle* handle, const FlowBody& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require_handle(handle));
    return body();
  });
}

gfxgraph_status_t on_device(const FlowHandle* handle, const FlowBody& body) noexcept {
  return on_host(handle, [&]() -> Result<void> {
    OnDevice scope(handle->device->library(), handle->device->ordinal());
    GFXGRAPH_TRY(scope.enter());
    return body();
  });
}

gfxgraph_status_t on_stream(const FlowHandle* handle, void* stream, const FlowBody& body) noexcept {
  return on_device(handle, [&]() -> Result<void> {
    GFXGRAPH_TRY(check_stream(handle->device->library(), stream));
    return body();
  });
}

}  // namespace gfxgraph::replayer

namespace {

Result<PipelineRun> read_pipeline_run(const PoolSettings& settings,
                                      const gfxgraph_pipeline_run_t* given) {
  GFXGRAPH_TRY(require(given != nullptr, "run is null"));
  GFXGRAPH_ASSIGN_OR_RETURN(
      const gfxgraph_pipeline_run_t run,
      read_in(given, gfxgraph_pipeline_run_default(), "gfxgraph_pipeline_run_t"));
  GFXGRAPH_TRY(require_flags("gfxgraph_pipeline_run_t",
                             {{"no_wait", run.no_wait}, {"behind_stream", run.behind_stream}}));
  GFXGRAPH_TRY(require(run.reserved == 0, "reserved is not zero"));
  GFXGRAPH_TRY(require(run.size != 0, "a run of 0 rows"));
  GFXGRAPH_TRY(require(run.memory != nullptr, "memory of the run is null"));
  for (size_t i = 0; i < settings.tensors.size(); ++i) {
    if (run.memory[i] != nullptr) [[likely]]
      continue;
    return fail(Status::kInvalidArgument,
                fmt::format("{} has no memory: memory[{}] is null", settings.tensors[i].name, i));
  }
  return PipelineRun{{run.size, run.memory, run.hip_stream, false, nullptr},
                     run.no_wait == 0,
                     run.behind_stream != 0};
}

template <typename Handle>
Result<void> add_handles(Handle* const* handles, uint32_t count, FlowMetrics& metrics) {
  GFXGRAPH_TRY(require(handles != nullptr || count == 0, "a list of handles is null"));
  for (uint32_t i = 0; i < count; ++i) {
    GFXGRAPH_TRY(require_handle(handles[i]));
    GFXGRAPH_TRY(metrics.add(handles[i]->thing));
  }
  return {};
}

}  // namespace

extern "C" {

gfxgraph_composition_options_t gfxgraph_composition_options_default(void) noexcept {
  gfxgraph_composition_options_t options{};
  options.struct_size = sizeof options;
  return options;
}

gfxgraph_status_t gfxgraph_composition_create(const gfxgraph_composition_options_t* options,
                                              gfxgraph_composition_t* composition) noexcept {
  return create_flow(options, gfxgraph_composition_options_default(),
                     "gfxgraph_composition_options_t", composition,
                     [](gfxgraph_composition_s& one, const auto& chosen) -> Result<void> {
                       GFXGRAPH_TRY(require(chosen.reserved == 0, "reserved is not zero"));
                       GFXGRAPH_TRY(require_flags("gfxgraph_composition_options_t",
                                                  {{"one_graph", chosen.one_graph}}));
                       return one.thing.create(chosen);
                     });
}

void gfxgraph_composition_destroy(gfxgraph_composition_t composition) noexcept {
  destroy_flow(composition);
}

gfxgraph_status_t gfxgraph_composition_run(gfxgraph_composition_t composition, void* hip_stream,
                                           uint32_t* one_graph) noexcept {
  return on_stream(composition, hip_stream, [&] {
    uint32_t as_graph = 0;
    Result<void> ran = composition->thing.run(hip_stream, as_graph);
    if (one_graph != nullptr) *one_graph = as_graph;
    return ran;
  });
}

gfxgraph_status_t gfxgraph_composition_info(gfxgraph_composition_t composition,
                                            gfxgraph_composition_info_t* info) noexcept {
  return on_host(composition, [&] {
    gfxgraph_composition_info_t found{};
    Durations submit;
    composition->thing.add_up(found, submit);
    found.submit = latency_of(submit);
    return write_out(found, info);
  });
}

gfxgraph_status_t gfxgraph_composition_reason(gfxgraph_composition_t composition, char* text,
                                              uint64_t capacity, uint64_t* size) noexcept {
  return on_host(composition,
                 [&] { return give_text(composition->thing.reason(), text, capacity, size); });
}

gfxgraph_pipeline_options_t gfxgraph_pipeline_options_default(void) noexcept {
  gfxgraph_pipeline_options_t options{};
  options.struct_size = sizeof options;
  options.depth = 2;
  options.rows = 1;
  return options;
}

gfxgraph_status_t gfxgraph_pipeline_create(const gfxgraph_pipeline_options_t* options,
                                           gfxgraph_pipeline_t* pipeline) noexcept {
  return create_flow(
      options, gfxgraph_pipeline_options_default(), "gfxgraph_pipeline_options_t", pipeline,
      [](gfxgraph_pipeline_s& one, const auto& chosen) -> Result<void> {
        GFXGRAPH_TRY(require_flags("gfxgraph_pipeline_options_t", {{"in_order", chosen.in_order}}));
        return one.thing.create(chosen);
      });
}

void gfxgraph_pipeline_destroy(gfxgraph_pipeline_t pipeline) noexcept { destroy_flow(pipeline); }

gfxgraph_pipeline_run_t gfxgraph_pipeline_run_default(void) noexcept {
  gfxgraph_pipeline_run_t run{};
  run.struct_size = sizeof run;
  return run;
}

gfxgraph_status_t gfxgraph_pipeline_submit(gfxgraph_pipeline_t pipeline,
                                           const gfxgraph_pipeline_run_t* run,
                                           uint64_t* number) noexcept {
  return on_device(pipeline, [&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const PipelineRun checked,
                              read_pipeline_run(pipeline->thing.settings(), run));
    GFXGRAPH_TRY(check_stream(pipeline->device->library(),
                              checked.behind_stream ? checked.run.stream : nullptr));
    uint64_t own = 0;
    GFXGRAPH_TRY(pipeline->thing.submit(checked, own));
    if (number != nullptr) *number = own;
    return {};
  });
}

gfxgraph_status_t gfxgraph_pipeline_warm(gfxgraph_pipeline_t pipeline) noexcept {
  return on_stream(pipeline, nullptr, [&] { return pipeline->thing.warm(); });
}

gfxgraph_status_t gfxgraph_pipeline_next(gfxgraph_pipeline_t pipeline,
                                         gfxgraph_pipeline_result_t* result) noexcept {
  return on_device(pipeline, [&]() -> Result<void> {
    GFXGRAPH_TRY(require(result != nullptr, "result is null"));
    gfxgraph_pipeline_result_t done{};
    return give_result(pipeline->thing.next(done), done, result);
  });
}

gfxgraph_status_t gfxgraph_pipeline_info(gfxgraph_pipeline_t pipeline,
                                         gfxgraph_pipeline_info_t* info) noexcept {
  return on_host(pipeline, [&] {
    gfxgraph_pipeline_info_t found{};
    WorkSums sums;
    Durations until_seen;
    pipeline->thing.add_up(found, sums, until_seen);
    found.runs = sums.counts;
    found.runs.submit = latency_of(sums.submit);
    found.until_seen = latency_of(until_seen);
    return write_out(found, info);
  });
}

gfxgraph_status_t gfxgraph_pipeline_reason(gfxgraph_pipeline_t pipeline, uint32_t set, uint32_t way,
                                           char* text, uint64_t capacity, uint64_t* size) noexcept {
  return on_host(pipeline, [&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::string reason, pipeline->thing.reason(set, way));
    return give_text(reason, text, capacity, size);
  });
}

gfxgraph_status_t gfxgraph_flow_metrics(const gfxgraph_flow_t* flow, char* text, uint64_t capacity,
                                        uint64_t* size) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(flow != nullptr, "flow is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_flow_t all,
                              read_in(flow, gfxgraph_flow_t{}, "gfxgraph_flow_t"));
    FlowMetrics metrics;
    GFXGRAPH_TRY(add_handles(all.branches, all.branches_count, metrics));
    GFXGRAPH_TRY(add_handles(all.loops, all.loop_count, metrics));
    GFXGRAPH_TRY(add_handles(all.compositions, all.composition_count, metrics));
    GFXGRAPH_TRY(add_handles(all.pipelines, all.pipeline_count, metrics));
    return give_text(metrics.text(), text, capacity, size);
  });
}

}  // extern "C"
