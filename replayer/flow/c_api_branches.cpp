// The C ABI of branches and loops (gfxgraph/flow.h).
#include "replayer/flow/c_api_flow.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

extern "C" {

gfxgraph_branches_options_t gfxgraph_branches_options_default(void) noexcept {
  gfxgraph_branches_options_t options{};
  options.struct_size = sizeof options;
  options.default_branch = GFXGRAPH_BRANCH_NONE;
  return options;
}

gfxgraph_status_t gfxgraph_branches_create(const gfxgraph_branches_options_t* options,
                                           gfxgraph_branches_t* branches) noexcept {
  return create_flow(
      options, gfxgraph_branches_options_default(), "gfxgraph_branches_options_t", branches,
      [](gfxgraph_branches_s& one, const auto& chosen) { return one.thing.create(chosen); });
}

void gfxgraph_branches_destroy(gfxgraph_branches_t branches) noexcept { destroy_flow(branches); }

gfxgraph_status_t gfxgraph_branches_run(gfxgraph_branches_t branches, int64_t value,
                                        void* hip_stream,
                                        gfxgraph_branches_result_t* result) noexcept {
  return on_stream(branches, hip_stream, [&] {
    gfxgraph_branches_result_t done{};
    done.branch = GFXGRAPH_BRANCH_NONE;
    done.way = GFXGRAPH_WAY_WORK;
    return give_result(branches->thing.run(value, hip_stream, done), done, result);
  });
}

gfxgraph_status_t gfxgraph_branches_warm(gfxgraph_branches_t branches, void* hip_stream) noexcept {
  return on_stream(branches, hip_stream, [&] { return branches->thing.warm(hip_stream); });
}

gfxgraph_status_t gfxgraph_branches_recapture(gfxgraph_branches_t branches,
                                              uint32_t branch) noexcept {
  return on_device(branches, [&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(CapturedWork* const one, branches->thing.branch(branch));
    return one->recapture();
  });
}

gfxgraph_status_t gfxgraph_branches_info(gfxgraph_branches_t branches, uint32_t branch,
                                         gfxgraph_branches_info_t* info) noexcept {
  return on_host(branches, [&]() -> Result<void> {
    GFXGRAPH_TRY(branches->thing.branch(branch));
    gfxgraph_branches_info_t found{};
    WorkSums sums;
    branches->thing.add_up(branch, found, sums);
    found.runs = sums.counts;
    found.runs.submit = latency_of(sums.submit);
    return write_out(found, info);
  });
}

gfxgraph_status_t gfxgraph_branches_reason(gfxgraph_branches_t branches, uint32_t branch,
                                           uint32_t way, char* text, uint64_t capacity,
                                           uint64_t* size) noexcept {
  return on_host(branches, [&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(CapturedWork* const one, branches->thing.branch(branch));
    return give_text(one->reason(way), text, capacity, size);
  });
}

gfxgraph_loop_options_t gfxgraph_loop_options_default(void) noexcept {
  constexpr uint64_t kMostIterations = 1'000'000;
  gfxgraph_loop_options_t options{};
  options.struct_size = sizeof options;
  options.read_every = 1;
  options.max_iterations = kMostIterations;
  return options;
}

gfxgraph_status_t gfxgraph_loop_create(const gfxgraph_loop_options_t* options,
                                       gfxgraph_loop_t* loop) noexcept {
  return create_flow(options, gfxgraph_loop_options_default(), "gfxgraph_loop_options_t", loop,
                     [](gfxgraph_loop_s& one, const auto& chosen) -> Result<void> {
                       GFXGRAPH_TRY(require(chosen.reserved == 0, "reserved is not zero"));
                       return one.thing.create(chosen);
                     });
}

void gfxgraph_loop_destroy(gfxgraph_loop_t loop) noexcept { destroy_flow(loop); }

const char* gfxgraph_loop_end_name(uint32_t end) noexcept { return loop_end_name(end); }

gfxgraph_status_t gfxgraph_loop_run(gfxgraph_loop_t loop, uint64_t count, void* hip_stream,
                                    gfxgraph_loop_result_t* result) noexcept {
  return on_stream(loop, hip_stream, [&] {
    gfxgraph_loop_result_t done{};
    done.end = GFXGRAPH_LOOP_FAILED;
    done.way = GFXGRAPH_WAY_WORK;
    return give_result(loop->thing.run(count, hip_stream, done), done, result);
  });
}

gfxgraph_status_t gfxgraph_loop_recapture(gfxgraph_loop_t loop) noexcept {
  return on_device(loop, [&] { return loop->thing.body().recapture(); });
}

gfxgraph_status_t gfxgraph_loop_info(gfxgraph_loop_t loop, gfxgraph_loop_info_t* info) noexcept {
  return on_host(loop, [&] {
    gfxgraph_loop_info_t found{};
    WorkSums sums;
    loop->thing.add_up(found, sums);
    found.iterations = sums.counts;
    found.iterations.submit = latency_of(sums.submit);
    return write_out(found, info);
  });
}

gfxgraph_status_t gfxgraph_loop_reason(gfxgraph_loop_t loop, uint32_t way, char* text,
                                       uint64_t capacity, uint64_t* size) noexcept {
  return on_host(loop,
                 [&] { return give_text(loop->thing.body().reason(way), text, capacity, size); });
}

}  // extern "C"
