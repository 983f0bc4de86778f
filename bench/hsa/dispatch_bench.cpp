// What the agent itself costs: doorbell to completion signal of one packet, packets in a row,
// signals, allocation. GFXGRAPH_NULL_DEVICE=1 leaves the emulator out.
#include <benchmark/benchmark.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "codeobj/code_object.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

class Agent {
 public:
  static Agent& instance() {
    static auto* const agent = new Agent();
    return *agent;
  }

  template <typename Packet>
  void submit(const Packet& packet, hsa_queue_t* queue = nullptr) {
    static_assert(sizeof(packet) == 64);
    if (queue == nullptr) queue = queue_;
    const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
    }
    auto* const slot = static_cast<std::byte*>(queue->base_address) + index % queue->size * 64;
    std::memcpy(slot + 4, reinterpret_cast<const std::byte*>(&packet) + 4, 60);
    uint32_t first = 0;
    std::memcpy(&first, &packet, 4);
    reinterpret_cast<std::atomic<uint32_t>*>(slot)->store(first, std::memory_order_release);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
  }

  hsa_kernel_dispatch_packet_t packet(hsa_signal_t completion) const {
    hsa_kernel_dispatch_packet_t p{};
    p.header = 0x0b02;
    p.setup = 1;
    p.grid_size_x = p.grid_size_y = p.grid_size_z = 1;
    p.workgroup_size_x = p.workgroup_size_y = p.workgroup_size_z = 1;
    p.kernel_object = kernel_;
    p.kernarg_address = kernarg_;
    p.completion_signal = completion;
    return p;
  }

  hsa_queue_t* make_queue() const {
    hsa_queue_t* made = nullptr;
    require(hsa_queue_create(gpu, 4096, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made) ==
            HSA_STATUS_SUCCESS);
    return made;
  }

  hsa_agent_t gpu{};
  std::vector<hsa_amd_memory_pool_t> cpu_pools, gpu_pools;

 private:
  Agent() {
    require(hsa_init() == HSA_STATUS_SUCCESS);
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* data) {
          auto* const self = static_cast<Agent*>(data);
          hsa_amd_agent_iterate_memory_pools(
              agent,
              [](hsa_amd_memory_pool_t pool, void* list) {
                static_cast<std::vector<hsa_amd_memory_pool_t>*>(list)->push_back(pool);
                return HSA_STATUS_SUCCESS;
              },
              self->cpu_pools.empty() ? &self->cpu_pools : &self->gpu_pools);
          self->gpu = agent;
          return HSA_STATUS_SUCCESS;
        },
        this);
    load();
    queue_ = make_queue();
    require(hsa_amd_memory_pool_allocate(cpu_pools[1], 4096, 0, &kernarg_) == HSA_STATUS_SUCCESS);
  }

  void load() {
    std::ifstream file(GFXGRAPH_BENCH_CODE, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>()};
    const auto entries = gfxgraph::codeobj::extract_device_elves(std::as_bytes(std::span(bytes)));
    require(entries.has_value());
    const auto* const entry = gfxgraph::codeobj::select_entry(*entries, "gfx1030");
    require(entry != nullptr);
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    hsa_executable_symbol_t symbol{};
    require(hsa_code_object_reader_create_from_memory(entry->bytes.data(), entry->bytes.size(),
                                                      &reader) == 0);
    require(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                      nullptr, &executable) == 0);
    require(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr) == 0);
    require(hsa_executable_get_symbol_by_name(executable, "empty_kernel.kd", &gpu, &symbol) == 0);
    require(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                           &kernel_) == 0);
  }

  hsa_queue_t* queue_ = nullptr;
  uint64_t kernel_ = 0;
  void* kernarg_ = nullptr;
};

hsa_signal_t signal(int64_t value) {
  hsa_signal_t made{};
  require(hsa_signal_create(value, 0, nullptr, &made) == HSA_STATUS_SUCCESS);
  return made;
}

// One wave, nothing else under way: doorbell store to completion signal seen.
void EmptyKernelRoundTrip(benchmark::State& state) {
  Agent& agent = Agent::instance();
  const hsa_signal_t done = signal(0);
  const auto packet = agent.packet(done);
  std::vector<int64_t> times;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    hsa_signal_store_relaxed(done, 1);
    agent.submit(packet);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
    times.push_back((std::chrono::steady_clock::now() - start).count());
  }
  // On a busy machine the mean is the scheduler's; the percentiles are the agent's.
  std::sort(times.begin(), times.end());
  state.counters["p10_ns"] = static_cast<double>(times[times.size() / 10]);
  state.counters["median_ns"] = static_cast<double>(times[times.size() / 2]);
}
BENCHMARK(EmptyKernelRoundTrip)->UseRealTime();

