// Kernels through a queue: real code of tests/hsa/code on the emulator.
#include <array>
#include <chrono>
#include <cstdlib>

#include "hsa/agent_fault.h"
#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/code_file.h"

namespace gfxgraph::hsa_test {
namespace {

class DispatchTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    elf_ = device_elf("loader_kernels.co");
    ASSERT_FALSE(elf_.empty());
    hsa_code_object_reader_t reader{};
    ASSERT_EQ(hsa_code_object_reader_create_from_memory(elf_.data(), elf_.size(), &reader),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                        nullptr, &executable_),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_load_agent_code_object(executable_, gpu_, reader, nullptr, nullptr),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_freeze(executable_, nullptr), HSA_STATUS_SUCCESS);
    hsa_code_object_reader_destroy(reader);
    kernarg_ = allocate<std::byte>(kernarg_pool(), 4096);
  }
  void TearDown() override {
    hsa_executable_destroy(executable_);
    AgentTest::TearDown();
  }

  hsa_kernel_dispatch_packet_t packet(const char* kernel, uint32_t grid, uint16_t group,
                                      hsa_signal_t completion) {
    hsa_executable_symbol_t symbol{};
    EXPECT_EQ(hsa_executable_get_symbol_by_name(executable_, kernel, &gpu_, &symbol),
              HSA_STATUS_SUCCESS);
    hsa_kernel_dispatch_packet_t p{};
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                   &p.kernel_object);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                   &p.group_segment_size);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                   &p.private_segment_size);
    p.header = 0x0b02;
    p.setup = 1;
    p.grid_size_x = grid;
    p.grid_size_y = p.grid_size_z = 1;
    p.workgroup_size_x = group;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.kernarg_address = kernarg_;
    p.completion_signal = completion;
    return p;
  }

  // Arguments one after the other, each aligned to its size; then the hidden arguments that
  // the kernels' blockDim needs are left zero: code object v4 takes it from the packet.
  template <typename... T>
  void arguments(T... values) {
    std::memset(kernarg_, 0, 4096);
    size_t offset = 0;
    const auto put = [&](const auto& value) {
      offset = (offset + sizeof(value) - 1) / sizeof(value) * sizeof(value);
      std::memcpy(kernarg_ + offset, &value, sizeof(value));
      offset += sizeof(value);
    };
    (put(values), ...);
  }

  std::vector<std::byte> elf_;
  hsa_executable_t executable_{};
  std::byte* kernarg_ = nullptr;
};

TEST_F(DispatchTest, EmptyKernel) {
  hsa_queue_t* const q = queue();
  const hsa_signal_t done = signal(100);
  for (int i = 0; i < 100; ++i) submit(q, packet("empty_kernel.kd", 1, 1, done));
  EXPECT_TRUE(wait_until_zero(done));
  hsa_queue_destroy(q);
}

TEST_F(DispatchTest, FillWritesEveryElementAndNoOther) {
  hsa_queue_t* const q = queue();
  auto* const out = allocate<uint32_t>(device_pool(), 1000);
  std::memset(out, 0xee, 4000);
  const hsa_signal_t done = signal(1);
  arguments(out, uint32_t{5}, uint32_t{777});
  submit(q, packet("fill.kd", 1000, 256, done));
  ASSERT_TRUE(wait_until_zero(done));
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(out[i], i < 777 ? 5 + i : 0xeeeeeeee) << i;
  hsa_queue_destroy(q);
  hsa_amd_memory_pool_free(out);
}

