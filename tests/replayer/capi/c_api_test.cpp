#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/result.h"
#include "gfxgraph/gfxgraph.hpp"
#include "replayer/capi/c_api_internal.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

// A file's bytes where gfxgraph_trace_open_memory takes them.
class AlignedFile {
 public:
  explicit AlignedFile(const std::filesystem::path& path)
      : size_(std::filesystem::file_size(path)) {
    std::ifstream file(path, std::ios::binary);
    data_.reset(static_cast<char*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64)));
    file.read(data_.get(), static_cast<std::streamsize>(size_));
  }
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  size_t size_;
  std::unique_ptr<char, Free> data_;
};

class CApi : public ::testing::Test {
 protected:
  CApi() : trace(fake) {
    add_test_kernels(fake);
    use_hip_library_for_tests(fake.library());
  }
  ~CApi() override { use_hip_library_for_tests(nullptr); }
  FakeHip fake;
  TestTrace trace;
};

TEST_F(CApi, StatusValuesAreThoseOfTheLibrary) {
  EXPECT_EQ(GFXGRAPH_OK, static_cast<int>(Status::kOk));
  EXPECT_EQ(GFXGRAPH_INVALID_ARGUMENT, static_cast<int>(Status::kInvalidArgument));
  EXPECT_EQ(GFXGRAPH_NOT_FOUND, static_cast<int>(Status::kNotFound));
  EXPECT_EQ(GFXGRAPH_UNSUPPORTED, static_cast<int>(Status::kUnsupported));
  EXPECT_EQ(GFXGRAPH_CORRUPT, static_cast<int>(Status::kCorrupt));
  EXPECT_EQ(GFXGRAPH_TRUNCATED, static_cast<int>(Status::kTruncated));
  EXPECT_EQ(GFXGRAPH_VERSION, static_cast<int>(Status::kVersion));
  EXPECT_EQ(GFXGRAPH_IO, static_cast<int>(Status::kIo));
  EXPECT_EQ(GFXGRAPH_OUT_OF_MEMORY, static_cast<int>(Status::kOutOfMemory));
  EXPECT_EQ(GFXGRAPH_DEVICE, static_cast<int>(Status::kDevice));
  EXPECT_EQ(GFXGRAPH_MISMATCH, static_cast<int>(Status::kMismatch));
  EXPECT_EQ(GFXGRAPH_UNSAFE_LANE, static_cast<int>(Status::kUnsafeLane));
  EXPECT_EQ(GFXGRAPH_INTERNAL, static_cast<int>(Status::kInternal));
  EXPECT_EQ(GFXGRAPH_INCOMPLETE, static_cast<int>(Status::kIncomplete));
  EXPECT_EQ(GFXGRAPH_NOT_READY, static_cast<int>(Status::kNotReady));
}

TEST_F(CApi, LimitsRefuseBeforeTheWork) {
  const auto a = trace.allocate(4096);
  for (int i = 0; i < 3; ++i) trace.launch("double", Arguments().value(trace.address(a)).value(4u));
  trace.finish();
  gfxgraph_trace_options_t limits = gfxgraph_trace_options_default();
  EXPECT_EQ(limits.max_operations, 0u);
  limits.max_operations = 2;
  gfxgraph_trace_t opened = nullptr;
  EXPECT_EQ(gfxgraph_trace_open(trace.path().c_str(), &limits, &opened), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("more than 2 operations"));
  // A caller that was built when the structure had no limits.
  limits.struct_size = offsetof(gfxgraph_trace_options_t, max_operations);
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), &limits, &opened), GFXGRAPH_OK);
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.max_memory_bytes = 4096;  // the buffer, and nothing for the arguments
  gfxgraph_session_t session = nullptr;
  ASSERT_EQ(gfxgraph_session_create(opened, &options, &session), GFXGRAPH_OK);
  gfxgraph_session_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gfxgraph_session_info(session, &info), GFXGRAPH_OK);
  EXPECT_EQ(info.loaded, 0u);
  EXPECT_GE(info.device_bytes, 4096u);
  EXPECT_EQ(gfxgraph_session_load(session), GFXGRAPH_OUT_OF_MEMORY);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("nothing was allocated"));
  gfxgraph_session_destroy(session);
  options.max_memory_bytes = 1 << 20;
  options.max_load_seconds = 100;
  ASSERT_EQ(gfxgraph_session_create(opened, &options, &session), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_session_load(session), GFXGRAPH_OK);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(opened);
}

