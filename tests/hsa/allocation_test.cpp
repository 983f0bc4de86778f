// Host memory that runs out: the N-th allocation of a whole life of the agent fails, alone or with
// all after it, on any thread. Each time in a process of its own, because a faulted device stays so
// for the rest of a process. Every call comes back with a status, every completion signal is given,
// and nothing ends the process.
#include <sys/wait.h>
#include <unistd.h>

#include "hsa/agent_fault.h"
#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/code_file.h"
#include "tests/support/allocations.h"

namespace gfxgraph::hsa_test {
namespace {

using gfxgraph::testing::Failing;
using gfxgraph::testing::OfThreads;

enum Exit : int { kGood = 0, kRefused, kFaulted, kNotReached, kWrong = 100 };

struct Life {
  hsa_agent_t gpu{};
  hsa_agent_t cpu{};
  hsa_amd_memory_pool_t kernarg_pool{};
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t symbol{};
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  std::byte* kernarg = nullptr;
  unsigned* out = nullptr;
};

hsa_status_t find_agents(Life& life) {
  return hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        hsa_device_type_t type{};
        const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        auto& found = *static_cast<Life*>(data);
        (type == HSA_DEVICE_TYPE_GPU ? found.gpu : found.cpu) = agent;
        return status;
      },
      &life);
}

hsa_status_t find_pool(Life& life) {
  return hsa_amd_agent_iterate_memory_pools(
      life.cpu,
      [](hsa_amd_memory_pool_t pool, void* data) {
        static_cast<Life*>(data)->kernarg_pool = pool;
        return HSA_STATUS_SUCCESS;
      },
      &life);
}

constexpr unsigned kItems = 4096;

void submit_kernel(Life& life) {
  hsa_kernel_dispatch_packet_t p{};
  hsa_executable_symbol_get_info(life.symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                 &p.kernel_object);
  p.setup = 1;
  p.grid_size_x = kItems;
  p.grid_size_y = p.grid_size_z = 1;
  p.workgroup_size_x = 64;
  p.workgroup_size_y = p.workgroup_size_z = 1;
  p.kernarg_address = life.kernarg;
  p.completion_signal = life.done;
  std::memcpy(life.kernarg, &life.out, sizeof(life.out));
  const unsigned rest[2] = {1, kItems};  // value, n
  std::memcpy(life.kernarg + 8, rest, sizeof(rest));
  const uint64_t index = hsa_queue_add_write_index_screlease(life.queue, 1);
  auto* const slot = static_cast<std::byte*>(life.queue->base_address) + index * sizeof(p);
  std::memcpy(slot + 4, reinterpret_cast<const std::byte*>(&p) + 4, sizeof(p) - 4);
  const uint32_t first = 0x0b02 | uint32_t{p.setup} << 16;
  reinterpret_cast<std::atomic<uint32_t>*>(slot)->store(first, std::memory_order_release);
  hsa_signal_store_screlease(life.queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

// Returns an Exit.
int whole_life(std::vector<std::byte>& elf) {
  Life life;
  hsa_status_t status = hsa_init();
  const auto then = [&](auto&& call) {
    if (status == HSA_STATUS_SUCCESS) status = call();
  };
  then([&] { return find_agents(life); });
  then([&] { return find_pool(life); });
  then([&] {
    return hsa_code_object_reader_create_from_memory(elf.data(), elf.size(), &life.reader);
  });
  then([&] {
    return hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                     nullptr, &life.executable);
  });
  then([&] {
    return hsa_executable_load_agent_code_object(life.executable, life.gpu, life.reader, nullptr,
                                                 nullptr);
  });
  then([&] { return hsa_executable_freeze(life.executable, nullptr); });
  then([&] {
    return hsa_executable_get_symbol_by_name(life.executable, "fill.kd", &life.gpu, &life.symbol);
  });
  then([&] {
    return hsa_amd_memory_pool_allocate(life.kernarg_pool, 4096, 0,
                                        reinterpret_cast<void**>(&life.kernarg));
  });
  then([&] {
    return hsa_amd_memory_pool_allocate(life.kernarg_pool, kItems * sizeof(unsigned), 0,
                                        reinterpret_cast<void**>(&life.out));
  });
  then([&] { return hsa_signal_create(1, 0, nullptr, &life.done); });
  then([&] {
    return hsa_queue_create(life.gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                            UINT32_MAX, &life.queue);
  });
  if (status != HSA_STATUS_SUCCESS)
    return status == HSA_STATUS_ERROR_OUT_OF_RESOURCES ? kRefused : kWrong;
  submit_kernel(life);
  if (hsa_signal_wait_scacquire(life.done, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000'000u,
                                HSA_WAIT_STATE_BLOCKED) >= 1)
    return kWrong + 1;
  const bool faulted = *gfxgraph_agent_fault_state() != 0;
  unsigned right = 0;
  for (unsigned n = 0; n < kItems; ++n) right += life.out[n] == n + 1;
  if (!faulted && right != kItems) return kWrong + 2;
  for (const hsa_status_t destroyed :
       {hsa_queue_destroy(life.queue), hsa_executable_destroy(life.executable)}) {
    if (destroyed == HSA_STATUS_ERROR_OUT_OF_RESOURCES) return faulted ? kFaulted : kRefused;
    if (destroyed != HSA_STATUS_SUCCESS) return kWrong + 3;
  }
  return faulted ? kFaulted : kGood;
}

class EveryAllocation : public ::testing::TestWithParam<Failing> {};

TEST_P(EveryAllocation, ComesBackAndEndsNothing) {
  std::vector<std::byte> elf = device_elf("loader_kernels.co");
  ASSERT_FALSE(elf.empty());
  const std::string said = ::testing::TempDir() + "hsa_allocation_" + std::to_string(getpid());
  const auto text = [&] {
    std::ifstream file(said);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  int of[kNotReached + 1] = {};
  for (int64_t n = 1; of[kNotReached] == 0; ++n) {
    ASSERT_LT(n, 5000);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)!freopen(said.c_str(), "w", stderr);
      gfxgraph::testing::fail_allocation(n, OfThreads::kAll, GetParam());
      const int code = whole_life(elf);
      const bool reached = gfxgraph::testing::stop_failing_allocations();
      _exit(reached || code != kGood ? code : kNotReached);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "allocation " << n << ": signal " << WTERMSIG(status) << "\n"
                                   << text();
    ASSERT_LE(WEXITSTATUS(status), kNotReached) << "allocation " << n << "\n" << text();
    ++of[WEXITSTATUS(status)];
  }
  unlink(said.c_str());
  EXPECT_GT(of[kRefused], 20);
  EXPECT_GT(of[kFaulted], 5);
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryAllocation,
                         ::testing::Values(Failing::kOnce, Failing::kFromThenOn));

}  // namespace
}  // namespace gfxgraph::hsa_test
