// Runs of a pool that are validated: the function does the work again over copies, and its results
// are what the caller gets where they differ. validation FORM
#include "pools.h"

namespace {

gfxgraph_pool_options_t every(uint32_t n) {
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.validate_every = n;
  return options;
}

void equal() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model, every(3));
  pool.warm(stream);
  for (int i = 1; i <= 9; ++i) {
    const gfxgraph_pool_result_t result = check_run(pool, model, 5 + i, in, out, stream);
    is(result.way, GFXGRAPH_WAY_GRAPH, "way");
    is(result.validation, i % 3 == 0 ? GFXGRAPH_VALIDATION_EQUAL : GFXGRAPH_VALIDATION_NONE,
       "validation of run " + std::to_string(i));
  }
  is(static_cast<uint64_t>(model.calls), 3 + 3, "calls of the function");
  is(pool.info(1).validations[GFXGRAPH_VALIDATION_EQUAL], 3, "equal runs");
  is(pool.info(1).device_bytes, 2 * 2 * kRow * 16, "a second set of buffers");
  is(pool.info(2).device_bytes, 2 * kRow * kMost, "none of a bucket that was not due");
  contains(pool.metrics(), "gfxgraph_pool_validations_total{pool=\"pool\",bucket=\"16\",result=\"equal\"} 3\n",
           "metrics");
  pool.recapture(1);
  is(pool.info(1).device_bytes, 0, "bytes after all is given back");
}

// The step has another weight than the function.
void different() {
  Model model;
  const Weight other(5);
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool(kSizes, kTensors,
                      [&](const gfxgraph_call_t& call) {
                        add_sums<<<static_cast<unsigned>(call.size), kColumns, 0,
                                   static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<const int*>(call.memory[0]),
                            static_cast<int*>(call.memory[1]),
                            call.captured != 0 ? model.weight->data : other.data,
                            static_cast<int>(call.size));
                      },
                      every(2));
  pool.warm(stream);
  for (int i = 1; i <= 4; ++i) {
    model.factor = i % 2 == 0 ? 5 : 3;
    const gfxgraph_pool_result_t result = check_run(pool, model, 3, in, out, stream);
    is(result.validation, i % 2 == 0 ? GFXGRAPH_VALIDATION_DIFFERENT : GFXGRAPH_VALIDATION_NONE,
       "validation of run " + std::to_string(i));
    is(result.way, GFXGRAPH_WAY_GRAPH, "it is the step's run still");
  }
  is(pool.info(0).validations[GFXGRAPH_VALIDATION_DIFFERENT], 2, "different runs");
}

// A running sum beside the tensors: in, and the sum, to out.
__global__ void accumulate(const int* in, int* out, int* sum, int step) {
  const int own = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  sum[own] += in[own] + step;
  out[own] = sum[own];
}

// However often a run is validated, the state is that of as many runs. The function's step, where it
// is not captured.
void run_states(int step, uint32_t wanted) {
  const Rows in, out;
  const Rows sum;
  OK(hipMemset(sum.data, 0, 8 * kRow));
  const Stream stream;
  const gfxgraph_state_t state = {"sum", sum.data, 8 * kRow, GFXGRAPH_TYPE_BYTES, 0};
  gfxgraph_pool_options_t options = every(2);
  options.states = &state;
  options.state_count = 1;
  gfxgraph::Pool pool({8}, kTensors,
                      [&](const gfxgraph_call_t& call) {
                        accumulate<<<static_cast<unsigned>(call.size), kColumns, 0,
                                     static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<const int*>(call.memory[0]),
                            static_cast<int*>(call.memory[1]), sum.data,
                            call.captured != 0 ? 0 : step);
                      },
                      options);
  void* const memory[] = {in.data, out.data};
  const std::vector<int> ones(8 * kColumns, 1);
  OK(hipMemcpy(in.data, ones.data(), 8 * kRow, hipMemcpyHostToDevice));
  int now = 0;
  for (int i = 1; i <= 5; ++i) {
    const gfxgraph_pool_result_t result = pool.run(8, memory, stream);
    is(result.validation, i % 2 == 0 ? wanted : GFXGRAPH_VALIDATION_NONE,
       "validation of run " + std::to_string(i));
    now += i % 2 == 0 ? 1 + step : 1;
    std::vector<int> got(8 * kColumns);
    wait(stream);
    OK(hipMemcpy(got.data(), out.data, 8 * kRow, hipMemcpyDeviceToHost));
    compare(got, std::vector<int>(8 * kColumns, now), "output of run " + std::to_string(i));
    OK(hipMemcpy(got.data(), sum.data, 8 * kRow, hipMemcpyDeviceToHost));
    compare(got, std::vector<int>(8 * kColumns, now), "state after run " + std::to_string(i));
  }
  is(pool.info().device_bytes, 2 * 2 * kRow * 8 + 2 * 8 * kRow, "buffers and states");
}

