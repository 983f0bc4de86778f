// Pools whose way is chosen by measurement, what a warm-up leaves, and the room that buckets take.
// choice FORM
#include "pools.h"

#include <cstdio>
#include <thread>

namespace {

gfxgraph_pool_options_t measuring(uint32_t runs = 3) {
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.choose = GFXGRAPH_CHOOSE_MEASURED;
  options.measure_runs = runs;
  return options;
}

// The bucket's way is measured; the figures, and why the others are not taken, are there.
void is_chosen(const gfxgraph::Pool& pool, uint32_t bucket, uint32_t runs) {
  const gfxgraph_bucket_info_t info = pool.info(bucket);
  is(info.choice, GFXGRAPH_CHOICE_MADE, "the choice");
  expect(info.figures[info.way].runs == runs, "figures of the way that was chosen");
  for (const uint32_t way :
       {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER, GFXGRAPH_WAY_PACKETS}) {
    if (way == info.way) continue;
    expect(!pool.reason(bucket, way).empty(), std::string("why it is not ") + gfxgraph_way_name(way));
    if (info.figures[way].runs != 0) contains(pool.reason(bucket, way), "measured", "the reason");
  }
  std::printf("%s: %s\n", gfxgraph_way_name(info.way),
              pool.reason(bucket, info.way == GFXGRAPH_WAY_BATCH ? GFXGRAPH_WAY_EAGER
                                                                 : GFXGRAPH_WAY_BATCH)
                  .c_str());
}

// Every run is right, in whatever way, before the choice and after it.
void measured() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model, measuring());
  int runs = 0;
  for (; runs < 60 && pool.info(1).choice != GFXGRAPH_CHOICE_MADE; ++runs)
    check_run(pool, model, 5 + runs % 12, in, out, stream);
  is_chosen(pool, 1, 3);
  is(static_cast<uint64_t>(model.calls), 1, "calls of the function");
  is(pool.info(0).choice, GFXGRAPH_CHOICE_OPEN, "a bucket that did not run");
  const uint32_t way = pool.info(1).way;
  for (int i = 0; i < 70; ++i) {  // the slower steps go meanwhile
    is(check_run(pool, model, 5 + i % 12, in, out, stream).way, way, "the way of later runs");
  }
  is(pool.info(1).falls[GFXGRAPH_FALL_MEASURED], 0, "a choice is no fall of runs");
}

void measured_by_warm() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = measuring();
  options.warm_measures = 1;
  gfxgraph::Pool pool = pool_of(model, options);
  pool.warm(stream);
  for (uint32_t bucket = 0; bucket < 3; ++bucket) is_chosen(pool, bucket, 3);
  for (const int n : {1, 9, 33}) check_run(pool, model, n, in, out, stream);
  is(static_cast<uint64_t>(model.calls), 3, "calls of the function");
  pool.warm(stream);
  is(static_cast<uint64_t>(model.calls), 3, "a second warm-up does nothing");
}

// Eight threads measure and run while another one reads.
void measured_by_threads() {
  Model model;
  const Stream streams[8];
  gfxgraph::Pool pool = pool_of(model, measuring());
  std::atomic<bool> done{false};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 8; ++thread) {
    all.emplace_back([&, thread] {
      try {
        const Rows in, out;
        for (int i = 0; i < 8; ++i)
          check_run(pool, model, 1 + (thread * 5 + i * 7) % kMost, in, out, streams[thread]);
      } catch (const std::exception& thrown) {
        expect(false, thrown.what());
      }
    });
  }
  std::thread reader([&] {
    while (!done) {
      const gfxgraph_bucket_info_t info = pool.info(2);
      expect(info.choice != GFXGRAPH_CHOICE_MADE || info.figures[info.way].runs == 3, "a reader");
      contains(pool.metrics(), "# EOF\n", "metrics that a reader gets");
    }
  });
  for (std::thread& one : all) one.join();
  done = true;
  reader.join();
  uint64_t runs = 0;
  for (const uint64_t one : pool.info().runs) runs += one;
  is(runs, 64, "runs");
}

void packets() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.first_way = GFXGRAPH_WAY_PACKETS;
  gfxgraph::Pool pool = pool_of(model, options);
  pool.warm(stream);
  for (const int n : {1, 6, 39, 3, 16}) {
    const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
    const std::string why = pool.reason(result.bucket, GFXGRAPH_WAY_PACKETS);
    if (!why.empty()) std::printf("no packets: %s\n", why.c_str());
    is(result.way, why.empty() ? GFXGRAPH_WAY_PACKETS : GFXGRAPH_WAY_GRAPH, "the way");
    is(result.fall, why.empty() ? GFXGRAPH_FALL_NONE : GFXGRAPH_FALL_PREPARE, "the reason");
  }
}

