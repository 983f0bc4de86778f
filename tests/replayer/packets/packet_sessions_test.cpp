// Whole sessions in mode packets, in several threads and on several streams, for the thread
// sanitizer: steps that share a session, and sessions that share a trace. The queues are the
// software agent's and no kernel is executed ($GFXGRAPH_NULL_DEVICE), so that what the arguments
// in flight hold is looked at by nobody; e2e_step_threads has the bytes.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "format/write/writer.h"
#include "gfxgraph/gfxgraph.hpp"
#include "packets/packet_hip.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/code/own_code.h"

namespace gfxgraph::replayer::testing {
namespace {

constexpr uint32_t kRanges = 2;
constexpr uint32_t kLaunches = 40;  // of a range
constexpr uint32_t kRuns = 150;
constexpr uint64_t kAddress = 0x100000000;

// A buffer for each range, and launches that store numbers in it. Its kernel is one of the
// library's own, because the software agent has code for that.
void write_trace(const std::filesystem::path& path) {
  const auto writer = format::Writer::create(path);
  ASSERT_TRUE(writer) << writer.error().message;
  const auto add = [&](format::Action action) {
    format::Event event;
    event.action = std::move(action);
    ASSERT_TRUE((*writer)->add(std::move(event)));
  };
  format::Environment environment;
  environment.gpu_arch = "gfx1030";
  ASSERT_TRUE((*writer)->add(environment));
  format::CodeObject object;
  object.id = 1;
  const auto elf = (*writer)->add_blob(own_code("gfx1030"));
  ASSERT_TRUE(elf);
  object.elf = *elf;
  object.target = "amdgcn-amd-amdhsa--gfx1030";
  ASSERT_TRUE((*writer)->add(object));
  format::Kernel kernel;
  kernel.id = 1;
  kernel.code_object = 1;
  kernel.name = "gfxgraph_store";
  kernel.explicit_size_bytes = kernel.kernarg_size_bytes = 16;
  ASSERT_TRUE((*writer)->add(kernel));
  for (format::AllocationId id = 1; id <= kRanges; ++id) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.recorded_address = kAddress * id;
    begin.size_bytes = begin.initial.size_bytes = 4096;
    add(begin);
  }
  for (uint32_t range = 0; range < kRanges; ++range) {
    add(format::Marker{"half", format::MarkerKind::kRangeBegin, range + 1, range, 0});
    for (uint32_t i = 0; i < kLaunches; ++i) {
      format::Launch launch;
      launch.kernel = 1;
      launch.grid = launch.block = {1, 1, 1};
      const uint64_t arguments[] = {kAddress * (range + 1) + 8 * i, i};
      launch.kernarg.resize(sizeof(arguments));
      std::memcpy(launch.kernarg.data(), arguments, sizeof(arguments));
      launch.relocations.push_back(
          {0, range + 1, int64_t{8} * i, format::RelocationSource::kTyped, false});
      add(launch);
    }
    add(format::Marker{"half", format::MarkerKind::kRangeEnd, range + 1, 0, 0});
  }
  ASSERT_TRUE((*writer)->seal());
}

class PacketSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    path_ = std::filesystem::temp_directory_path() /
            ("gfxgraph-packet-sessions-" + std::to_string(getpid()) + ".gfxg");
    write_trace(path_);
    fake_.keep_log = false;
    const HipTable table = packet_hip_table(
        fake_, [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void*, void**, void**) { return hip::kSuccess; });
    const auto library = HipLibrary::from_table(table, "fake", &dlsym);
    ASSERT_TRUE(library) << library.error().message;
    use_hip_library_for_tests(*library);
  }
  void TearDown() override {
    use_hip_library_for_tests(nullptr);
    std::filesystem::remove(path_);
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  }

  // Runs of a step on two streams in turns, with and without fences, its arguments changing.
  void use(gfxgraph::Step& step, uint32_t first_launch) {
    const HipTable table = fake_.table();
    void* streams[2] = {};
    for (void*& stream : streams)
      ASSERT_EQ(table.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking), hip::kSuccess);
    for (uint32_t n = 0; n < kRuns; ++n) {
      step.set_argument(first_launch + n % kLaunches, 8, uint64_t{n});
      void* const stream = streams[n / 3 % 2];
      if (n % 5 == 0) {
        step.run_unfenced(stream);
      } else {
        step.run(stream);
      }
      if (n % 4 == 0) (void)step.is_complete();
      if (n % 16 == 15) step.wait();
    }
    step.wait();
    for (void* stream : streams) ASSERT_EQ(table.hipStreamDestroy(stream), hip::kSuccess);
  }

  // A body for each thread, in all of them at the same time.
  template <typename Body>
  void in_threads(uint32_t count, const Body& body) {
    std::atomic<uint32_t> waiting = count;
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        fake_.use_on_this_thread();
        for (--waiting; waiting != 0;) std::this_thread::yield();
        try {
          body(i);
        } catch (const std::exception& exception) {
          ADD_FAILURE() << "thread " << i << ": " << exception.what();
        }
      });
    }
  }

  FakeHip fake_;
  std::filesystem::path path_;
};

