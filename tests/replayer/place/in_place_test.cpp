// Sessions over the memory and the code of the process that was captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "place/live_program.h"
#include "replay_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ranges::PlaceKind;
using ::testing::Each;
using ::testing::HasSubstr;
using By = LiveProgram::By;

constexpr Mode kModes[] = {Mode::kEager, Mode::kBatch, Mode::kGraph};

// Operation 0 doubles `a`, 1 copies it to `b`, 2 fills the rest of `b`, 3 doubles `b`.
class InPlaceTest : public ReplayTest {
 protected:
  InPlaceTest() {
    trace.keep_memory = trace.whole_arguments = true;
    a = trace.allocate_words({1, 2, 3, 4});
    b = trace.allocate_words(std::vector<uint32_t>(8, 0));
    unused = trace.allocate_words({9, 9, 9, 9});
    trace.name(a, "activations");
    trace.name(unused, "unused cache");
    launch_double(a);
    trace.copy(trace.make_copy(b, a, 16));
    format::Memset memset;
    memset.allocation = b;
    memset.offset_bytes = 16;
    memset.element_bytes = 4;
    memset.value = 7;
    memset.width_elements = 4;
    trace.memset(memset);
    launch_double(b);
  }

  void capture(By by = By::kFunctions) {
    program = trace.program(true);
    live = std::make_unique<LiveProgram>(fake, trace, by);
    if (by == By::kStubs) live->lay_out(fake, program->trace());
  }
  Result<std::unique_ptr<Step>> make(Mode mode, bool values_change = false) {
    LoadOptions options;
    options.mode = mode;
    options.live = live->share();
    options.values_change = values_change;  // else a trial loads code of the library
    return Step::load(program, fake.library(), options);
  }
  std::unique_ptr<Step> load_in_place(Mode mode, bool values_change = false) {
    auto step = make(mode, values_change);
    EXPECT_TRUE(step) << (step ? "" : step.error().message);
    return step ? std::move(*step) : nullptr;
  }
  std::vector<uint32_t> words(format::AllocationId id, size_t count) {
    return {trace.words(id), trace.words(id) + count};
  }
  // A run with other values than the captured ones.
  void expect_run(Step& step) {
    for (uint32_t i = 0; i < 4; ++i) trace.words(a)[i] = 10 * (i + 1);
    const auto run = step.run();
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_TRUE(step.wait());
    EXPECT_THAT(words(a, 4), ::testing::ElementsAre(21, 41, 61, 81));
    EXPECT_THAT(words(b, 8), ::testing::ElementsAre(43, 83, 123, 163, 7, 7, 7, 7));
  }
  size_t logged(const char* name) const {
    return static_cast<size_t>(std::count(fake.log.begin(), fake.log.end(), name));
  }

  format::AllocationId a = 0, b = 0, unused = 0;
  std::shared_ptr<const Program> program;
  std::unique_ptr<LiveProgram> live;
};

TEST_F(InPlaceTest, RunsOverTheProgramsMemoryByItsFunctions) {
  capture();
  for (const Mode mode : kModes) {
    live->launches = 0;
    const auto before_a = words(a, 4), before_b = words(b, 8);
    {
      const auto step = load_in_place(mode);
      ASSERT_NE(step, nullptr);
      EXPECT_EQ(words(a, 4), before_a) << "preparing wrote it";
      EXPECT_EQ(words(b, 8), before_b);
      EXPECT_EQ(live->launches, 0);
      EXPECT_EQ(step->instance().memory().device_pointer(a),
                reinterpret_cast<uint8_t*>(trace.words(a)));
      expect_run(*step);
      EXPECT_EQ(live->launches, 2);
      EXPECT_TRUE(fake.memory.empty()) << "it allocated";
      const int asked = live->asked;
      ASSERT_TRUE(step->run());
      EXPECT_EQ(live->asked, asked) << "a run asks although nothing is gone";
    }
    EXPECT_EQ(words(a, 1).front(), 43u) << "destroying touched it";
  }
  EXPECT_EQ(fake.modules_loaded, 0);
  EXPECT_EQ(fake.wrong_frees, 0);
  EXPECT_EQ(live->released, 3);
}

