// An HSA queue that belongs to a step, which writes prebuilt packets into it. Not one per session,
// because its steps may run concurrently, and a queue is in order.
//
// Fences join its order with that of the caller's stream, both ways: before a run the stream stores
// the run's number and the first packet waits for it; the last packet stores the number and the
// stream waits for that. Numbers only grow, so a late waiter sees a larger one; words that counted
// up and down, or were reused, would let it wait forever. Streams may share a hardware queue: a
// stream's wait is submitted only when the store that it depends on is in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "replayer/packets/packet_device.h"

namespace gfxgraph::replayer {

// Not thread-safe, but for is_complete().
class PacketQueue {
 public:
  static Result<std::unique_ptr<PacketQueue>> open(std::shared_ptr<PacketDevice> device,
                                                   const std::string& architecture);
  // Its work has ended, or the queue is in error.
  ~PacketQueue();
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(queue_); }
  uint32_t group_aperture() const { return aperture(hsa_abi::kGroupApertureOffset); }
  uint32_t private_aperture() const { return aperture(hsa_abi::kPrivateApertureOffset); }

  struct Run {
    std::span<const hsa_abi::Packet> packets;
    hip::Stream stream = nullptr;
    bool fenced_before = false;  // begins behind what the stream holds
    bool fenced_behind = false;  // what the stream gets afterwards begins behind it
  };
  // The number of the run, from 1. Allocates nothing unless it fails. Waits if the ring is full, or
  // if kFences runs are in flight.
  Result<uint64_t> submit(const Run& run);
  // An error if the queue gets into one, or the stream whose work precedes the run, or if that
  // stream was destroyed and its fence never came.
  Result<void> wait(uint64_t run, hip::Stream stream) const;
  bool is_complete(uint64_t run) const noexcept { return completed() >= run; }
  bool failed() const noexcept { return failure_.load(std::memory_order_acquire) != 0; }
  Result<void> check() const;

 private:
  explicit PacketQueue(std::shared_ptr<PacketDevice> device) : device_(std::move(device)) {}
  static constexpr uint64_t kFences = 64;  // runs in flight that have fences of their own

  struct alignas(64) FenceArguments {
    uint64_t place;
    uint64_t value;
  };
  struct Fence {
    FenceArguments in, out;
  };

  Result<void> prepare(const std::string& architecture);
  uint32_t aperture(size_t offset) const;
  uint64_t completed() const noexcept;
  Result<void> push(std::span<const std::span<const hsa_abi::Packet>> pieces);
  void copy(uint64_t at, std::span<const hsa_abi::Packet> packets) noexcept;
  hip::Error on_stream(hip::Function function, hip::Stream stream, uint64_t* place,
                       uint64_t value) const noexcept;
  hsa_abi::Packet fence_packet(const PacketKernel& kernel, const FenceArguments& arguments,
                               uint16_t scopes) const noexcept;
  static void on_error(hsa_abi::Status status, hsa_abi::Queue* queue, void* self);

  std::shared_ptr<PacketDevice> device_;
  hsa_abi::Queue* queue_ = nullptr;
  uint64_t done_ = 0;  // signal: minus the number of complete runs
  PacketKernel store_kernel_, wait_kernel_;
  hip::Function store_function_ = nullptr;
  hip::Function wait_function_ = nullptr;
  Fence* fences_ = nullptr;
  uint64_t* in_ = nullptr;        // the number of the last run that the stream has come to
  uint64_t* out_ = nullptr;       // and of the last one that is complete
  hip::Stream stream_ = nullptr;  // of the last run
  uint64_t runs_ = 0;             // submitted
  uint64_t numbers_ = 0;          // of fences; never used twice, also where a submission failed
  uint64_t last_in_ = 0;          // the last number that a fence before a run waits for
  uint64_t written_ = 0;          // packets
  std::atomic<int> failure_ = 0;  // the status of the error callback
};

}  // namespace gfxgraph::replayer
