// Work for which a graph loses, because a fake (slow_graphs.cpp) makes its launches slow: what is
// measured ends in another way, and in eager where that is the only other one. slow_choice FORM
#include "pools.h"

extern "C" int slow_graph_launches(int milliseconds);

namespace {

constexpr int kSlow = 200;  // ms: far beyond what a busy machine adds to the other ways

void ends_in(uint32_t measured, uint32_t wanted) {
  expect(slow_graph_launches(kSlow) == 1, "a runtime with graphs");
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.choose = GFXGRAPH_CHOOSE_MEASURED;
  options.measure_ways = measured;
  options.measure_runs = 3;
  gfxgraph::Pool pool = pool_of(model, options);
  for (int i = 0; i < 60 && pool.info(0).choice != GFXGRAPH_CHOICE_MADE; ++i)
    check_run(pool, model, 1 + i % 4, in, out, stream);
  const gfxgraph_bucket_info_t info = pool.info(0);
  is(info.choice, GFXGRAPH_CHOICE_MADE, "the choice");
  is(info.way, wanted, "the way that was chosen");
  is(info.figures[GFXGRAPH_WAY_GRAPH].runs, 3, "runs of the graph that count");
  expect(info.figures[GFXGRAPH_WAY_GRAPH].submit_us >= 1000.0 * kSlow, "the graph's submit");
  expect(info.figures[wanted].submit_us < 1000.0 * kSlow, "the other one's submit");
  contains(pool.reason(0, GFXGRAPH_WAY_GRAPH),
           std::string(gfxgraph_way_name(wanted)) + " is kept, faster", "the graph's reason");
  for (int i = 0; i < 4; ++i) {
    const gfxgraph_pool_result_t result = check_run(pool, model, 1 + i, in, out, stream);
    is(result.way, wanted, "the way of later runs");
    is(result.fall, GFXGRAPH_FALL_NONE, "a choice is no fall");
  }
  is(static_cast<uint64_t>(model.calls), 1, "calls of the function");
}

constexpr uint32_t kGraph = 1u << GFXGRAPH_WAY_GRAPH, kBatch = 1u << GFXGRAPH_WAY_BATCH,
                   kEager = 1u << GFXGRAPH_WAY_EAGER;

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"eager", [] { ends_in(kGraph | kEager, GFXGRAPH_WAY_EAGER); }},
                   {"batch", [] { ends_in(kGraph | kBatch, GFXGRAPH_WAY_BATCH); }}});
}