TEST_F(InPlaceTest, AFailedCallLeavesTheProgramAlone) {
  capture(By::kStubs);
  const auto before_a = words(a, 4), before_b = words(b, 8);
  for (const Mode mode : kModes) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 1000);
      LoadOptions options;
      options.mode = mode;
      options.live = live->share();
      const auto library = fake.library();
      fake.fail_call(n);
      const auto step = Step::load(program, library, options);
      if (!fake.failed) break;
      EXPECT_TRUE(step || !step.error().message.empty());
      EXPECT_EQ(words(a, 4), before_a);
      EXPECT_EQ(words(b, 8), before_b);
    }
    fake.fail_call(0);
    EXPECT_EQ(fake.alive(), 0u);
  }
  EXPECT_EQ(fake.wrong_frees, 0);
  EXPECT_EQ(live->launches, 0);
}

TEST_F(InPlaceTest, SessionsShareALockWhereTheRuntimeMixesTheirKernels) {
  capture();
  for (const int version : {50221153, 70253211}) {
    fake.version = version;
    const auto one = load_in_place(Mode::kBatch), other = load_in_place(Mode::kBatch);
    ASSERT_TRUE(one != nullptr && other != nullptr);
    const bool shared =
        &one->instance().session().launch_lock() == &other->instance().session().launch_lock();
    EXPECT_EQ(shared, version < 60000000);
    EXPECT_EQ(one->instance().session().launch_lock().in_graph().owns_lock(), shared);
  }
}

TEST_F(InPlaceTest, ArgumentsStayAsTheyWere) {
  capture();
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  for (uint32_t i = 0; i < 2; ++i) {
    const PreparedLaunch& launch = step->instance().launch(i);
    const auto recorded = program->operations()[program->launch_operation(i)].kernarg();
    EXPECT_TRUE(std::ranges::equal(std::span(launch.kernarg, launch.kernarg_bytes), recorded));
  }
  EXPECT_EQ(step->instance().memory().moved(), 0u);
}

TEST_F(InPlaceTest, LaunchesByTheStubWhereOnlyThatIsKnown) {
  capture(By::kStubs);
  for (const Mode mode : kModes) {
    fake.log.clear();
    live->launches = 0;
    const auto step = load_in_place(mode);
    ASSERT_NE(step, nullptr);
    expect_run(*step);
    EXPECT_EQ(live->launches, 2);
    EXPECT_EQ(logged("stub launch"), mode == Mode::kGraph ? 0u : 2u);
    EXPECT_EQ(logged("kernel node"), mode == Mode::kGraph ? 2u : 0u);
    EXPECT_EQ(logged("launch"), 0u);
    EXPECT_TRUE(step->graph_statistics().outside.empty());
  }
  EXPECT_EQ(fake.modules_loaded, 0);
}

TEST_F(InPlaceTest, AsksTheRuntimeForTheFunctionOfAStub) {
  fake.functions_of_stubs = true;
  capture(By::kStubs);
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  expect_run(*step);
  EXPECT_EQ(live->launches, 2);
  EXPECT_EQ(logged("launch"), 2u);
  EXPECT_EQ(logged("stub launch"), 0u);
}

TEST_F(InPlaceTest, SetsArgumentsAndGridsOfStubs) {
  capture(By::kStubs);
  for (const Mode mode : kModes) {
    const auto step = load_in_place(mode, true);
    ASSERT_NE(step, nullptr);
    for (uint32_t i = 0; i < 4; ++i) trace.words(a)[i] = i;
    const uint32_t two = 2;
    ASSERT_TRUE(step->values().set_kernarg(0, 8, std::as_bytes(std::span(&two, 1))));
    ASSERT_TRUE(step->values().set_grid(0, {5, 1, 1}));
    uint32_t grid = 0;
    fake.kernels["program:double"] = [&, run = fake.kernels["double"]](const FakeLaunch& launch) {
      if (grid == 0) grid = launch.grid[0];
      run(launch);
    };
    ASSERT_TRUE(step->run());
    ASSERT_TRUE(step->wait());
    EXPECT_THAT(words(a, 4), ::testing::ElementsAre(1, 3, 2, 3));
    EXPECT_EQ(grid, 5u);
  }
}

