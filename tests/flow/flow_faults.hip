// Each call of HIP that libgfxgraph makes fails once: an error, or another way, but no wrong byte,
// and what was made works afterwards. flow_faults FORM, with failing_calls.cpp
#include <cstdio>

#include <gfxgraph/production.hpp>

#include "flow.h"

extern "C" int flow_fail_at(int number);
extern "C" void flow_fail_pause(int more);

namespace {

struct Pause {
  Pause() { flow_fail_pause(1); }
  ~Pause() { flow_fail_pause(-1); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

// Every number is in's times `factor`, and `add`: the same however often it is done.
__global__ void scale_add(const int* in, int* out, int factor, int add) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount) out[i] = in[i] * factor + add;
}
void scale(void* stream, const int* in, int* out, int factor, int add) {
  const Pause pause;
  scale_add<<<kGrid, kBlock, 0, static_cast<hipStream_t>(stream)>>>(in, out, factor, add);
}

// What is tried with each call failing: `create` makes it, `use` runs it, `check` compares.
struct Trial {
  virtual ~Trial() = default;
  virtual void create() = 0;
  virtual void use() = 0;
  virtual void check(const std::string& what) = 0;
};

template <typename Tried>
void each_call_fails(const char* name) {
  expect(flow_fail_at(0) >= 0, "there is no runtime");
  int failed = 0, number = 1;
  for (bool reached = true; reached; ++number) {
    const std::string at = std::string(name) + ", call " + std::to_string(number);
    Tried tried;
    bool created = false, used = false;
    flow_fail_at(number);
    try {
      tried.create();
      created = true;
      tried.use();
      used = true;
    } catch (const gfxgraph::Failure& failure) {
      expect(failure.what()[0] != '\0', at + ": no text");
      ++failed;
    }
    reached = flow_fail_at(0) >= number;
    OK(hipDeviceSynchronize());
    if (used) tried.check(at);
    if (!created) continue;
    try {
      tried.use();
      OK(hipDeviceSynchronize());
      tried.check(at + ", afterwards");
    } catch (const gfxgraph::Failure& failure) {
      expect(false, at + ", afterwards: " + failure.what());
    }
  }
  std::printf("%s: %d calls failed in turn, %d of them an error\n", name, number - 2, failed);
  expect(failed > 0, "no call failed");
}

struct BranchesTrial : Trial {
  const Buffer in, out;
  const Stream stream;
  const Number flag{1};
  std::unique_ptr<gfxgraph::Branches> branches;
  void create() override {
    gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
    options.flag = flag.data;
    const auto piece = [&](int factor) {
      return gfxgraph::Piece([this, factor](const gfxgraph_call_t& call) {
        scale(call.hip_stream, in.data, out.data, factor, 1);
      });
    };
    branches = std::make_unique<gfxgraph::Branches>(
        std::vector<gfxgraph::Branch>{{"two", 0, piece(2)}, {"three", 1, piece(3)}}, options);
    const Pause pause;
    in.fill(5);
  }
  void use() override {
    for (int i = 0; i < 3; ++i) branches->run(stream);
  }
  void check(const std::string& what) override { out.holds(16, what); }
};

struct LoopTrial : Trial {
  const Buffer in, out;
  const Stream stream;
  std::unique_ptr<gfxgraph::Loop> loop;
  void create() override {
    loop = std::make_unique<gfxgraph::Loop>(gfxgraph::Piece([this](const gfxgraph_call_t& call) {
      scale(call.hip_stream, in.data, out.data, 2, 3);
    }));
    const Pause pause;
    in.fill(4);
  }
  void use() override { loop->run(4, stream); }
  void check(const std::string& what) override { out.holds(11, what); }
};

struct CompositionTrial : Trial {
  const Buffer in, middle, out, beside;
  const Stream stream;
  std::unique_ptr<Captured> first, second, third;
  std::unique_ptr<gfxgraph::Composition> all;
  int add = 0;
  CompositionTrial() {
    const auto step = [&](const Buffer& from, const Buffer& to, int factor) {
      return std::make_unique<Captured>(
          stream, [&] { scale(stream, from.data, to.data, factor, 1); });
    };
    first = step(in, middle, 2);
    second = step(middle, out, 3);
    third = step(in, beside, 7);
    OK(hipDeviceSynchronize());
    in.fill(2);
    middle.fill(0);
    out.fill(0);
    beside.fill(0);
  }
  void create() override {
    all = std::make_unique<gfxgraph::Composition>(std::vector<gfxgraph_part_t>{
        {first->step.get(), 0, 0}, {third->step.get(), 0, 0}, {second->step.get(), 1, 0}});
  }
  void use() override {
    for (int i = 0; i < 2; ++i) {
      second->step.set_argument(0, 20, ++add);
      all->run(stream);
    }
  }
  void check(const std::string& what) override {
    middle.holds(5, what);
    out.holds(15 + add, what);
    beside.holds(15, what);
  }
};

struct PipelineTrial : Trial {
  static constexpr int kRuns = 4;
  const Buffer in[kRuns], out[kRuns];
  std::unique_ptr<gfxgraph::Pipeline> pipeline;
  void create() override {
    pipeline = std::make_unique<gfxgraph::Pipeline>(
        1,
        std::vector<gfxgraph_tensor_t>{{"in", kBytes, GFXGRAPH_TENSOR_INPUT, 0},
                                       {"out", kBytes, GFXGRAPH_TENSOR_OUTPUT, 0}},
        [](const gfxgraph_call_t& call) {
          scale(call.hip_stream, static_cast<const int*>(call.memory[0]),
                static_cast<int*>(call.memory[1]), 2, 1);
        });
    const Pause pause;
    for (int i = 0; i < kRuns; ++i) in[i].fill(i);
  }
  void use() override {
    for (int i = 0; i < kRuns; ++i) {
      void* const memory[] = {in[i].data, out[i].data};
      pipeline->submit(1, memory);
    }
    for (;;) {
      gfxgraph_pipeline_result_t result{};
      result.struct_size = sizeof result;
      const gfxgraph_status_t status = gfxgraph_pipeline_next(pipeline->get(), &result);
      if (status == GFXGRAPH_NOT_FOUND) return;
      gfxgraph::detail::check(status);
    }
  }
  void check(const std::string& what) override {
    for (int i = 0; i < kRuns; ++i) out[i].holds(2 * i + 1, what);
  }
};

// A bucket of two rows for runs of one, and every second run beside the function.
struct PoolTrial : Trial {
  const Buffer in, out;
  const Stream stream;
  std::unique_ptr<gfxgraph::Pool> pool;
  void create() override {
    gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
    options.validate_every = 2;
    pool = std::make_unique<gfxgraph::Pool>(
        std::vector<uint64_t>{2},
        std::vector<gfxgraph_tensor_t>{{"in", kBytes, GFXGRAPH_TENSOR_INPUT, 0},
                                       {"out", kBytes, GFXGRAPH_TENSOR_OUTPUT, 0}},
        [](const gfxgraph_call_t& call) {
          for (uint64_t row = 0; row < call.size; ++row) {
            scale(call.hip_stream, static_cast<const int*>(call.memory[0]) + row * kCount,
                  static_cast<int*>(call.memory[1]) + row * kCount, 2, 1);
          }
        },
        options);
    const Pause pause;
    in.fill(5);
  }
  void use() override {
    void* const memory[] = {in.data, out.data};
    for (int i = 0; i < 5; ++i) {
      const gfxgraph_pool_result_t result = pool->run(1, memory, stream);
      expect(result.validation != GFXGRAPH_VALIDATION_DIFFERENT, "a run that differs");
    }
  }
  void check(const std::string& what) override { out.holds(11, what); }
};

void branches() { each_call_fails<BranchesTrial>("branches"); }
void loops() { each_call_fails<LoopTrial>("loops"); }
void compositions() { each_call_fails<CompositionTrial>("compositions"); }
void pipelines() { each_call_fails<PipelineTrial>("pipelines"); }

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"branches", branches},
                   {"loops", loops},
                   {"compositions", compositions},
                   {"pipelines", pipelines},
                   {"pools", [] { each_call_fails<PoolTrial>("pools"); }}});
}