// As it is with launches in a row: time per kernel.
void EmptyKernelsInARow(benchmark::State& state) {
  constexpr int kBatch = 1000;
  Agent& agent = Agent::instance();
  const hsa_signal_t done = signal(0);
  const auto quiet = agent.packet({0});
  const auto last = agent.packet(done);
  for (auto _ : state) {
    hsa_signal_store_relaxed(done, 1);
    for (int i = 1; i < kBatch; ++i) agent.submit(quiet);
    agent.submit(last);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(EmptyKernelsInARow)->UseRealTime();

// A wide graph: eight independent branches of 25 kernels and what follows all of them, in one
// queue, or in several that a barrier-AND packet joins. Arguments: queues, work items of a kernel.
void EightBranches(benchmark::State& state) {
  constexpr size_t kBranches = 8;
  constexpr size_t kKernels = 25;
  Agent& agent = Agent::instance();
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<hsa_queue_t*> queues;
  std::vector<hsa_signal_t> ends;
  for (size_t i = 0; i < count; ++i) {
    queues.push_back(agent.make_queue());
    ends.push_back(signal(0));
  }
  const hsa_signal_t done = signal(0);
  hsa_kernel_dispatch_packet_t kernel = agent.packet({0});
  kernel.grid_size_x = static_cast<uint32_t>(state.range(1));
  kernel.workgroup_size_x = static_cast<uint16_t>(std::min<int64_t>(state.range(1), 64));
  int64_t submit_ns = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    hsa_signal_store_relaxed(done, 1);
    for (size_t i = 1; i < count; ++i) hsa_signal_store_relaxed(ends[i], 1);
    // Branches in turns, as their kernels are recorded.
    for (size_t n = 0; n < kKernels; ++n) {
      for (size_t branch = 0; branch < kBranches; ++branch) {
        const size_t at = branch % count;
        hsa_kernel_dispatch_packet_t packet = kernel;
        const bool last = n + 1 == kKernels && branch + count >= kBranches;
        if (last && at != 0) packet.completion_signal = ends[at];
        agent.submit(packet, queues[at]);
      }
    }
    for (size_t first = 1; first < count; first += 5) {
      hsa_barrier_and_packet_t join{};
      join.header = 0x1503;  // barrier bit, system scopes
      for (size_t i = first; i < std::min(first + 5, count); ++i)
        join.dep_signal[i - first] = ends[i];
      agent.submit(join, queues[0]);
    }
    hsa_kernel_dispatch_packet_t behind = kernel;
    behind.completion_signal = done;
    agent.submit(behind, queues[0]);
    submit_ns += (std::chrono::steady_clock::now() - start).count();
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  }
  state.counters["submit_ns"] =
      static_cast<double>(submit_ns) / static_cast<double>(state.iterations());
  for (size_t i = 0; i < count; ++i) {
    hsa_queue_destroy(queues[i]);
    hsa_signal_destroy(ends[i]);
  }
  hsa_signal_destroy(done);
}
BENCHMARK(EightBranches)
    ->UseRealTime()
    ->ArgNames({"queues", "items"})
    ->ArgsProduct({{1, 2, 4, 8}, {1, 65536}});

void SignalStoreAndLoad(benchmark::State& state) {
  Agent::instance();
  const hsa_signal_t s = signal(0);
  int64_t i = 0;
  for (auto _ : state) {
    hsa_signal_store_screlease(s, ++i);
    benchmark::DoNotOptimize(hsa_signal_load_relaxed(s));
  }
}
BENCHMARK(SignalStoreAndLoad);

void AllocateAndFree(benchmark::State& state) {
  Agent& agent = Agent::instance();
  for (auto _ : state) {
    void* memory = nullptr;
    hsa_amd_memory_pool_allocate(agent.gpu_pools[0], static_cast<size_t>(state.range(0)), 0,
                                 &memory);
    hsa_amd_memory_pool_free(memory);
  }
}
BENCHMARK(AllocateAndFree)->Arg(4096)->Arg(4 << 20);

}  // namespace
