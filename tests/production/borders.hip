// Pools whose work has borders: the host reads what the device computed, and what it makes of it
// goes into the rest of the work.
#include "pools.h"

namespace {

__global__ void shift_rows(int* rows, const int* shift) {
  rows[static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x)] += *shift;
}

constexpr int kEnds = 77;

struct Work {
  Weight weight{3};
  int* shift = nullptr;  // pinned: the host writes it, kernels read it
  std::atomic<int> called{0};
  std::vector<uint32_t> kinds;  // of borders
  std::vector<uint64_t> sizes;  // of buckets there
  int ends = 0;                 // what the border returns
  bool throws = false;

  Work() { OK(hipHostMalloc(reinterpret_cast<void**>(&shift), sizeof(int), 0)); }
  ~Work() { OK(hipHostFree(shift)); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // What the host does between the two kernels.
  void act(const gfxgraph_call_t& call) const {
    int first = 0;
    OK(hipMemcpyWithStream(&first, call.memory[1], sizeof first, hipMemcpyDeviceToHost,
                           static_cast<hipStream_t>(call.hip_stream)));
    *shift = 2 * first;
  }
  void submit(const gfxgraph_call_t& call) {
    ++called;
    const auto stream = static_cast<hipStream_t>(call.hip_stream);
    auto* const out = static_cast<int*>(call.memory[1]);
    const auto rows = static_cast<unsigned>(call.size);
    add_sums<<<rows, kColumns, 0, stream>>>(static_cast<const int*>(call.memory[0]), out,
                                            weight.data, static_cast<int>(rows));
    OK(hipGetLastError());
    act(call);
    shift_rows<<<rows, kColumns, 0, stream>>>(out, shift);
    OK(hipGetLastError());
  }
  int32_t border(const gfxgraph_border_t& one, const gfxgraph_call_t& call) {
    kinds.push_back(one.kind);
    sizes.push_back(call.size);
    expect(call.captured == 0, "a border is not captured");
    if (throws) throw std::runtime_error("from a border");
    if (ends != 0) return ends;
    if (one.kind == GFXGRAPH_BORDER_RESULT) act(call);
    return 0;
  }
};

gfxgraph::Pool pool_with(Work& work, gfxgraph_pool_options_t options, bool throwing = false) {
  const auto submit = [&work](const gfxgraph_call_t& call) { work.submit(call); };
  if (throwing) {
    return gfxgraph::Pool(kSizes, kTensors, submit, options,
                          [&work](const gfxgraph_border_t& one, const gfxgraph_call_t& call) {
                            (void)work.border(one, call);
                          });
  }
  options.border = [](void* context, const gfxgraph_border_t* one, const gfxgraph_call_t* call) {
    return static_cast<Work*>(context)->border(*one, *call);
  };
  options.border_context = &work;
  return gfxgraph::Pool(kSizes, kTensors, submit, options);
}

gfxgraph_pool_result_t run(gfxgraph::Pool& pool, int n, const Rows& in, const Rows& out,
                           hipStream_t stream, int seed) {
  const std::vector<int> given = numbers(n, seed);
  OK(hipMemcpyAsync(in.data, given.data(), n * kRow, hipMemcpyDefault, stream));
  void* const memory[] = {in.data, out.data};
  const gfxgraph_pool_result_t result = pool.run(static_cast<uint64_t>(n), memory, stream);
  std::vector<int> got(given.size());
  OK(hipMemcpyAsync(got.data(), out.data, n * kRow, hipMemcpyDefault, stream));
  wait(stream);
  std::vector<int> wanted = expected(given, 3);
  const int shift = 2 * wanted[0];
  for (int& one : wanted) one += shift;
  compare(got, wanted, std::to_string(n) + " rows, seed " + std::to_string(seed));
  return result;
}

void values() {
  for (const uint32_t way : {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER}) {
    Work work;
    const Rows in, out;
    const Stream stream;
    gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
    options.first_way = way;
    gfxgraph::Pool pool = pool_with(work, options);
    for (int i = 0; i < 4; ++i) {
      for (const int n : {3, 12, 30}) {
        const gfxgraph_pool_result_t result = run(pool, n, in, out, stream, 10 * i);
        is(result.way, i == 0 ? uint32_t{GFXGRAPH_WAY_CAPTURE} : way, "way");
        is(result.fall, GFXGRAPH_FALL_NONE, "no fall");
      }
    }
    is(static_cast<uint64_t>(work.called), 3, "the function is called once for each bucket");
    const auto results = std::count(work.kinds.begin(), work.kinds.end(), GFXGRAPH_BORDER_RESULT);
    is(static_cast<uint64_t>(results), 9, "each run of a step calls the border");
    expect(work.sizes.front() == 4 && work.sizes.back() == kMost, "a border knows its bucket");
  }
}

// A status at a border is that of the run, and no reason to give up the way.
void ended() {
  Work work;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_with(work, gfxgraph_pool_options_default());
  (void)run(pool, 3, in, out, stream, 0);
  work.ends = kEnds;
  void* const memory[] = {in.data, out.data};
  gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
  one.size = 3;
  one.memory = memory;
  one.hip_stream = stream;
  gfxgraph_pool_result_t result{};
  result.struct_size = sizeof result;
  is(static_cast<uint64_t>(gfxgraph_pool_run(pool.get(), &one, &result)), kEnds, "the status");
  is(static_cast<uint64_t>(result.work_status), kEnds, "the status in the result");
  contains(gfxgraph_last_error(), "border", "the error");
  work.ends = 0;
  is(run(pool, 3, in, out, stream, 5).way, GFXGRAPH_WAY_GRAPH, "the way of the next run");
  const gfxgraph_bucket_info_t info = pool.info(0);
  is(info.work_failures, 1, "it is counted as the caller's");
  is(info.falls[GFXGRAPH_FALL_RUN], 0, "no way is given up");
}

void exceptions() {
  Work work;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_with(work, gfxgraph_pool_options_default(), true);
  (void)run(pool, 3, in, out, stream, 0);
  work.throws = true;
  bool thrown = false;
  try {
    (void)run(pool, 3, in, out, stream, 1);
  } catch (const std::runtime_error& error) {
    thrown = std::string(error.what()) == "from a border";
  }
  expect(thrown, "what a border throws comes out of the run");
  work.throws = false;
  wait(stream);
  is(run(pool, 3, in, out, stream, 2).way, GFXGRAPH_WAY_GRAPH, "the way of the next run");
}

void validated() {
  Work work;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.validate_every = 2;
  gfxgraph::Pool pool = pool_with(work, options);
  for (int i = 0; i < 5; ++i) (void)run(pool, 12, in, out, stream, i);
  const gfxgraph_bucket_info_t info = pool.info(1);
  is(info.validations[GFXGRAPH_VALIDATION_EQUAL], 2, "runs with borders are compared");
  // A border that does nothing leaves what the function would not.
  work.ends = 0;
  work.throws = false;
  gfxgraph_pool_options_t idle = options;
  idle.validate_every = 1;
  idle.border = [](void*, const gfxgraph_border_t*, const gfxgraph_call_t*) { return 0; };
  gfxgraph::Pool wrong(kSizes, kTensors,
                       [&work](const gfxgraph_call_t& call) { work.submit(call); }, idle);
  (void)run(wrong, 12, in, out, stream, 1);
  const gfxgraph_pool_result_t result = run(wrong, 12, in, out, stream, 50);
  is(result.validation, GFXGRAPH_VALIDATION_DIFFERENT, "a border that was forgotten is noticed");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"values", values},
                   {"ended", ended},
                   {"exceptions", exceptions},
                   {"validated", validated}});
}