TEST_F(InPlaceTest, RefusesPartialWorkgroupsOfAStub) {
  trace.edit_launch = [](format::Launch& launch) { launch.grid_remainder[0] = 3; };
  launch_double(a);
  capture(By::kStubs);
  const auto refused = make(Mode::kBatch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("only its stub"));
}

TEST_F(InPlaceTest, CooperativeLaunchesGoByTheStub) {
  fake.registers_kernels = true;
  trace.edit_launch = [](format::Launch& launch) { launch.cooperative = true; };
  launch_double(a);
  capture(By::kStubs);
  for (const auto& [id, code] : live->codes) fake.registered[code.stub] = "program:double";
  const auto step = load_in_place(Mode::kGraph);
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->run());
  EXPECT_EQ(logged("cooperative launch"), 1u);
  EXPECT_EQ(fake.modules_loaded, 0);
}

TEST_F(InPlaceTest, RefusesAKernelWithoutCodeByName) {
  capture();
  live->codes.clear();
  const auto refused = make(Mode::kBatch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("kernel double"));
}

TEST_F(InPlaceTest, RefusesWhatTheProgramFreedIfItIsUsed) {
  capture();
  live->places.erase(unused);
  EXPECT_NE(load_in_place(Mode::kBatch), nullptr);
  live->places.erase(a);
  const auto refused = make(Mode::kBatch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("activations"));
}

TEST_F(InPlaceTest, MemoryThatLivedInsideIsTheSessionsOwn) {
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial = {};
    begin.initial.size_bytes = begin.size_bytes;
    begin.initial.unwritten = true;
  };
  const auto temporary = trace.allocate(16, std::vector<uint8_t>(16, 0));
  trace.edit_begin = nullptr;
  trace.copy(trace.make_copy(temporary, a, 16));
  launch_double(temporary);
  trace.copy(trace.make_copy(unused, temporary, 8));
  const auto freed = trace.address(temporary);
  trace.free(temporary);
  capture();
  for (const MemoryUse use : {MemoryUse::kApart, MemoryUse::kPacked}) {
    LoadOptions options;
    options.mode = Mode::kBatch;
    options.live = live->share();
    options.memory = use;
    const auto step = load(fake, program, options);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(fake.memory.size(), 1u);
    EXPECT_NE(reinterpret_cast<uint64_t>(step->instance().memory().device_pointer(temporary)),
              freed);
    expect_run(*step);
    EXPECT_THAT(words(unused, 2), ::testing::ElementsAre(43, 83));
  }
  // A step that begins behind its beginning has none of what was in it.
  LoadOptions options;
  options.mode = Mode::kBatch;
  options.live = live->share();
  const auto session = Session::load(program, fake.library(), options);
  ASSERT_TRUE(session) << session.error().message;
  const uint64_t later = program->operations()[5].sequence;
  const auto refused = Step::prepare(*session, program->cut(later, program->end_event()), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kNotFound);
}

TEST_F(InPlaceTest, ARunNoticesWhatIsGone) {
  capture();
  for (const Mode mode : kModes) {
    live->gone.allocation = 0;
    const auto place = live->places.at(a);
    const auto other = live->places.at(unused);
    const auto step = load_in_place(mode);
    ASSERT_NE(step, nullptr);
    live->free(unused);
    expect_run(*step);
    expect_run(*step);
    // The recorder says only the first of them.
    live->free(a);
    fake.log.clear();
    const auto refused = step->run();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kNotFound);
    EXPECT_THAT(refused.error().message, HasSubstr("activations"));
    EXPECT_TRUE(fake.log.empty()) << "something was submitted";
    EXPECT_FALSE(step->run_unfenced());
    live->places[a] = place;
    live->places[unused] = other;
  }
}

TEST_F(InPlaceTest, ARunNoticesUnloadedCode) {
  capture();
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  live->unload();
  const auto refused = step->run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("kernel double"));
}

