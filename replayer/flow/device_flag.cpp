#include "replayer/flow/device_flag.h"

#include <bit>
#include <thread>

namespace gfxgraph::replayer {
namespace {

// One bit of a word, as long as this lives.
class Place {
 public:
  explicit Place(std::atomic<uint64_t>& taken) : taken_(taken) {
    for (;;) {
      uint64_t now = taken_.load(std::memory_order_relaxed);
      number_ = static_cast<uint32_t>(std::countr_one(now));
      if (number_ == 64) {
        std::this_thread::yield();  // as many threads wait for their streams
      } else if (taken_.compare_exchange_weak(now, now | bit(), std::memory_order_acquire)) {
        return;
      }
    }
  }
  ~Place() { taken_.fetch_and(~bit(), std::memory_order_release); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  uint32_t number() const { return number_; }

 private:
  uint64_t bit() const { return uint64_t{1} << number_; }
  std::atomic<uint64_t>& taken_;
  uint32_t number_ = 0;
};

}  // namespace

DeviceFlag::~DeviceFlag() {
  if (places_ != nullptr) library_.table().hipHostFree(const_cast<int32_t*>(places_));
}

Result<void> DeviceFlag::use(const int32_t* flag) {
  flag_ = flag;
  if (flag == nullptr) return {};
  void* places = nullptr;
  GFXGRAPH_TRY(library_.check(library_.table().hipHostMalloc(&places, kPlaces * sizeof(int32_t), 0),
                              "hipHostMalloc"));
  places_ = static_cast<volatile int32_t*>(places);
  return {};
}

Result<int32_t> DeviceFlag::read(hip::Stream stream) {
  const Place place(taken_);
  volatile int32_t* const to = places_ + place.number();
  const hip::Error code = library_.table().hipMemcpyAsync(
      const_cast<int32_t*>(to), flag_, sizeof(int32_t), hip::kCopyDefault, stream);
  GFXGRAPH_TRY(library_.check(code, "reading the flag"));
  GFXGRAPH_TRY(library_.wait_for(stream));
  reads_.fetch_add(1, std::memory_order_relaxed);
  return *to;
}

}  // namespace gfxgraph::replayer
