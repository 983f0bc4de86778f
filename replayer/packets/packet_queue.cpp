#include "replayer/packets/packet_queue.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>

namespace gfxgraph::replayer {
namespace {

using hsa_abi::Packet;

constexpr uint32_t kSlots = 16384;  // as many as HIP 6.4 has
// How long a wait sleeps before it looks for errors, in ticks of HSA (10 or 1 ns).
constexpr uint64_t kSliceTicks = 20'000'000;
// How long a run may wait for a fence of a stream that does not exist any more.
constexpr std::chrono::seconds kLostFence(5);
// The value of the fence word of a queue in error; it releases all waiters.
constexpr uint64_t kReleased = INT64_MAX;

}  // namespace

[[gnu::cold]] Result<std::unique_ptr<PacketQueue>> PacketQueue::open(
    std::shared_ptr<PacketDevice> device, const std::string& architecture) {
  std::unique_ptr<PacketQueue> queue(new PacketQueue(std::move(device)));
  GFXGRAPH_TRY(queue->prepare(architecture));
  return queue;
}

[[gnu::cold]] Result<void> PacketQueue::prepare(const std::string& architecture) {
  PacketCode& code = device_->code();
  GFXGRAPH_ASSIGN_OR_RETURN(store_kernel_, code.own(architecture, "gfxgraph_store"));
  GFXGRAPH_ASSIGN_OR_RETURN(wait_kernel_, code.own(architecture, "gfxgraph_wait"));
  GFXGRAPH_ASSIGN_OR_RETURN(store_function_, code.own_function(architecture, "gfxgraph_store"));
  GFXGRAPH_ASSIGN_OR_RETURN(wait_function_, code.own_function(architecture, "gfxgraph_wait"));
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const fences,
                            device_->allocate(kFences * sizeof(Fence), "arguments of fences"));
  fences_ = reinterpret_cast<Fence*>(fences);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const words,
                            device_->allocate_shared(2 * sizeof(FenceArguments), "fences"));
  in_ = reinterpret_cast<uint64_t*>(words);
  out_ = reinterpret_cast<uint64_t*>(words + sizeof(FenceArguments));
  *in_ = *out_ = 0;
  const hsa_abi::Table& hsa = device_->hsa().table();
  GFXGRAPH_TRY(
      device_->hsa().check(hsa.hsa_signal_create(0, 0, nullptr, &done_), "hsa_signal_create"));
  return device_->hsa().check(
      hsa.hsa_queue_create(device_->agent(), std::min(kSlots, device_->most_slots()),
                           hsa_abi::kQueueMulti, &on_error, this, UINT32_MAX, UINT32_MAX, &queue_),
      "hsa_queue_create");
}

PacketQueue::~PacketQueue() {
  const hsa_abi::Table& hsa = device_->hsa().table();
  if (queue_ != nullptr) hsa.hsa_queue_destroy(queue_);
  if (done_ != 0) hsa.hsa_signal_destroy(done_);
  device_->release(fences_);
  // A stream may still be looking at the words of a queue that got into an error.
  if (!failed()) device_->release(in_);
}

void PacketQueue::on_error(hsa_abi::Status status, hsa_abi::Queue*, void* self) {
  auto* const queue = static_cast<PacketQueue*>(self);
  queue->failure_.store(status == 0 ? -1 : status, std::memory_order_release);
  std::atomic_ref(*queue->out_).store(kReleased, std::memory_order_seq_cst);
}

Result<void> PacketQueue::check() const {
  const int status = failure_.load(std::memory_order_acquire);
  if (status == 0) [[likely]]
    return {};
  const Result<void> reason = device_->hsa().check(status, "error of the queue");
  return fail(Status::kDevice,
              fmt::format("{}: some of its runs did not finish, and the queue accepts no more; "
                          "restore, then prepare the step again, in any mode",
                          reason ? "error of the queue" : reason.error().message));
}

uint32_t PacketQueue::aperture(size_t offset) const {
  uint32_t high = 0;
  std::memcpy(&high, reinterpret_cast<const std::byte*>(queue_) + offset, sizeof(high));
  return high;
}

uint64_t PacketQueue::completed() const noexcept {
  return static_cast<uint64_t>(-device_->hsa().table().hsa_signal_load_scacquire(done_));
}