TEST_F(InPlaceTest, WhatIsReplacedMayGo) {
  capture();
  std::vector<uint32_t> mine = {0, 0, 0, 0};
  const auto step = load_in_place(Mode::kBatch, true);
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->instance().session().bind({a, mine.data(), 16, true}));
  const auto before = words(a, 4);
  live->free(a);
  const auto run = step->run();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(mine, Each(1u));
  EXPECT_EQ(words(a, 4), before);
  EXPECT_THAT(words(b, 4), Each(3u));
}

// Memory that is freed and allocated again often has the same address.
TEST_F(InPlaceTest, WhatIsReplacedMayStandWhereItStood) {
  capture();
  const auto step = load_in_place(Mode::kBatch, true);
  ASSERT_NE(step, nullptr);
  live->free(a);
  EXPECT_FALSE(step->run());
  ASSERT_TRUE(step->instance().session().bind({a, trace.words(a), 16, true}));
  expect_run(*step);
  // Likewise where another buffer stood, and for what is set to it.
  live->free(unused);
  std::vector<uint32_t> large(8);
  ASSERT_TRUE(step->instance().session().bind({b, large.data(), 32, true}));
  ASSERT_TRUE(step->values().set_place({0, PlaceKind::kArgument, 0, 8}, PlaceValue{b, 16}));
  const auto run = step->run();
  EXPECT_TRUE(run) << run.error().message;
}

TEST_F(InPlaceTest, MemoryOfTheCallerMayStandWhereAnotherBufferStood) {
  capture();
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  live->free(b);
  EXPECT_FALSE(step->instance().session().bind({unused, trace.words(a), 16, true}))
      << "the program has that memory";
  const auto bound = step->instance().session().bind({a, trace.words(b), 32, true});
  ASSERT_TRUE(bound) << bound.error().message;
  const auto refused = step->run();
  ASSERT_FALSE(refused) << "b itself is used, and gone";
  EXPECT_THAT(refused.error().message, HasSubstr("allocation 2"));
  std::vector<uint32_t> mine(8);
  ASSERT_TRUE(step->instance().session().bind({b, mine.data(), 32, true}));
  const auto run = step->run();
  EXPECT_TRUE(run) << run.error().message;
}

TEST_F(InPlaceTest, WatchesWhatAnArgumentLeadsToNow) {
  capture();
  const auto step = load_in_place(Mode::kBatch, true);
  ASSERT_NE(step, nullptr);
  // Both operations that name `a` work with `unused` now.
  ASSERT_TRUE(step->values().set_place({0, PlaceKind::kArgument, 0, 8}, PlaceValue{unused, 0}));
  ASSERT_TRUE(step->values().set_place({1, PlaceKind::kWidth, 0, 8}, PlaceValue{0, 8}));
  ASSERT_TRUE(step->values().set_place({1, PlaceKind::kSource, 0, 8}, PlaceValue{unused, 0}));
  live->free(a);
  const auto run = step->run();
  ASSERT_TRUE(run) << run.error().message;
  live->free(unused);
  const auto refused = step->run();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("unused cache"));
  // Nor can it be set to what is gone.
  EXPECT_FALSE(step->values().set_place({3, PlaceKind::kArgument, 0, 8}, PlaceValue{a, 0}));
}

TEST_F(InPlaceTest, NothingIsRestoredOrCompared) {
  capture();
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  expect_run(*step);
  const auto left = words(b, 8);
  const auto refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, Status::kUnsupported);
    EXPECT_THAT(result.error().message, HasSubstr("GFXGRAPH_PLACE_APART"));
  };
  refused(step->restore());
  refused(StepCheck(*step).verify());
  refused(StepCheck(*step).find_divergence());
  std::vector<uint32_t> mine(4);
  refused(step->instance().session().bind({a, mine.data(), 16, false}));
  EXPECT_EQ(words(b, 8), left);
}

TEST_F(InPlaceTest, RefusesAShiftedLayout) {
  capture();
  LoadOptions options;
  options.live = live->share();
  options.layout = Layout::kShift;
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
}