// Found by the look every 50 ms alone, the rounds would take twice the time that they have.
TEST_F(DispatchTest, AStoreOfAKernelEndsABarrierValueAtOnce) {
  constexpr int kRounds = 400;
  hsa_queue_t* const writes = queue();
  hsa_queue_t* const waits = queue();
  const hsa_signal_t value = signal(0);
  const hsa_signal_t done = signal(kRounds);
  volatile hsa_signal_value_t* place = nullptr;
  ASSERT_EQ(hsa_amd_signal_value_pointer(value, &place), HSA_STATUS_SUCCESS);
  const hsa_signal_t written = signal(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int round = 1; round <= kRounds; ++round) {
    hsa_amd_barrier_value_packet_t wait{};
    wait.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
    wait.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    wait.signal = value;
    wait.value = round;
    wait.mask = -1;
    wait.cond = HSA_SIGNAL_CONDITION_GTE;
    wait.completion_signal = done;
    submit(waits, wait);
    // The next round only when this one is over: every wait begins before its store.
    hsa_signal_store_screlease(written, 1);
    arguments(place, static_cast<uint32_t>(round), uint32_t{1});
    submit(writes, packet("fill.kd", 1, 1, written));
    ASSERT_TRUE(wait_until_zero(written));
    ASSERT_LE(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, kRounds - round + 1,
                                        10'000'000'000u, HSA_WAIT_STATE_BLOCKED),
              kRounds - round);
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "round " << round;
  }
  hsa_queue_destroy(writes);
  hsa_queue_destroy(waits);
}

TEST_F(DispatchTest, LockedHostMemoryIsReachable) {
  hsa_queue_t* const q = queue();
  std::vector<uint32_t> host(300);
  void* device = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(host.data(), host.size() * 4, nullptr, 0, &device),
            HSA_STATUS_SUCCESS);
  const hsa_signal_t done = signal(1);
  arguments(device, uint32_t{1}, uint32_t{300});
  submit(q, packet("fill.kd", 512, 64, done));
  ASSERT_TRUE(wait_until_zero(done));
  EXPECT_EQ(host[0], 1u);
  EXPECT_EQ(host[299], 300u);
  ASSERT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_SUCCESS);
  hsa_queue_destroy(q);
}

// The end of one lock, within a word, is no bound in another one.
TEST_F(DispatchTest, LocksThatOverlapAreOneMemory) {
  hsa_queue_t* const q = queue();
  std::vector<uint32_t> host(300);
  auto* const bytes = reinterpret_cast<std::byte*>(host.data());
  void* device = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(bytes + 402, 300, nullptr, 0, &device), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_lock(bytes, 102, nullptr, 0, &device), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_lock(bytes, host.size() * 4, nullptr, 0, &device), HSA_STATUS_SUCCESS);
  for (uint32_t round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    const hsa_signal_t done = signal(1);
    arguments(device, round, uint32_t{300});
    submit(q, packet("fill.kd", 512, 64, done));
    ASSERT_TRUE(wait_until_zero(done));
    EXPECT_EQ(host[25], 25 + round);
    EXPECT_EQ(host[299], 299 + round);
    std::byte* const first = bytes + (round == 1 ? 402 : 0);
    ASSERT_EQ(hsa_amd_memory_unlock(first), HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(hsa_amd_memory_unlock(bytes), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_destroy(q);
}

TEST_F(DispatchTest, GlobalsAndRelocatedPointers) {
  hsa_queue_t* const q = queue();
  auto* const out = allocate<int>(device_pool(), 3);
  const hsa_signal_t done = signal(2);
  arguments(out);
  submit(q, packet("use_globals.kd", 1, 1, done));
  submit(q, packet("use_globals.kd", 1, 1, done));
  ASSERT_TRUE(wait_until_zero(done));
  EXPECT_EQ(out[0], 11);
  EXPECT_EQ(out[1], 13);
  EXPECT_EQ(out[2], 42 * 3);
  hsa_queue_destroy(q);
}

// $GFXGRAPH_PACKET_ORDER=reversed: hsa_dispatch_reversed_test.
bool reversed() { return std::getenv("GFXGRAPH_PACKET_ORDER") != nullptr; }

constexpr uint16_t kBarrierBit = 1 << HSA_PACKET_HEADER_BARRIER;

TEST_F(DispatchTest, PacketsRunInAnyOrderThatTheirBarrierBitsAllow) {
  hsa_queue_t* const q = queue();
  auto* const out = allocate<uint32_t>(device_pool(), 1);
  // The values of three kernels that write one place; which of them have the bit.
  const auto last_of = [&](std::array<bool, 3> bits) {
    const hsa_signal_t gate = signal(1);
    const hsa_signal_t done = signal(1);
    submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {gate}, {}));
    for (uint32_t i = 0; i < 3; ++i) {
      hsa_kernel_dispatch_packet_t one = packet("fill.kd", 1, 1, {});
      if (!bits[i]) one.header = static_cast<uint16_t>(one.header & ~kBarrierBit);
      const struct {
        uint32_t* out;
        uint32_t value, count;
      } its{out, i + 1, 1};
      one.kernarg_address = kernarg_ + 256 * i;
      std::memset(one.kernarg_address, 0, 256);
      std::memcpy(one.kernarg_address, &its, sizeof(its));
      submit(q, one);
    }
    hsa_barrier_and_packet_t end = barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done);
    end.header |= HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    submit(q, end);
    hsa_signal_store_screlease(gate, 0);
    EXPECT_TRUE(wait_until_zero(done));
    return *out;
  };
  EXPECT_EQ(last_of({true, true, true}), 3u);
  EXPECT_EQ(last_of({true, false, true}), 3u);
  EXPECT_EQ(last_of({true, true, false}), reversed() ? 2u : 3u);
  EXPECT_EQ(last_of({true, false, false}), reversed() ? 1u : 3u);
  EXPECT_EQ(last_of({false, false, false}), reversed() ? 1u : 3u);
  hsa_queue_destroy(q);
  hsa_amd_memory_pool_free(out);
}