hip::Error PacketQueue::on_stream(hip::Function function, hip::Stream stream, uint64_t* place,
                                  uint64_t value) const noexcept {
  struct {
    uint64_t* place;
    uint64_t value;
  } arguments{place, value};
  size_t bytes = sizeof(arguments);
  std::array<void*, 5> extra = {hip::kLaunchBufferPointer, &arguments, hip::kLaunchBufferSize,
                                &bytes, hip::kLaunchEnd};
  return device_->hip().table().hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream,
                                                      nullptr, extra.data());
}

Packet PacketQueue::fence_packet(const PacketKernel& kernel, const FenceArguments& arguments,
                                 uint16_t scopes) const noexcept {
  Packet packet;
  packet.header = static_cast<uint16_t>(hsa_abi::kPacketDispatch | hsa_abi::kBarrierBit | scopes);
  packet.setup = 3;
  packet.block[0] = packet.block[1] = packet.block[2] = 1;
  packet.grid[0] = packet.grid[1] = packet.grid[2] = 1;
  packet.private_bytes = kernel.private_bytes;
  packet.group_bytes = kernel.group_bytes;
  packet.kernel_object = kernel.object;
  packet.kernarg = reinterpret_cast<uint64_t>(&arguments);
  return packet;
}

void PacketQueue::copy(uint64_t at, std::span<const Packet> packets) noexcept {
  auto* const ring = static_cast<Packet*>(queue_->base);
  const size_t first = at & (queue_->size - 1);
  const size_t before_end = std::min<size_t>(packets.size(), queue_->size - first);
  std::memcpy(ring + first, packets.data(), before_end * sizeof(Packet));
  std::memcpy(ring, packets.data() + before_end, (packets.size() - before_end) * sizeof(Packet));
}

// The packet processor stops at the first packet without a header: all are written, then that
// header, then the doorbell, once.
Result<void> PacketQueue::push(std::span<const std::span<const Packet>> pieces) {
  const hsa_abi::Table& hsa = device_->hsa().table();
  size_t piece = 0, offset = 0, left = 0;
  for (const auto& one : pieces) left += one.size();
  while (left != 0) {
    const uint64_t used = written_ - hsa.hsa_queue_load_read_index_scacquire(queue_);
    const uint64_t free = queue_->size - used;
    // A quarter of the ring at a time, so that the queue always has work meanwhile.
    if (free < std::min<uint64_t>(left, queue_->size / 4)) {
      GFXGRAPH_TRY(check());
      sched_yield();
      continue;
    }
    const uint64_t count = std::min<uint64_t>(free, left);
    uint32_t first_word = 0;
    for (uint64_t done = 0; done < count;) {
      while (offset == pieces[piece].size()) {
        ++piece;
        offset = 0;
      }
      const auto some = pieces[piece].subspan(
          offset, std::min<size_t>(pieces[piece].size() - offset, count - done));
      if (done == 0) {
        Packet first = some.front();
        std::memcpy(&first_word, &first, sizeof(first_word));
        first.header = hsa_abi::kPacketInvalid;
        // The packet processor reads this header meanwhile.
        auto* const slot = static_cast<Packet*>(queue_->base) + (written_ & (queue_->size - 1));
        uint32_t no_header = 0;
        std::memcpy(&no_header, &first, sizeof(no_header));
        std::atomic_ref(*reinterpret_cast<uint32_t*>(slot))
            .store(no_header, std::memory_order_relaxed);
        std::memcpy(reinterpret_cast<std::byte*>(slot) + sizeof(no_header),
                    reinterpret_cast<const std::byte*>(&first) + sizeof(no_header),
                    sizeof(first) - sizeof(no_header));
        copy(written_ + 1, some.subspan(1));
      } else {
        copy(written_ + done, some);
      }
      done += some.size();
      offset += some.size();
    }
    hsa.hsa_queue_store_write_index_screlease(queue_, written_ + count);
    auto* const slot = static_cast<Packet*>(queue_->base) + (written_ & (queue_->size - 1));
    std::atomic_ref(*reinterpret_cast<uint32_t*>(slot))
        .store(first_word, std::memory_order_release);
    written_ += count;
    left -= count;
    hsa.hsa_signal_store_screlease(queue_->doorbell, static_cast<int64_t>(written_ - 1));
  }
  return {};
}

