// The C ABI of argument sets.
#include "replayer/capi/c_api_internal.h"
#include "replayer/step/argument_sets.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

struct gfxgraph_sets_s {
  std::weak_ptr<Step> step;
  ArgumentSets sets;
  uint32_t made_in = process_number();
};

namespace {

// The body of a function of sets, with their step, on its device.
template <typename Body>
gfxgraph_status_t on_sets(gfxgraph_sets_t sets, Body&& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(sets != nullptr, "sets is null"));
    GFXGRAPH_TRY(require_own(sets->made_in));
    const std::shared_ptr<Step> step = sets->step.lock();
    GFXGRAPH_TRY(require(step != nullptr, "the step of these sets is destroyed"));
    OnDevice scope(step->instance().library(), step->instance().device().ordinal);
    GFXGRAPH_TRY(scope.enter());
    return body(*step);
  });
}

}  // namespace

extern "C" {

gfxgraph_status_t gfxgraph_sets_create(gfxgraph_step_t step, uint64_t max_bytes,
                                       gfxgraph_sets_t* sets) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(step != nullptr && sets != nullptr, "step or sets is null"));
    GFXGRAPH_TRY(require_own(step->made_in));
    *sets = std::make_unique<gfxgraph_sets_s>(step->step, ArgumentSets(max_bytes)).release();
    return {};
  });
}

void gfxgraph_sets_destroy(gfxgraph_sets_t sets) noexcept {
  if (sets != nullptr && !is_inherited(sets->made_in)) delete sets;
}

gfxgraph_status_t gfxgraph_sets_keep(gfxgraph_sets_t sets, uint64_t size,
                                     gfxgraph_step_t other) noexcept {
  return on_sets(sets, [&](Step& step) -> Result<void> {
    GFXGRAPH_TRY(require(other != nullptr, "other is null"));
    GFXGRAPH_TRY(require_own(other->made_in));
    return sets->sets.keep(step, size, *other->step);
  });
}

gfxgraph_status_t gfxgraph_sets_use(gfxgraph_sets_t sets, uint64_t size,
                                    uint64_t* chosen) noexcept {
  return on_sets(sets, [&](Step& step) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t found, sets->sets.use(step, size));
    if (chosen != nullptr) *chosen = found;
    return {};
  });
}

gfxgraph_status_t gfxgraph_sets_info(gfxgraph_sets_t sets, gfxgraph_sets_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(sets != nullptr, "sets is null"));
    const ArgumentSetsInfo found = sets->sets.info();
    gfxgraph_sets_info_t result{};
    result.sets = found.sets;
    result.bytes = found.bytes;
    result.used = found.used;
    result.missed = found.missed;
    result.dropped = found.dropped;
    result.items = found.items;
    result.padding = found.padding;
    return write_out(result, info);
  });
}

}  // extern "C"
