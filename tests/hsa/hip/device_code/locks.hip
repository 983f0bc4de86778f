// Workgroups that wait for each other: locks with far more workgroups than the device holds, and
// kernels on two streams, and the host, that hand a ball back and forth.
#include "../array.h"

struct Shared {
  unsigned lock, next_ticket, now_serving, users;
  unsigned long long plain, most_users;
};

// In the lock: something that no other may see half done. It takes more than a time slice now and
// then, so that others meet a taken lock.
__device__ void critical(volatile Shared* shared, unsigned turn) {
  if (++shared->users > shared->most_users) shared->most_users = shared->users;
  const unsigned long long old = shared->plain;
  for (unsigned i = 0; i < (turn % 64 == 0 ? 30u : 3u); ++i) {
    __builtin_amdgcn_s_sleep(1);
    (void)shared->lock;
  }
  shared->plain = old + turn;
  --shared->users;
}

__global__ void spin(Shared* shared) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&shared->lock, 0u, 1u) != 0) {
  }
  __threadfence();
  critical(shared, blockIdx.x);
  __threadfence();
  atomicExch(&shared->lock, 0u);
}

// Every lane, one after the other: lanes of a wave that wait for one of themselves wait for ever,
// because a wave leaves a loop when its last lane does.
__global__ void spin_lanes(Shared* shared) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (threadIdx.x % 32 != lane) continue;
    while (atomicCAS(&shared->lock, 0u, 1u) != 0) {
    }
    __threadfence();
    critical(shared, blockIdx.x * blockDim.x + threadIdx.x);
    __threadfence();
    atomicExch(&shared->lock, 0u);
  }
}

__global__ void tickets(Shared* shared) {
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(&shared->next_ticket, 1u);
  while (atomicAdd(&shared->now_serving, 0u) != ticket) __builtin_amdgcn_s_sleep(1);
  __threadfence();
  critical(shared, ticket);
  __threadfence();
  atomicAdd(&shared->now_serving, 1u);
}

// The first workgroup waits for the last one, though the device cannot hold them all: those between
// must end.
__global__ void first_waits_for_last(unsigned* ended) {
  if (blockIdx.x == 0)
    while (atomicAdd(ended, 0u) != gridDim.x - 1) __builtin_amdgcn_s_sleep(2);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(ended, 1u);
}

__device__ void wait_for(volatile unsigned* flag, unsigned value) {
  while (*flag != value) __builtin_amdgcn_s_sleep(2);
  __threadfence_system();
}

// One block of numbers after the other: `full` counts what was put there, `empty` what was taken.
__global__ void produce(unsigned* block, unsigned* full, unsigned* empty, unsigned turns) {
  for (unsigned turn = 1; turn <= turns; ++turn) {
    wait_for(empty, turn - 1);
    __syncthreads();
    block[threadIdx.x] = turn * 1000 + threadIdx.x;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile unsigned*>(full) = turn;
  }
}

__global__ void consume(const unsigned* block, unsigned* full, unsigned* empty, unsigned turns,
                        unsigned* out) {
  for (unsigned turn = 1; turn <= turns; ++turn) {
    wait_for(full, turn);
    __syncthreads();
    out[(turn - 1) * blockDim.x + threadIdx.x] =
        static_cast<const volatile unsigned*>(block)[threadIdx.x];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile unsigned*>(empty) = turn;
  }
}

static void check_shared(const DeviceArray<Shared>& shared, unsigned long long turns) {
  const Shared got = shared.read()[0];
  CHECK(got.plain == turns * (turns - 1) / 2);
  CHECK(got.most_users == 1 && got.users == 0 && got.lock == 0);
}

static void run_locks() {
  constexpr unsigned kBlocks = 1300;  // the device holds 1152 of two waves
  const DeviceArray<Shared> a(1), b(1), c(1);
  spin<<<kBlocks, 64>>>(a.data());
  check_shared(a, kBlocks);
  spin_lanes<<<11, 40>>>(b.data());
  check_shared(b, 11 * 40);
  tickets<<<kBlocks, 64>>>(c.data());
  check_shared(c, kBlocks);
  const DeviceArray<unsigned> ended(1);
  first_waits_for_last<<<20000, 64>>>(ended.data());
  CHECK(ended.read()[0] == 20000);
}

static void run_streams(bool flags_on_host) {
  constexpr unsigned kThreads = 96;
  constexpr unsigned kTurns = 50;
  const DeviceArray<unsigned> block(kThreads), out(kThreads * kTurns), device_flags(2);
  unsigned* flags = device_flags.data();
  if (flags_on_host) {
    HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&flags), 2 * sizeof(unsigned), 0));
    flags[0] = flags[1] = 0;
  }
  hipStream_t first, second;
  HIP_OK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP_OK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  HIP_OK(hipDeviceSynchronize());
  // The one that waits goes first.
  consume<<<1, kThreads, 0, first>>>(block.data(), &flags[0], &flags[1], kTurns, out.data());
  produce<<<1, kThreads, 0, second>>>(block.data(), &flags[0], &flags[1], kTurns);
  HIP_OK(hipStreamSynchronize(first));
  HIP_OK(hipStreamSynchronize(second));
  const std::vector<unsigned> got = out.read();
  for (unsigned i = 0; i < got.size(); ++i)
    CHECK(got[i] == (i / kThreads + 1) * 1000 + i % kThreads);
  if (flags_on_host) HIP_OK(hipHostFree(flags));
  HIP_OK(hipStreamDestroy(first));
  HIP_OK(hipStreamDestroy(second));
}

// The host is the producer.
static void run_host() {
  constexpr unsigned kTurns = 20;
  unsigned* shared = nullptr;  // full, empty, then the block
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&shared), (2 + 32) * sizeof(unsigned), 0));
  shared[0] = shared[1] = 0;
  const DeviceArray<unsigned> out(32 * kTurns);
  consume<<<1, 32>>>(shared + 2, &shared[0], &shared[1], kTurns, out.data());
  for (unsigned turn = 1; turn <= kTurns; ++turn) {
    while (__atomic_load_n(&shared[1], __ATOMIC_ACQUIRE) != turn - 1) {
    }
    for (unsigned i = 0; i < 32; ++i) shared[2 + i] = turn * i;
    __atomic_store_n(&shared[0], turn, __ATOMIC_RELEASE);
  }
  const std::vector<unsigned> got = out.read();
  for (unsigned i = 0; i < got.size(); ++i) CHECK(got[i] == (i / 32 + 1) * (i % 32));
  HIP_OK(hipHostFree(shared));
}

int main() {
  run_locks();
  run_streams(false);
  run_streams(true);
  run_host();
  return done();
}
