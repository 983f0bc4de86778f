// An HSA queue of a session's own, into which its steps write packets that were built beforehand.
//
// Fences join its order with that of the caller's stream, both ways: before a run the stream stores
// the run's number and the first packet waits for it; the last packet stores the number and the
// stream waits for that. Numbers only ever grow, so a waiter that looks late sees a larger one;
// words that counted up and down, or were used again, would let it wait forever. The submission and
// both fences of a run are made under one lock: streams may share a hardware queue, and a wait in
// it must not stand before the store that it depends on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "replayer/hip_library.h"
#include "replayer/hsa_library.h"
#include "replayer/packet_code.h"

namespace gfxgraph::replayer {

// Thread-safe where it says so.
class PacketQueue {
 public:
  static Result<std::shared_ptr<PacketQueue>> open(std::shared_ptr<const HipLibrary> hip,
                                                   const HipDevice& device);
  // Its work has ended, or the queue is in error.
  ~PacketQueue();
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  PacketCode& code() { return *code_; }  // not thread-safe
  // Memory that the device reads arguments from; both of them read and write it.
  Result<std::byte*> allocate(size_t bytes, std::string_view what) const;
  void release(void* memory) const noexcept;

  uint64_t address() const { return reinterpret_cast<uint64_t>(queue_); }
  uint32_t group_aperture() const { return aperture(hsa_abi::kGroupApertureOffset); }
  uint32_t private_aperture() const { return aperture(hsa_abi::kPrivateApertureOffset); }
  uint64_t group_bytes_limit() const { return group_bytes_limit_; }

  // One run: thread-safe. `in`: a word of allocate(), of this step and stream alone, set to 0
  // before its first run; null: no fence before. `out`: the stream waits for the run.
  struct Run {
    std::span<const hsa_abi::Packet> packets;
    hip::Stream stream = nullptr;
    uint64_t* in = nullptr;
    bool out = false;
  };
  // The number of the run, for wait(). Allocates nothing unless it fails.
  Result<uint64_t> submit(const Run& run);
  // Thread-safe. Returns an error when the queue gets into one, or the stream that `run` waits for.
  Result<void> wait(uint64_t run, hip::Stream stream) const;
  bool is_complete(uint64_t run) const noexcept { return completed() >= run; }  // thread-safe
  bool failed() const noexcept { return failure_.load(std::memory_order_acquire) != 0; }
  Result<void> check() const;

 private:
  PacketQueue(std::shared_ptr<const HipLibrary> hip, std::shared_ptr<const HsaLibrary> hsa)
      : hip_(std::move(hip)), hsa_(std::move(hsa)) {}
  static constexpr uint64_t kFences = 64;  // runs in flight that have fences of their own

  struct alignas(64) FenceArguments {
    uint64_t place;
    uint64_t value;
  };
  struct Fence {
    FenceArguments in, out;
  };

  Result<void> prepare(const HipDevice& device);
  Result<void> find_agents(const HipDevice& device);
  Result<void> find_pools();
  Result<void> create_queue();
  uint32_t aperture(size_t offset) const;
  uint64_t completed() const noexcept;
  Result<void> push(std::span<const std::span<const hsa_abi::Packet>> pieces);
  void copy(uint64_t at, std::span<const hsa_abi::Packet> packets) noexcept;
  hip::Error on_stream(hip::Function function, hip::Stream stream, uint64_t* place,
                       uint64_t value) const noexcept;
  hsa_abi::Packet fence_packet(const PacketKernel& kernel, const FenceArguments& arguments,
                               uint16_t scopes) const noexcept;
  static void on_error(hsa_abi::Status status, hsa_abi::Queue* queue, void* self);

  std::shared_ptr<const HipLibrary> hip_;
  std::shared_ptr<const HsaLibrary> hsa_;
  std::unique_ptr<PacketCode> code_;
  uint64_t agent_ = 0;
  uint64_t cpu_agent_ = 0;
  uint64_t kernarg_pool_ = 0;
  uint64_t group_bytes_limit_ = 0;
  hsa_abi::Queue* queue_ = nullptr;
  uint64_t done_ = 0;  // signal: minus the number of complete runs
  PacketKernel store_kernel_, wait_kernel_;
  hip::Function store_function_ = nullptr;
  hip::Function wait_function_ = nullptr;
  Fence* fences_ = nullptr;
  uint64_t* out_ = nullptr;  // the number of the last complete run with an out fence

  std::mutex mutex_;
  uint64_t runs_ = 0;             // submitted
  uint64_t numbers_ = 0;          // of fences; never used twice, also where a submission failed
  uint64_t written_ = 0;          // packets
  std::atomic<int> failure_ = 0;  // the status of the error callback
};

}  // namespace gfxgraph::replayer