void states() { run_states(0, GFXGRAPH_VALIDATION_EQUAL); }
void other_states() { run_states(7, GFXGRAPH_VALIDATION_DIFFERENT); }

// The inputs of the second time are those of the first, also where the outputs are in their place.
void in_place() {
  const Rows rows;
  const Stream stream;
  gfxgraph::Pool pool({8}, {{"x", kRow, GFXGRAPH_TENSOR_INPUT | GFXGRAPH_TENSOR_OUTPUT, 0}},
                      [](const gfxgraph_call_t& call) {
                        square<<<static_cast<unsigned>(call.size), kColumns, 0,
                                 static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<int*>(call.memory[0]));
                      },
                      every(1));
  std::vector<int> values(5 * kColumns, 3);
  OK(hipMemcpy(rows.data, values.data(), 5 * kRow, hipMemcpyHostToDevice));
  void* const memory[] = {rows.data};
  for (int i = 0; i < 3; ++i) {
    is(pool.run(5, memory, stream).validation,
       i == 0 ? GFXGRAPH_VALIDATION_UNCOMPARED : GFXGRAPH_VALIDATION_EQUAL, "validation");
  }
  wait(stream);
  OK(hipMemcpy(values.data(), rows.data, 5 * kRow, hipMemcpyDeviceToHost));
  compare(values, std::vector<int>(5 * kColumns, 6561), "a tensor in place");
}

__global__ void scale(const float* in, float* out, float factor) {
  const int own = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  out[own] = in[own] * factor;
}

void tolerance() {
  const Rows in, out;
  const Stream stream;
  const std::vector<float> given(4 * kColumns, 100.0F);
  OK(hipMemcpy(in.data, given.data(), 4 * kRow, hipMemcpyHostToDevice));
  for (const double within : {0.0, 1e-4, 1e-2}) {
    gfxgraph_pool_options_t options = every(1);
    options.tolerance[GFXGRAPH_TYPE_F32] = within;
    gfxgraph::Pool pool({4},
                        {{"in", kRow, GFXGRAPH_TENSOR_INPUT, GFXGRAPH_TYPE_F32},
                         {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, GFXGRAPH_TYPE_F32}},
                        [](const gfxgraph_call_t& call) {
                          scale<<<static_cast<unsigned>(call.size), kColumns, 0,
                                  static_cast<hipStream_t>(call.hip_stream)>>>(
                              static_cast<const float*>(call.memory[0]),
                              static_cast<float*>(call.memory[1]),
                              call.captured != 0 ? 1.0F : 1.001F);
                        },
                        options);
    pool.warm(stream);
    void* const memory[] = {in.data, out.data};
    const bool near = within > 1e-3;
    is(pool.run(4, memory, stream).validation,
       near ? GFXGRAPH_VALIDATION_EQUAL : GFXGRAPH_VALIDATION_DIFFERENT,
       "within " + std::to_string(within));
    wait(stream);
    float got = 0;
    OK(hipMemcpy(&got, out.data, sizeof got, hipMemcpyDeviceToHost));
    expect(got == (near ? 100.0F : 100.0F * 1.001F), "the result that the caller gets");
  }
}

void uncompared() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = every(1);
  options.max_device_bytes = 2 * kRow * 4 + 2 * kRow * 16 + 8;
  gfxgraph::Pool pool = pool_of(model, options);
  for (int i = 0; i < 2; ++i) {
    for (const int n : {2, 7, 20}) {  // captured; then without room; by the function
      const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
      is(result.validation, GFXGRAPH_VALIDATION_UNCOMPARED, "validation");
      is(result.fall, n == 20 ? GFXGRAPH_FALL_CAP : GFXGRAPH_FALL_NONE, "reason");
    }
  }
  is(pool.info().validations[GFXGRAPH_VALIDATION_UNCOMPARED], 6, "uncompared runs");
  is(pool.info().device_bytes, 2 * kRow * 20, "device bytes");
  is(pool.info(0).runs[GFXGRAPH_WAY_GRAPH], 1, "the step runs without a comparison");
}

void failing() {
  Model model;
  const Rows in, out;
  const Stream stream;
  model.before = [](const gfxgraph_call_t& call) {
    if (call.captured == 0) throw std::runtime_error("not twice");
  };
  gfxgraph::Pool pool = pool_of(model, every(2));
  pool.warm(stream);
  check_run(pool, model, 3, in, out, stream);
  try {
    check_run(pool, model, 3, in, out, stream);
    expect(false, "no exception");
  } catch (const std::runtime_error& thrown) {
    expect(std::string(thrown.what()) == "not twice", thrown.what());
  }
  wait(stream);
  is(check_run(pool, model, 3, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the next run");
  is(pool.info(0).work_failures, 1, "failures of the function");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"equal", equal},
                   {"different", different},
                   {"states", states},
                   {"other_states", other_states},
                   {"in_place", in_place},
                   {"tolerance", tolerance},
                   {"uncompared", uncompared},
                   {"failing", failing}});
}
