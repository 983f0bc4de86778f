// Levels of safety of pools, with the real runtime: fingerprints, strict runs, reports. safety FORM
#include "pools.h"

#include <cstdio>
#include <cstring>
#include <thread>

namespace {

gfxgraph_pool_options_t at_level(uint32_t safety, const char* fingerprint = nullptr) {
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.safety = safety;
  options.fingerprint = fingerprint;
  return options;
}

// The fingerprint of another pool over other memory is the same, and that of other work is not.
void fingerprint() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model, at_level(GFXGRAPH_SAFETY_FINGERPRINT));
  pool.warm(stream);
  const std::string saved = pool.fingerprint();
  std::printf("%s", saved.c_str());
  contains(saved, "\nbucket 16 0 ", "the fingerprint");
  expect(saved.find(" 0000000000000000") == std::string::npos, "code and sequence are hashed");
  const Rows between;
  Model second;
  gfxgraph::Pool other = pool_of(second, at_level(GFXGRAPH_SAFETY_FINGERPRINT, saved.c_str()));
  for (const int n : {3, 16, 33}) {
    check_run(other, second, n, in, out, stream);
    is(check_run(other, second, n, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the same steps");
  }
  expect(other.fingerprint() == saved, "its fingerprint is another one");
  Model third;
  third.before = [](const gfxgraph_call_t& call) {
    if (call.size == 16)
      OK(hipMemsetAsync(call.memory[1], 0, kRow, static_cast<hipStream_t>(call.hip_stream)));
  };
  gfxgraph::Pool changed = pool_of(third, at_level(GFXGRAPH_SAFETY_FINGERPRINT, saved.c_str()));
  changed.warm(stream);
  const gfxgraph_pool_result_t result = check_run(changed, third, 9, in, out, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "way of other work");
  is(result.fall, GFXGRAPH_FALL_FINGERPRINT, "its reason");
  is(check_run(changed, third, 2, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "another bucket");
  refuses(GFXGRAPH_MISMATCH, "the arch is",
          [&] {
            std::string text = saved;
            text.replace(text.find("arch gfx"), 8, "arch gfy");
            pool_of(model, at_level(GFXGRAPH_SAFETY_FINGERPRINT, text.c_str()));
          },
          "another architecture");
}

void strict() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model, at_level(GFXGRAPH_SAFETY_STRICT));
  pool.warm(stream);
  for (const int n : {3, 16, 33, 1}) {
    const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
    is(result.way, GFXGRAPH_WAY_GRAPH, "way");
    is(result.validation, GFXGRAPH_VALIDATION_EQUAL, "validation");
  }
  contains(pool.report(), "\"clean\": true", "the report");
  // Memory of the step is replaced: the run is refused, and the function is not asked in its place.
  model.weight = std::make_unique<Weight>(11);
  model.factor = 11;
  const int calls = model.calls;
  for (int i = 0; i < 2; ++i) {
    refuses(GFXGRAPH_MISMATCH, "strict: bucket 16 cannot go by graph (run)",
            [&] { check_run(pool, model, 9, in, out, stream); }, "a step that refuses");
    wait(stream);
  }
  is(static_cast<uint64_t>(model.calls), static_cast<uint64_t>(calls), "calls of the function");
  contains(pool.report(), "\"clean\": false", "the report after that");
  is(pool.info(1).failures, 2, "failures");
  pool.recapture(1);
  check_run(pool, model, 9, in, out, stream);
  is(check_run(pool, model, 10, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "captured again");
}

void strict_differs() {
  const Weight one(3), other(5);
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool(kSizes, kTensors,
                      [&](const gfxgraph_call_t& call) {
                        add_sums<<<static_cast<unsigned>(call.size), kColumns, 0,
                                   static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<const int*>(call.memory[0]),
                            static_cast<int*>(call.memory[1]),
                            call.captured != 0 ? one.data : other.data,
                            static_cast<int>(call.size));
                      },
                      at_level(GFXGRAPH_SAFETY_STRICT));
  pool.warm(stream);
  const std::vector<int> given = numbers(3, 1);
  OK(hipMemcpy(in.data, given.data(), 3 * kRow, hipMemcpyHostToDevice));
  void* const memory[] = {in.data, out.data};
  refuses(GFXGRAPH_MISMATCH, "the step of bucket 4 and the function differ",
          [&] { pool.run(3, memory, stream); }, "a step that differs");
  wait(stream);
  std::vector<int> got(given.size());
  OK(hipMemcpy(got.data(), out.data, 3 * kRow, hipMemcpyDeviceToHost));
  compare(got, expected(given, 5), "the function's results");
}

// On one line behind "report:", for the test of the schema.
void report() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = at_level(GFXGRAPH_SAFETY_SHADOW);
  options.digest = 1;
  options.name = "a \"pool\"\n";
  std::string digests[2];
  for (std::string& digest : digests) {
    gfxgraph::Pool pool = pool_of(model, options);
    for (const int n : {3, 2, 33}) check_run(pool, model, n, in, out, stream);
    std::string text = pool.report();
    const size_t at = text.find("\"digest\": \"");
    digest = text.substr(at, 28);
    if (&digest != &digests[1]) continue;
    for (char& one : text) one = one == '\n' ? ' ' : one;
    std::printf("report:%s\n", text.c_str());
  }
  expect(digests[0] == digests[1], "the same runs have the same digest");
}

// Eight threads run while another one asks for reports.
void threads() {
  Model model;
  const Stream streams[8];
  gfxgraph_pool_options_t options = at_level(GFXGRAPH_SAFETY_STRICT);
  options.validate_every = 2;
  options.digest = 1;
  gfxgraph::Pool pool = pool_of(model, options);
  std::atomic<bool> done{false};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 8; ++thread) {
    all.emplace_back([&, thread] {
      try {
        const Rows in, out;
        for (int i = 0; i < 4; ++i)
          check_run(pool, model, 1 + (thread * 5 + i * 7) % kMost, in, out, streams[thread]);
      } catch (const std::exception& thrown) {
        expect(false, thrown.what());
      }
    });
  }
  std::thread reader([&] {
    while (!done) {
      contains(pool.report(), "\"clean\": true", "a report meanwhile");
      contains(pool.fingerprint(), "gfxgraph-fingerprint/1\n", "a fingerprint meanwhile");
    }
  });
  for (std::thread& one : all) one.join();
  done = true;
  reader.join();
  uint64_t runs = 0;
  for (const uint64_t one : pool.info().runs) runs += one;
  is(runs, 32, "runs");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"fingerprint", fingerprint},
                   {"strict", strict},
                   {"strict_differs", strict_differs},
                   {"report", report},
                   {"threads", threads}});
}