TEST_F(CApi, BuffersHaveNames) {
  trace.edit_begin = [](format::AllocationBegin& begin) { begin.name = "weights"; };
  const auto known = trace.allocate(64);
  const auto renamed = trace.allocate(64);
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial.stored = false;
    begin.initial.blob = {};
  };
  const auto unnamed = trace.allocate(64);
  trace.name(renamed, "kv cache");
  trace.finish();
  const Trace file(trace.path().string());
  EXPECT_STREQ(file.buffer(known).name, "weights");
  EXPECT_STREQ(file.buffer(renamed).name, "kv cache");
  EXPECT_STREQ(file.buffer(unnamed).name, "");
  EXPECT_EQ(file.buffer(known).initial_state_unknown, 0u);
  EXPECT_EQ(file.buffer(unnamed).initial_state_unknown, 1u);
}

TEST_F(CApi, WholeLifeThroughTheHandles) {
  const Scenario scenario = build_scenario(fake, trace);
  trace.finish();
  const size_t alive = fake.alive();
  {
    auto file = std::make_unique<Trace>(trace.path().string());
    const gfxgraph_environment_t environment = file->environment();
    EXPECT_STREQ(environment.gpu_arch, "gfx1030");
    EXPECT_EQ(environment.complete, 1u);
    EXPECT_GT(environment.launch_count, 8u);
    const gfxgraph_launch_t launch = file->launch(0);
    EXPECT_STREQ(file->kernel(launch.kernel).name, "double");
    EXPECT_EQ(launch.relocation_count, 1u);
    EXPECT_EQ(file->relocation(0, 0).buffer, scenario.a);
    EXPECT_EQ(file->argument(launch.kernel, 0).size_bytes, 8u);
    EXPECT_EQ(file->buffer(scenario.global).kind,
              static_cast<uint32_t>(GFXGRAPH_BUFFER_MODULE_GLOBAL));

    std::vector<uint32_t> mine(16);
    auto session = std::make_unique<gfxgraph::Session>(*file);
    session->bind(scenario.a, mine.data(), 64, GFXGRAPH_BIND_FILL);
    gfxgraph::Step step(*session, GFXGRAPH_RANGE_ALL, GFXGRAPH_MODE_GRAPH);
    file.reset();  // the session keeps what it needs
    step.run(nullptr);
    step.wait();
    std::vector<gfxgraph_buffer_result_t> buffers;
    const gfxgraph_verification_t result = step.verify(&buffers);
    EXPECT_EQ(result.different, 0u);
    EXPECT_EQ(result.identical, buffers.size());
    EXPECT_EQ(session->address(scenario.a), mine.data());
    EXPECT_GT(step.info().graph_nodes, 10u);
    EXPECT_EQ(step.info().mode, GFXGRAPH_MODE_GRAPH);

    const uint32_t wrong = 77;
    session->write(scenario.b, 4, &wrong, 4);
    EXPECT_EQ(step.verify(&buffers).different, 1u);
    EXPECT_EQ(buffers[scenario.b - 1].first_difference, 4u);
    uint32_t read = 0;
    session->read(scenario.b, 4, &read, 4);
    EXPECT_EQ(read, 77u);
    session.reset();  // the step keeps what it needs
    step.restore();
    step.run(step.stream());
    EXPECT_EQ(step.verify().different, 0u);
  }
  EXPECT_EQ(fake.alive(), alive);
}