TEST_F(DispatchTest, AnOpenDependencyKeepsPacketsInOrder) {
  hsa_queue_t* const q = queue();
  const hsa_signal_t gate = signal(1);
  const hsa_signal_t one = signal(1);
  const hsa_signal_t other = signal(1);
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {gate}, {}));
  submit(q, packet("empty_kernel.kd", 1, 1, {}));
  hsa_kernel_dispatch_packet_t first = packet("empty_kernel.kd", 1, 1, one);
  first.header = 0x1402;  // system scopes, no barrier bit
  submit(q, first);
  hsa_barrier_and_packet_t wait = barrier(HSA_PACKET_TYPE_BARRIER_AND, {one}, {});
  wait.header = static_cast<uint16_t>(wait.header & ~kBarrierBit);
  submit(q, wait);
  first.completion_signal = other;
  submit(q, first);
  hsa_signal_store_screlease(gate, 0);
  EXPECT_TRUE(wait_until_zero(other));
  EXPECT_EQ(hsa_signal_load_scacquire(one), 0);
  hsa_queue_destroy(q);
}

// A fault puts the process's device out of use: each case runs in a process of its own.
using DispatchDeathTest = DispatchTest;

TEST_F(DispatchDeathTest, AFaultIsToldAndRefusesWhatFollows) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        hsa_queue_t* const q = queue();
        auto* const out = allocate<uint32_t>(device_pool(), 100);
        const hsa_signal_t done = signal(2);
        arguments(out, uint64_t{1} << 30);
        submit(q, packet("write_at.kd", 1, 1, done));
        submit(q, packet("fill.kd", 1, 1, done));
        // The queue lives on, and what waits is not left waiting.
        bool good = wait_until_zero(done);
        good = good && *gfxgraph_agent_fault_state() == GFXGRAPH_AGENT_FAULT_MEMORY;
        uint32_t host[100];
        const hsa_signal_t copied = signal(1);
        good = good && hsa_amd_memory_async_copy(host, cpu_, out, gpu_, 400, 0, nullptr, copied) ==
                           HSA_STATUS_ERROR_EXCEPTION;
        good = good && hsa_memory_copy(host, out, 400) == HSA_STATUS_ERROR_EXCEPTION;
        void* more = nullptr;
        good = good && hsa_amd_memory_pool_allocate(device_pool(), 64, 0, &more) ==
                           HSA_STATUS_ERROR_EXCEPTION;
        std::exit(good ? 0 : 7);  // 0 becomes 1
      },
      testing::ExitedWithCode(1),
      "device fault: .*write_at.*(global_store|flat_store).*exit status 1 instead of 0");
}