TEST_F(InPlaceTest, AutoChoosesWithoutARun) {
  capture();
  const auto before = words(a, 4);
  const auto graph = load_in_place(Mode::kAuto);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->mode(), Mode::kGraph);
  HipTable table = fake.table();
  table.hipGraphCreate = nullptr;
  LoadOptions options;
  options.live = live->share();
  options.keep_memory = true;  // says nothing new
  const auto batch = Step::load(program, *HipLibrary::from_table(table, "no graphs"), options);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->mode(), Mode::kBatch);
  EXPECT_THAT((*batch)->mode_reason(), HasSubstr("no explicit graphs"));
  EXPECT_EQ(live->launches, 0);
  EXPECT_EQ(logged("graph launch"), 0u);
  EXPECT_EQ(words(a, 4), before);
  expect_run(**batch);
  expect_run(*graph);
}

TEST_F(InPlaceTest, RefusesWorkOfAnotherDevice) {
  capture();
  fake.devices = 2;
  LoadOptions options;
  options.mode = Mode::kBatch;
  options.live = live->share();
  options.device = 1;
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("was on device 0"));
}

TEST_F(InPlaceTest, RefusesToBindWhatTheProgramsMemoryLeadsTo) {
  const auto list = trace.allocate(16);
  trace.free(list);
  const uint64_t next = trace.address(a);
  std::vector<uint8_t> node(16);
  std::memcpy(node.data(), &next, 8);
  const auto holder = trace.allocate(16, node);
  trace.name(holder, "list");
  capture();
  std::vector<uint32_t> mine(4);
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  const auto refused = step->instance().session().bind({a, mine.data(), 16, true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("list"));
}

TEST_F(InPlaceTest, RefusesToBindWhatATextureReads) {
  trace.edit_begin = [&](format::AllocationBegin& begin) {
    auto object = std::make_shared<format::ImageObject>();
    object->resource = format::ImageResource::kLinear;
    object->allocation = unused;
    object->format.bits = {8, 0, 0, 0};
    object->size_bytes = 16;
    begin.object = std::move(object);
    begin.initial = {};
  };
  trace.edit_post = [](format::Content& post) {
    if (post.size_bytes != format::kTextureBytes) return;
    post = {};
    post.stored = false;
  };
  trace.allocate(format::kTextureBytes, {}, format::AllocationKind::kTexture);
  capture();
  LoadOptions options;
  options.mode = Mode::kBatch;
  options.live = live->share();
  std::vector<uint32_t> mine(4);
  options.bindings = {{unused, mine.data(), 16, true}};
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("unused cache"));
}

// Arrays and textures are taken by their handles, and not made.
TEST_F(InPlaceTest, TakesArraysAndTextures) {
  const auto array_shape = std::make_shared<format::ArrayShape>();
  array_shape->width = 4;
  array_shape->height = 1;
  array_shape->depth = 1;
  array_shape->format.bits = {32, 0, 0, 0};
  trace.edit_begin = [&](format::AllocationBegin& begin) {
    begin.array = array_shape;
    begin.recorded_address = uint64_t{0xa77a} << 48;  // as the recorder numbers them
  };
  const auto array = trace.allocate(16, {}, format::AllocationKind::kArray);
  const auto object = std::make_shared<format::ImageObject>();
  object->allocation = array;
  object->resource = format::ImageResource::kArray;
  trace.edit_begin = [&](format::AllocationBegin& begin) {
    begin.object = object;
    begin.initial = {};
  };
  trace.edit_post = [](format::Content& post) {
    if (post.size_bytes != format::kTextureBytes) return;
    post = {};
    post.stored = false;
  };
  const auto texture = trace.allocate(format::kTextureBytes, {}, format::AllocationKind::kTexture);
  trace.edit_begin = nullptr;
  trace.launch("number", Arguments().value(trace.address(unused)).value(trace.address(texture)));
  const uint64_t handle = trace.address(texture);
  capture();
  int made = 0;  // its address is an array's
  live->places[array] = {nullptr, nullptr, &made, 16};
  const auto step = load_in_place(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->instance().memory().array(array), &made);
  ASSERT_TRUE(step->run());
  uint64_t passed = 0;
  std::memcpy(&passed, trace.words(unused), 8);
  EXPECT_EQ(passed, handle);
  // The texture leads to the array.
  live->free(array);
  const auto refused = step->run();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("allocation " + std::to_string(array)));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