TEST_F(CApi, NullsAndWrongSizesAreRefused) {
  trace.allocate(64);
  trace.finish();
  EXPECT_EQ(gfxgraph_trace_open(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_session_create(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_session_load(nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_step_create(nullptr, 0, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_step_run(nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_step_verify(nullptr, nullptr, nullptr, 0, 0), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_trace_destroy(nullptr);
  gfxgraph_session_destroy(nullptr);
  gfxgraph_step_destroy(nullptr);

  gfxgraph_trace_t handle = nullptr;
  gfxgraph_trace_options_t options{};  // struct_size not set
  EXPECT_EQ(gfxgraph_trace_open(trace.path().c_str(), &options, &handle),
            GFXGRAPH_INVALID_ARGUMENT);
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), nullptr, &handle), GFXGRAPH_OK);
  gfxgraph_environment_t environment{};
  EXPECT_EQ(gfxgraph_trace_environment(handle, &environment), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_session_t session = nullptr;
  ASSERT_EQ(gfxgraph_session_create(handle, nullptr, &session), GFXGRAPH_OK);
  int byte = 0;
  EXPECT_EQ(gfxgraph_session_bind(session, 1, &byte, 1000, 8), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_session_bind(session, 9, &byte, 1000, 0), GFXGRAPH_NOT_FOUND);
  EXPECT_EQ(gfxgraph_session_bind(session, 1, &byte, 4, 0), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_step_options_t step_options = gfxgraph_step_options_default();
  step_options.mode = 17;
  gfxgraph_step_t step = nullptr;
  EXPECT_EQ(gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &step_options, &step),
            GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_step_create(session, 0, nullptr, &step), GFXGRAPH_NOT_FOUND);
  EXPECT_EQ(step, nullptr);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(handle);
}

// `use` gives a structure of options to the library, which does not know what stands behind it.
template <typename Options, typename Use>
void expect_newer_options_refused(Options options, const char* name, Use&& use) {
  struct Newer {
    Options options;
    uint32_t unknown[4] = {};  // without padding
  } newer{options};
  newer.options.struct_size = sizeof newer;
  EXPECT_EQ(use(&newer.options), GFXGRAPH_OK) << gfxgraph_last_error();
  for (size_t byte = offsetof(Newer, unknown); byte < sizeof newer; ++byte) {
    reinterpret_cast<unsigned char*>(&newer)[byte] = 0x80;
    EXPECT_EQ(use(&newer.options), GFXGRAPH_INVALID_ARGUMENT);
    EXPECT_THAT(gfxgraph_last_error(),
                HasSubstr("byte " + std::to_string(byte) + " of " + name + " is set"));
    reinterpret_cast<unsigned char*>(&newer)[byte] = 0;
  }
  for (const uint32_t size : {0u, 3u, 4097u}) {
    newer.options.struct_size = size;
    EXPECT_EQ(use(&newer.options), GFXGRAPH_INVALID_ARGUMENT) << size;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(std::string("struct_size of ") + name));
  }
}

TEST_F(CApi, OptionsOfANewerCallerAreRefusedByTheirFirstByte) {
  trace.allocate(64);
  trace.finish();
  const auto open = [&](const gfxgraph_trace_options_t* options) {
    gfxgraph_trace_t handle = nullptr;
    const gfxgraph_status_t status = gfxgraph_trace_open(trace.path().c_str(), options, &handle);
    gfxgraph_trace_destroy(handle);
    return status;
  };
  const Trace file(trace.path().string());
  const auto create_session = [&](const gfxgraph_session_options_t* options) {
    gfxgraph_session_t handle = nullptr;
    const gfxgraph_status_t status = gfxgraph_session_create(file.get(), options, &handle);
    gfxgraph_session_destroy(handle);
    return status;
  };
  gfxgraph::Session session(file);
  const auto create_step = [&](const gfxgraph_step_options_t* options) {
    gfxgraph_step_t handle = nullptr;
    const gfxgraph_status_t status =
        gfxgraph_step_create(session.get(), GFXGRAPH_RANGE_ALL, options, &handle);
    gfxgraph_step_destroy(handle);
    return status;
  };
  expect_newer_options_refused(gfxgraph_trace_options_default(), "gfxgraph_trace_options_t", open);
  expect_newer_options_refused(gfxgraph_session_options_default(), "gfxgraph_session_options_t",
                               create_session);
  expect_newer_options_refused(gfxgraph_step_options_default(), "gfxgraph_step_options_t",
                               create_step);
  const auto expect_flag_refused = [](auto options, auto field, const char* name, auto&& use) {
    options.*field = 2;
    EXPECT_EQ(use(&options), GFXGRAPH_INVALID_ARGUMENT) << name;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(std::string(name) + " is 2: neither 0 nor 1"));
  };
  using TraceOptions = gfxgraph_trace_options_t;
  for (const auto& [field, name] :
       {std::pair{&TraceOptions::allow_torn, "allow_torn of gfxgraph_trace_options_t"},
        {&TraceOptions::allow_incomplete, "allow_incomplete of gfxgraph_trace_options_t"}})
    expect_flag_refused(gfxgraph_trace_options_default(), field, name, open);
  using SessionOptionsC = gfxgraph_session_options_t;
  for (const auto& [field, name] :
       {std::pair{&SessionOptionsC::keep_ambiguous, "keep_ambiguous of gfxgraph_session_options_t"},
        {&SessionOptionsC::zero_unknown, "zero_unknown of gfxgraph_session_options_t"},
        {&SessionOptionsC::poison_fresh, "poison_fresh of gfxgraph_session_options_t"},
        {&SessionOptionsC::concurrent_steps, "concurrent_steps of gfxgraph_session_options_t"}})
    expect_flag_refused(gfxgraph_session_options_default(), field, name, create_session);
  using StepOptionsC = gfxgraph_step_options_t;
  for (const auto& [field, name] :
       {std::pair{&StepOptionsC::graph_linear, "graph_linear of gfxgraph_step_options_t"},
        {&StepOptionsC::keep_memory, "keep_memory of gfxgraph_step_options_t"}})
    expect_flag_refused(gfxgraph_step_options_default(), field, name, create_step);
  gfxgraph_trace_options_t trace_options = gfxgraph_trace_options_default();
  trace_options.pointers = 9;
  EXPECT_EQ(open(&trace_options), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("pointers of gfxgraph_trace_options_t"));
  gfxgraph_session_options_t session_options = gfxgraph_session_options_default();
  session_options.reserved = 1;
  EXPECT_EQ(create_session(&session_options), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(gfxgraph_last_error(),
              HasSubstr("reserved of gfxgraph_session_options_t is not zero"));
}

TEST_F(CApi, OlderCallerGetsItsShorterStructure) {
  trace.allocate(64);
  trace.finish();
  Trace file(trace.path().string());
  struct {
    gfxgraph_environment_t environment;
    uint32_t behind = 0xABCD;
  } older;
  std::memset(&older.environment, 0xFF, sizeof(older.environment));
  older.environment.struct_size = offsetof(gfxgraph_environment_t, device_name);
  ASSERT_EQ(gfxgraph_trace_environment(file.get(), &older.environment), GFXGRAPH_OK);
  EXPECT_STREQ(older.environment.gpu_arch, "gfx1030");
  EXPECT_EQ(older.environment.buffer_count, UINT32_MAX);  // not touched
  EXPECT_EQ(older.environment.struct_size, offsetof(gfxgraph_environment_t, device_name));
}

TEST_F(CApi, IncompleteTraceNeedsPermission) {
  trace.allocate(64);
  trace.incomplete("hipMemcpyToArray");
  trace.finish();
  const Trace file(trace.path().string());
  try {
    gfxgraph::Session session(file);
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), GFXGRAPH_INCOMPLETE);
    EXPECT_THAT(failure.what(), HasSubstr("hipMemcpyToArray"));
  }
  gfxgraph_trace_options_t options = gfxgraph_trace_options_default();
  options.allow_incomplete = 1;
  EXPECT_NO_THROW(gfxgraph::Session(Trace(trace.path().string(), options)));
}

TEST_F(CApi, TracesAreOpenedFromADescriptorAndFromBytesInPlace) {
  build_scenario(fake, trace);
  trace.finish();
  const int descriptor = ::open(trace.path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const Trace opened = Trace::from_descriptor(descriptor);
  ::close(descriptor);
  const uint32_t launches = opened.environment().launch_count;
  EXPECT_GT(launches, 8u);
  gfxgraph_trace_t handle = nullptr;
  EXPECT_EQ(gfxgraph_trace_open_descriptor(descriptor, nullptr, &handle), GFXGRAPH_IO);
  EXPECT_EQ(gfxgraph_trace_open_descriptor(-1, nullptr, &handle), GFXGRAPH_IO);

  AlignedFile bytes(trace.path());
  {
    const Trace viewed = Trace::from_memory(bytes.data(), bytes.size());
    EXPECT_EQ(viewed.environment().launch_count, launches);
    const auto* const kernarg = static_cast<const std::byte*>(viewed.launch(0).kernarg);
    EXPECT_NE(kernarg, nullptr);
    gfxgraph::Session session(viewed);
    gfxgraph::Step step(session);
    step.run(step.stream());
    EXPECT_EQ(step.verify().different, 0u);
  }
  EXPECT_EQ(gfxgraph_trace_open_memory(bytes.data() + 8, bytes.size() - 8, nullptr, &handle),
            GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("aligned to 64"));
  EXPECT_EQ(handle, nullptr);
}

TEST_F(CApi, ErrorTextBelongsToItsThread) {
  EXPECT_EQ(gfxgraph_trace_open("/nowhere/x.gfxg", nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  const std::string here = gfxgraph_last_error();
  EXPECT_FALSE(here.empty());
  std::thread([] { EXPECT_STREQ(gfxgraph_last_error(), ""); }).join();
  EXPECT_EQ(here, gfxgraph_last_error());
}

TEST_F(CApi, MissingAndForeignFilesAreErrors) {
  gfxgraph_trace_t handle = nullptr;
  EXPECT_NE(gfxgraph_trace_open("/nowhere/x.gfxg", nullptr, &handle), GFXGRAPH_OK);
  alignas(64) static constexpr char kText[] =
      "not a trace, but it is longer than a header would be";
  EXPECT_NE(gfxgraph_trace_open_memory(kText, sizeof kText, nullptr, &handle), GFXGRAPH_OK);
  EXPECT_NE(gfxgraph_trace_open_memory(nullptr, 0, nullptr, &handle), GFXGRAPH_OK);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(CApi, EveryTruncationIsAnErrorOrATornTrace) {
  build_scenario(fake, trace);
  trace.finish();
  const AlignedFile bytes(trace.path());
  gfxgraph_trace_options_t torn = gfxgraph_trace_options_default();
  torn.allow_torn = 1;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    gfxgraph_trace_t handle = nullptr;
    EXPECT_NE(gfxgraph_trace_open_memory(bytes.data(), size, nullptr, &handle), GFXGRAPH_OK)
        << size;
    torn.allow_incomplete = 0;
    if (gfxgraph_trace_open_memory(bytes.data(), size, &torn, &handle) != GFXGRAPH_OK) continue;
    gfxgraph_session_t session = nullptr;
    EXPECT_EQ(gfxgraph_session_create(handle, nullptr, &session), GFXGRAPH_INCOMPLETE);
    gfxgraph_trace_destroy(handle);
    torn.allow_incomplete = 1;
    ASSERT_EQ(gfxgraph_trace_open_memory(bytes.data(), size, &torn, &handle), GFXGRAPH_OK);
    if (gfxgraph_session_create(handle, nullptr, &session) == GFXGRAPH_OK) {
      gfxgraph_step_options_t options = gfxgraph_step_options_default();
      options.mode = GFXGRAPH_MODE_GRAPH;
      gfxgraph_step_t step = nullptr;
      // A prefix of a program can be run or is refused; it is never a crash.
      if (gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &options, &step) == GFXGRAPH_OK)
        gfxgraph_step_run(step, nullptr);
      gfxgraph_step_destroy(step);
    }
    gfxgraph_session_destroy(session);
    gfxgraph_trace_destroy(handle);
  }
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
