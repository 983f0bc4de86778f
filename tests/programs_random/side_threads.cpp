#include "side_threads.h"

#include <sched.h>

#include "device.h"
#include "kernels/kernels.h"
#include "rng.h"

namespace random_programs {

// kernels.hip
void launch_fill_beside(uint32_t grid, uint32_t block, hipStream_t stream, uint32_t* d, uint32_t n,
                        uint32_t a, uint32_t spin);

namespace {

void side_check(hipError_t result, const char* call) { check(result, call); }
#define SIDE(call) side_check((call), #call)

std::mutex calls;
bool calls_apart = false;  // set before the first side thread

// Memory that one round allocates in one of three ways.
class RoundMemory {
 public:
  RoundMemory(uint32_t way, uint64_t bytes, hipStream_t stream) : way_(way), stream_(stream) {
    if (way_ == 0) SIDE(hipMalloc(&pointer_, bytes));
    if (way_ == 1) SIDE(hipMallocAsync(&pointer_, bytes, stream_));
    if (way_ == 2) SIDE(hipHostMalloc(&pointer_, bytes, hipHostMallocDefault));
  }
  void release() {
    const auto held = apart();
    if (way_ == 0) SIDE(hipFree(pointer_));
    if (way_ == 1) SIDE(hipFreeAsync(pointer_, stream_));
    if (way_ == 2) SIDE(hipHostFree(pointer_));
  }
  uint32_t* words() const { return static_cast<uint32_t*>(pointer_); }

 private:
  uint32_t way_;
  hipStream_t stream_;
  void* pointer_ = nullptr;
};

void perform_round(Rng& rng, hipStream_t stream, bool pools) {
  static constexpr uint32_t kWays[] = {0, 2, 1};
  const uint32_t words = rng.chance(60) ? 1024 : rng.between(16, 5000);
  const uint32_t value = rng.word();
  const uint32_t spin = rng.chance(20) ? rng.below(400) : 0;
  RoundMemory first(kWays[rng.below(pools ? 3 : 2)], words * 4, stream);
  RoundMemory second(pools ? rng.below(2) : 0, words * 4, stream);
  launch_fill_beside((words + 63) / 64, 64, stream, first.words(), words, value, spin);
  SIDE(hipGetLastError());
  SIDE(hipMemcpyAsync(second.words(), first.words(), words * 4, hipMemcpyDefault, stream));
  std::vector<uint32_t> result(words);
  SIDE(hipMemcpyAsync(result.data(), second.words(), words * 4, hipMemcpyDeviceToHost, stream));
  SIDE(hipStreamSynchronize(stream));
  second.release();
  first.release();
  for (uint32_t i = 0; i < words; ++i) {
    if (result[i] != fill_value(i, delay(value, spin)))
      throw Failure(text("side thread: word %u is %x", i, result[i]));
  }
}

}  // namespace

std::unique_lock<std::mutex> apart() {
  return calls_apart ? std::unique_lock(calls) : std::unique_lock<std::mutex>();
}

void* SideThreads::run(void* data) {
  auto& side = *static_cast<Side*>(data);
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  try {
    const hipStream_t stream = side.stream;
    Rng rng(side.seed, (5ull << 40) + side.number);
    for (int round = 0; round < 12; ++round) perform_round(rng, stream, side.pools);
    side.done.store(true);
    while (side.endless) {
      perform_round(rng, stream, side.pools);
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
      pthread_testcancel();
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    }
  } catch (const std::exception& error) {
    side.failure = error.what();
    side.done.store(true);
  }
  return nullptr;
}

void SideThreads::start(uint64_t seed, int threads, bool pools, bool cancel) {
  int version = 0;
  SIDE(hipRuntimeGetVersion(&version));
  calls_apart = version < 50300000;
  for (int i = 0; i < threads; ++i) {
    auto* side = new Side;
    side->seed = seed;
    side->number = static_cast<uint64_t>(i);
    side->pools = pools;
    side->endless = cancel && i + 1 == threads;
    // Never destroyed: see `pools`.
    SIDE(hipStreamCreateWithFlags(&side->stream, hipStreamNonBlocking));
    sides_.push_back(side);
    pthread_create(&side->thread, nullptr, run, side);
  }
}

void SideThreads::join() {
  for (Side* side : sides_) {
    while (!side->done.load()) sched_yield();
    if (side->endless) pthread_cancel(side->thread);
    pthread_join(side->thread, nullptr);
  }
}

void SideThreads::finish() {
  join();
  std::string failure;
  for (Side* side : sides_) {
    if (failure.empty()) failure = side->failure;
    delete side;
  }
  sides_.clear();
  if (!failure.empty()) throw Failure(failure);
}

}  // namespace random_programs