// What the host trusts is not writable for kernels: the queue and its ring. In an untrusted trace
// (GFXGRAPH_HOST_CALLS=deny) arguments of packets and signals neither.
TEST_F(DispatchDeathTest, AKernelCannotWriteWhatTheHostTrusts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto write_into = [this](int target) {
    hsa_queue_t* const q = queue();
    auto* const ring = static_cast<std::byte*>(q->base_address);
    std::byte* const places[] = {reinterpret_cast<std::byte*>(q), ring + 640, kernarg_,
                                 reinterpret_cast<std::byte*>(signal(5).handle)};
    const hsa_signal_t done = signal(1);
    arguments(places[target], uint64_t{2});
    std::array<std::byte, sizeof(hsa_queue_t)> before;  // the indexes come later
    std::memcpy(before.data(), places[target], before.size());
    submit(q, packet("write_at.kd", 1, 1, done));
    const bool ended = wait_until_zero(done);
    std::exit(ended && std::memcmp(before.data(), places[target], before.size()) == 0 &&
                      *gfxgraph_agent_fault_state() == GFXGRAPH_AGENT_FAULT_MEMORY
                  ? 3
                  : 7);
  };
  const char* const calls = std::getenv("GFXGRAPH_HOST_CALLS");
  const bool denied = calls != nullptr && std::string(calls) == "deny";
  for (int target = 0; target < (denied ? 4 : 2); ++target) {
    EXPECT_EXIT(write_into(target), testing::ExitedWithCode(3),
                "write of 4 bytes at .* is in read-only memory");
  }
}

TEST_F(DispatchDeathTest, ACooperativeQueueTakesWhatTheDeviceHoldsAndNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        hsa_queue_t* const q = queue(64, HSA_QUEUE_TYPE_COOPERATIVE);
        auto* const out = allocate<uint32_t>(device_pool(), 100);
        arguments(out, uint32_t{5}, uint32_t{100});
        const hsa_signal_t fits = signal(1);
        submit(q, packet("fill.kd", 36 * 64 * 32, 32, fits));
        const bool good = wait_until_zero(fits) && out[99] != 0;
        const bool before = *gfxgraph_agent_fault_state() == GFXGRAPH_AGENT_FAULT_NONE;
        const hsa_signal_t too_many = signal(1);
        submit(q, packet("fill.kd", 36 * 64 * 32 + 1, 32, too_many));
        std::exit(good && before && wait_until_zero(too_many) &&
                          *gfxgraph_agent_fault_state() == GFXGRAPH_AGENT_FAULT_OTHER
                      ? 3
                      : 7);
      },
      testing::ExitedWithCode(3),
      "a cooperative launch of 2305 workgroups of 1 waves and 0 bytes of LDS; at most 2304 "
      "of them run");
}

TEST_F(DispatchDeathTest, AnUnknownPacketIsToldWithItsNumber) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        hsa_queue_t* const q = queue();
        const hsa_signal_t done = signal(1);
        hsa_barrier_and_packet_t bad = barrier(HSA_PACKET_TYPE_AGENT_DISPATCH, {}, done);
        submit(q, bad);
        std::exit(wait_until_zero(done) &&
                          *gfxgraph_agent_fault_state() == GFXGRAPH_AGENT_FAULT_OTHER
                      ? 3
                      : 7);
      },
      testing::ExitedWithCode(3), "packet 0: unsupported AQL packet type .header 0x0104");
}

TEST_F(DispatchDeathTest, ScopesThatAreTooSmallAreFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto expect = [&](std::vector<uint16_t> headers, const char* fault) {
    EXPECT_EXIT(
        {
          hsa_queue_t* const q = queue();
          const hsa_signal_t done = signal(1);
          for (size_t i = 0; i < headers.size(); ++i) {
            hsa_kernel_dispatch_packet_t one =
                packet("empty_kernel.kd", 1, 1, i + 1 == headers.size() ? done : hsa_signal_t{});
            one.header = headers[i];
            submit(q, one);
          }
          const bool ended = wait_until_zero(done);
          const bool faulted = *gfxgraph_agent_fault_state() != GFXGRAPH_AGENT_FAULT_NONE;
          std::exit(ended && faulted == (reversed() && *fault != '\0') ? 3 : 7);
        },
        testing::ExitedWithCode(3), reversed() ? fault : "");
  };
  // Type 2, barrier bit 0x100; acquire agent 0x200, system 0x400; release agent 0x800, system
  // 0x1000.
  expect({0x0b02, 0x1502}, "");
  expect({0x0902, 0x1102}, "packet 1: header 0x1102: it has no acquire fence");
  expect({0x0902, 0x1002}, "");
  expect({0x0302, 0x1502}, "packet 1: header 0x1502: an earlier dispatch has no release fence");
  expect({0x0b02, 0x0b02}, "packet 1: header 0x0b02: it has a completion signal, but writes");
}