__global__ void accumulate(const int* in, int* out, int* sum) {
  const int own = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  sum[own] += in[own] + 1;
  out[own] = sum[own];
}

// However much a warm-up runs, the states are as they were.
void warm_states() {
  const Rows in, out, sum;
  const Stream stream;
  std::vector<int> values = numbers(8, 3);
  OK(hipMemcpy(sum.data, values.data(), 8 * kRow, hipMemcpyHostToDevice));
  const gfxgraph_state_t state = {"sum", sum.data, 8 * kRow, GFXGRAPH_TYPE_BYTES, 0};
  gfxgraph_pool_options_t options = measuring();
  options.warm_measures = 1;
  options.states = &state;
  options.state_count = 1;
  int calls = 0;
  gfxgraph::Pool pool({4, 8}, kTensors,
                      [&](const gfxgraph_call_t& call) {
                        ++calls;
                        accumulate<<<static_cast<unsigned>(call.size), kColumns, 0,
                                     static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<const int*>(call.memory[0]),
                            static_cast<int*>(call.memory[1]), sum.data);
                        if (calls == 3) throw std::runtime_error("the third call");
                      },
                      options);
  pool.warm(stream);
  std::vector<int> got(values.size());
  OK(hipMemcpy(got.data(), sum.data, 8 * kRow, hipMemcpyDeviceToHost));
  compare(got, values, "the states after a warm-up");
  is(pool.info().device_bytes, 2 * kRow * (4 + 8), "what the warm-up held is given back");
  is_chosen(pool, 0, 3);
  pool.recapture(0);
  try {
    pool.warm(stream);
    expect(false, "no exception");
  } catch (const std::runtime_error& thrown) {
    contains(thrown.what(), "the third call", "the exception of a warm-up");
  }
  OK(hipMemcpy(got.data(), sum.data, 8 * kRow, hipMemcpyDeviceToHost));
  compare(got, values, "the states after a warm-up that failed");
  // And a run changes them once.
  OK(hipMemset(in.data, 0, 8 * kRow));
  void* const memory[] = {in.data, out.data};
  pool.run(8, memory, stream);
  wait(stream);
  for (int& one : values) ++one;
  OK(hipMemcpy(got.data(), sum.data, 8 * kRow, hipMemcpyDeviceToHost));
  compare(got, values, "the states after a run");
}

void share() {
  Model model;
  const Rows in, out;
  const Stream stream;
  size_t free = 0, total = 0;
  OK(hipMemGetInfo(&free, &total));
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.max_device_share = 1e-9;
  {
    gfxgraph::Pool pool = pool_of(model, options);
    pool.warm(stream);
    const gfxgraph_pool_result_t result = check_run(pool, model, 3, in, out, stream);
    is(result.way, GFXGRAPH_WAY_WORK, "way beyond the share");
    is(result.fall, GFXGRAPH_FALL_CAP, "its reason");
    contains(pool.reason(0), "max_device_share", "the reason");
    is(model.last_size, 3, "the function works on the run's own rows");
  }
  options.max_device_share = 1;
  gfxgraph::Pool pool = pool_of(model, options);
  is(check_run(pool, model, 3, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "a bucket beneath it");
}

// A bucket is allocated and captured while another thread captures in global mode: both go on.
void beside_a_capture() {
  Model model;
  const Buffer other;
  const Rows in, out;
  const Stream stream, elsewhere;
  gfxgraph::Pool pool = pool_of(model);
  const std::vector<int> given = numbers(7, 7);
  OK(hipMemcpy(in.data, given.data(), 7 * kRow, hipMemcpyHostToDevice));
  OK(hipStreamBeginCapture(elsewhere, hipStreamCaptureModeGlobal));
  launch(elsewhere, other.data, 1);
  std::thread([&] {
    try {
      void* const memory[] = {in.data, out.data};
      const gfxgraph_pool_result_t result = pool.run(7, memory, stream);
      is(result.way, GFXGRAPH_WAY_CAPTURE, "the way beside a capture");
      if (result.way != GFXGRAPH_WAY_CAPTURE) std::printf("%s\n", pool.reason(1).c_str());
    } catch (const std::exception& thrown) {
      expect(false, thrown.what());
    }
  }).join();
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(elsewhere, &graph));
  OK(hipGraphDestroy(graph));
  wait(stream);
  std::vector<int> got(given.size());
  OK(hipMemcpy(got.data(), out.data, 7 * kRow, hipMemcpyDeviceToHost));
  compare(got, expected(given, 3), "a run beside a capture");
  is(check_run(pool, model, 8, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the next run");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"measured", measured},
                   {"measured_by_warm", measured_by_warm},
                   {"measured_by_threads", measured_by_threads},
                   {"packets", packets},
                   {"warm_states", warm_states},
                   {"share", share},
                   {"beside_a_capture", beside_a_capture}});
}