Result<uint64_t> PacketQueue::submit(const Run& run) {
  GFXGRAPH_TRY(check());
  // The word holds the numbers of one stream: another one's could be stored before them.
  if (run.fenced_before && run.stream != stream_ && runs_ != 0) GFXGRAPH_TRY(wait(runs_, stream_));
  stream_ = run.stream;
  const uint64_t number = ++numbers_;
  Fence& fence = fences_[runs_ % kFences];
  if (runs_ >= kFences) GFXGRAPH_TRY(wait(runs_ + 1 - kFences, run.stream));
  std::array<Packet, 2> fences;
  std::array<std::span<const Packet>, 3> pieces = {std::span<const Packet>(), run.packets,
                                                   std::span(&fences[1], 1)};
  if (run.fenced_before) {
    GFXGRAPH_TRY(device_->hip().check(on_stream(store_function_, run.stream, in_, number),
                                      "mode packets: the fence before a run"));
    fence.in = {reinterpret_cast<uint64_t>(in_), number};
    last_in_ = number;
    fences[0] =
        fence_packet(wait_kernel_, fence.in, hsa_abi::kAcquireSystem | hsa_abi::kReleaseAgent);
    pieces[0] = std::span(&fences[0], 1);
  }
  if (run.fenced_behind) {
    fence.out = {reinterpret_cast<uint64_t>(out_), number};
    fences[1] =
        fence_packet(store_kernel_, fence.out, hsa_abi::kAcquireAgent | hsa_abi::kReleaseSystem);
  } else {
    fences[1] = Packet();
    fences[1].header = hsa_abi::kPacketBarrierAnd | hsa_abi::kBarrierBit | hsa_abi::kReleaseSystem;
  }
  fences[1].completion = done_;
  GFXGRAPH_TRY(push(pieces));
  ++runs_;
  if (run.fenced_behind) {
    const hip::Error code = on_stream(wait_function_, run.stream, out_, number);
    if (code != hip::kSuccess) [[unlikely]] {
      // The run is under way, and the caller has no number to wait with.
      (void)wait(runs_, run.stream);
      return tl::unexpected<Error>(
          device_->hip().error(code, "mode packets: the fence behind a run"));
    }
  }
  return runs_;
}

Result<void> PacketQueue::wait(uint64_t run, hip::Stream stream) const {
  const hsa_abi::Table& hsa = device_->hsa().table();
  const HipTable& hip = device_->hip().table();
  const auto below = static_cast<int64_t>(1 - run);
  std::optional<std::chrono::steady_clock::time_point> destroyed;
  bool lost = false;
  while (!is_complete(run)) {
    if (hsa.hsa_signal_wait_scacquire(done_, hsa_abi::kConditionLess, below, kSliceTicks,
                                      hsa_abi::kWaitBlocked) < below)
      break;
    GFXGRAPH_TRY(check());
    // Where the stream got into an error, the run would wait for it forever.
    const hip::Error code = hip.hipStreamQuery(stream);
    if (code == hip::kSuccess || code == hip::kErrorNotReady) {
      hip.hipGetLastError();
      continue;
    }
    if (code != hip::kErrorContextIsDestroyed)
      return device_->hip().check(code, "mode packets: the stream of a run");
    hip.hipGetLastError();
    // HIP performs a stream's work before it destroys it. Where it drops the fence, as a device
    // reset may, the run is released: the queue must end before its memory does.
    const auto now = std::chrono::steady_clock::now();
    if (!destroyed) destroyed = now;
    const std::atomic_ref<uint64_t> in(*in_);
    if (now - *destroyed < kLostFence || in.load(std::memory_order_acquire) >= last_in_) continue;
    in.store(last_in_, std::memory_order_seq_cst);
    lost = true;
  }
  GFXGRAPH_TRY(check());
  if (!lost) return {};
  return fail(Status::kDevice,
              "mode packets: the stream of a run was destroyed before the run began, and its work "
              "is lost: restore before the next run");
}

}  // namespace gfxgraph::replayer