TEST_F(DispatchDeathTest, TheErrorCallbackIsCalledWhenAborting) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        hsa_shut_down();
        hsa_init();
        hsa_queue_t* q = nullptr;
        hsa_queue_create(
            gpu_, 64, HSA_QUEUE_TYPE_MULTI,
            [](hsa_status_t status, hsa_queue_t*, void*) {
              _exit(status == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT ? 9 : 8);
            },
            nullptr, 0, 0, &q);
        submit(q, barrier(HSA_PACKET_TYPE_AGENT_DISPATCH, {}, signal(1)));
        const hsa_signal_t never = signal(1);
        hsa_signal_wait_scacquire(never, HSA_SIGNAL_CONDITION_LT, 1, 300'000'000,
                                  HSA_WAIT_STATE_BLOCKED);
        std::exit(7);
      },
      testing::ExitedWithCode(std::getenv("GFXGRAPH_ON_FAULT") == nullptr ? 7 : 9), "");
}

// Each packet that no device can run fails its queue only, with the status of AMD's runtime: the
// packet never completes, and other queues go on.
TEST_F(DispatchDeathTest, PacketsOfTheErrorCallback) {
  if (std::getenv("GFXGRAPH_ON_FAULT") == nullptr) GTEST_SKIP() << "GFXGRAPH_ON_FAULT=abort only";
  const hsa_signal_t open = signal(1);
  const auto refused = [&](hsa_status_t expected, const auto& change) {
    struct Told {
      std::atomic<uint32_t> status{0};
      std::atomic<hsa_queue_t*> source{nullptr};
    } told;
    hsa_queue_t* q = nullptr;
    ASSERT_EQ(hsa_queue_create(
                  gpu_, 64, HSA_QUEUE_TYPE_MULTI,
                  [](hsa_status_t status, hsa_queue_t* source, void* data) {
                    static_cast<Told*>(data)->source = source;
                    static_cast<Told*>(data)->status = status;
                  },
                  &told, 0, 0, &q),
              HSA_STATUS_SUCCESS);
    hsa_kernel_dispatch_packet_t bad = packet("empty_kernel.kd", 1, 1, open);
    change(bad);
    submit(q, bad);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (told.status == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_EQ(told.status, uint32_t{expected});
    EXPECT_EQ(told.source, q);
    EXPECT_EQ(hsa_signal_load_relaxed(open), 1);
    hsa_queue_destroy(q);
  };
  using Packet = hsa_kernel_dispatch_packet_t;
  refused(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, [](Packet& p) { p.setup = 4; });
  refused(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, [](Packet& p) { p.setup = 0; });
  refused(HSA_STATUS_ERROR_INVALID_ALLOCATION, [](Packet& p) { p.group_segment_size = 65537; });
  refused(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, [](Packet& p) { p.kernel_object = 0; });
  refused(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, [](Packet& p) { p.kernel_object += 8; });
  refused(HSA_STATUS_ERROR_INVALID_ARGUMENT, [](Packet& p) { p.workgroup_size_x = 1025; });
  refused(HSA_STATUS_ERROR_INVALID_ARGUMENT, [](Packet& p) { p.workgroup_size_x = 0; });
  refused(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, [](Packet& p) { p.header |= 0xff; });
  hsa_queue_t* const q = queue();
  const hsa_signal_t done = signal(1);
  submit(q, packet("empty_kernel.kd", 1, 1, done));
  EXPECT_TRUE(wait_until_zero(done));
  hsa_queue_destroy(q);
}

// Without a callback it is a fault of the device.
TEST_F(DispatchDeathTest, ADispatchWithoutDimensions) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        hsa_queue_t* const q = queue();
        hsa_kernel_dispatch_packet_t bad = packet("empty_kernel.kd", 1, 1, signal(1));
        bad.setup = 4;
        const hsa_signal_t done = bad.completion_signal;
        submit(q, bad);
        std::exit(wait_until_zero(done) ? 0 : 3);
      },
      testing::ExitedWithCode(1), "bad dispatch: a number of dimensions that is not 1, 2 or 3");
}

}  // namespace
}  // namespace gfxgraph::hsa_test