TEST_F(PacketSessions, SessionsOfOneTraceRunSideBySide) {
  const gfxgraph::Trace file(path_.string());
  in_threads(3, [&](uint32_t) {
    for (int life = 0; life < 2; ++life) {
      gfxgraph::Session session(file);
      gfxgraph::Step step(session, GFXGRAPH_RANGE_ALL, GFXGRAPH_MODE_PACKETS);
      use(step, 0);
    }
  });
}

TEST_F(PacketSessions, StepsOfOneSessionRunSideBySide) {
  const gfxgraph::Trace file(path_.string());
  gfxgraph::Session session(file);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = GFXGRAPH_MODE_PACKETS;
  options.keep_memory = 1;
  std::vector<gfxgraph::Step> steps;
  for (gfxgraph_range_t range = 0; range < kRanges; ++range)
    steps.emplace_back(session, range, options);
  in_threads(kRanges, [&](uint32_t thread) { use(steps[thread], thread * kLaunches); });
}

// In place: the program's memory, which nobody writes here, and its executable.
TEST_F(PacketSessions, InPlaceTheProgramsOwnCodeIsFound) {
  struct Loaded {
    live::Gone gone;
    std::vector<std::byte> elf = own_code("gfx1030");
    std::vector<void*> modules;
    void load() {
      void* module = nullptr;
      if (load_module(&module, elf.data()) == hip::kSuccess) modules.push_back(module);
    }
    ~Loaded() {
      for (void* const module : modules) unload_module(module);
    }
  };
  Loaded program;
  program.load();
  ASSERT_EQ(program.modules.size(), 1u);
  live::Objects objects;
  objects.self = &program;
  objects.gone = &program.gone;
  objects.code = [](void* self, uint32_t) {
    return live::Code{static_cast<Loaded*>(self)->modules[0], nullptr};
  };
  objects.place = [](void*, uint32_t id) {
    return live::Place{reinterpret_cast<void*>(kAddress * id), nullptr, nullptr, 4096};
  };
  objects.release = [](void*) {};
  const auto hsa = HsaLibrary::load(&dlsym);
  ASSERT_TRUE(hsa) << hsa.error().message;
  const auto make = [&](size_t& loaded) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const File file, File::open_read(path_));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_trace_t captured, open_captured_trace(file, objects));
    gfxgraph_session_t session = nullptr;
    gfxgraph_step_t step = nullptr;
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = GFXGRAPH_MODE_PACKETS;
    gfxgraph_status_t status = gfxgraph_session_create(captured, nullptr, &session);
    if (status == GFXGRAPH_OK) status = gfxgraph_step_create(session, 0, &options, &step);
    const std::string text = status == GFXGRAPH_OK ? "" : gfxgraph_last_error();
    loaded = (*hsa)->executables().size();
    if (status == GFXGRAPH_OK) status = gfxgraph_step_run(step, nullptr);
    if (status == GFXGRAPH_OK) status = gfxgraph_step_wait(step);
    gfxgraph_step_destroy(step);
    gfxgraph_session_destroy(session);
    gfxgraph_trace_destroy(captured);
    if (status == GFXGRAPH_OK) return {};
    return fail(static_cast<Status>(status), text);
  };
  const size_t before = (*hsa)->executables().size();
  size_t loaded = 0;
  const Result<void> made = make(loaded);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(loaded, before + 1) << "only the library's own code, which fences need";
  // Two with such a kernel: which of them is the program's is not known.
  program.load();
  const Result<void> refused = make(loaded);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_NE(refused.error().message.find("2 of the process's executables"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
