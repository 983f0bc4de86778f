#include "replayer/packet_queue.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gfxgraph::replayer {
namespace {

using hsa_abi::Packet;

constexpr uint32_t kSlots = 16384;  // as many as HIP 6.4 has
// How long a wait sleeps before it looks for errors, in ticks of HSA (10 or 1 ns).
constexpr uint64_t kSliceTicks = 20'000'000;
// What the fence word of a queue in error holds: everybody who waits for a run goes on.
constexpr uint64_t kReleased = INT64_MAX;

std::vector<uint64_t> list(auto&& iterate) {
  std::vector<uint64_t> found;
  iterate(
      [](uint64_t handle, void* data) {
        static_cast<std::vector<uint64_t>*>(data)->push_back(handle);
        return hsa_abi::kSuccess;
      },
      static_cast<void*>(&found));
  return found;
}

}  // namespace

Result<std::shared_ptr<PacketQueue>> PacketQueue::open(std::shared_ptr<const HipLibrary> hip,
                                                       const HipDevice& device) {
  if (hip->lookup() == nullptr)
    return fail(Status::kUnsupported, "mode packets needs a HIP runtime of the process itself");
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HsaLibrary> hsa, HsaLibrary::load(hip->lookup()));
  std::shared_ptr<PacketQueue> queue(new PacketQueue(std::move(hip), std::move(hsa)));
  GFXGRAPH_TRY(queue->prepare(device));
  return queue;
}

Result<void> PacketQueue::prepare(const HipDevice& device) {
  GFXGRAPH_TRY(find_agents(device));
  GFXGRAPH_TRY(find_pools());
  code_ = std::make_unique<PacketCode>(hip_, hsa_, agent_);
  GFXGRAPH_ASSIGN_OR_RETURN(store_kernel_, code_->own(device.arch, "gfxgraph_store"));
  GFXGRAPH_ASSIGN_OR_RETURN(wait_kernel_, code_->own(device.arch, "gfxgraph_wait"));
  GFXGRAPH_ASSIGN_OR_RETURN(store_function_, code_->own_function(device.arch, "gfxgraph_store"));
  GFXGRAPH_ASSIGN_OR_RETURN(wait_function_, code_->own_function(device.arch, "gfxgraph_wait"));
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const fences,
                            allocate(kFences * sizeof(Fence), "arguments of fences"));
  fences_ = reinterpret_cast<Fence*>(fences);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const out, allocate(sizeof(FenceArguments), "a fence"));
  out_ = reinterpret_cast<uint64_t*>(out);
  *out_ = 0;
  GFXGRAPH_TRY(
      hsa_->check(hsa_->table().hsa_signal_create(0, 0, nullptr, &done_), "hsa_signal_create"));
  return create_queue();
}

// HIP's ordinals follow HIP_VISIBLE_DEVICES; the place on the bus is the same for both.
Result<void> PacketQueue::find_agents(const HipDevice& device) {
  const hsa_abi::Table& hsa = hsa_->table();
  if (hip_->table().hipDeviceGetPCIBusId == nullptr)
    return fail(Status::kUnsupported, "mode packets: the HIP runtime lacks hipDeviceGetPCIBusId");
  std::array<char, 64> text{};
  GFXGRAPH_TRY(hip_->check(hip_->table().hipDeviceGetPCIBusId(
                               text.data(), static_cast<int>(text.size()) - 1, device.ordinal),
                           "hipDeviceGetPCIBusId"));
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(text.data(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
    return fail(Status::kDevice, fmt::format("mode packets: device at '{}'", text.data()));
  const uint32_t place = bus << 8 | slot << 3 | function;
  for (const uint64_t agent : list(hsa.hsa_iterate_agents)) {
    uint32_t kind = 0, bdf = 0, its_domain = 0;
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentDevice, &kind),
                             "hsa_agent_get_info"));
    if (kind == hsa_abi::kDeviceCpu && cpu_agent_ == 0) cpu_agent_ = agent;
    if (kind != hsa_abi::kDeviceGpu) continue;
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentBdfId, &bdf),
                             "hsa_agent_get_info"));
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentDomain, &its_domain),
                             "hsa_agent_get_info"));
    if ((bdf & 0xffff) == place && its_domain == domain) agent_ = agent;
  }
  if (agent_ != 0 && cpu_agent_ != 0) return {};
  return fail(Status::kDevice,
              fmt::format("mode packets: HSA has no agent at {}, where HIP's device {} is",
                          text.data(), device.ordinal));
}

Result<void> PacketQueue::find_pools() {
  const hsa_abi::Table& hsa = hsa_->table();
  const auto pools = [&](uint64_t agent) {
    return list([&](auto callback, void* data) {
      return hsa.hsa_amd_agent_iterate_memory_pools(agent, callback, data);
    });
  };
  const auto get = [&](uint64_t pool, uint32_t attribute, void* value) {
    return hsa_->check(hsa.hsa_amd_memory_pool_get_info(pool, attribute, value),
                       "hsa_amd_memory_pool_get_info");
  };
  for (const uint64_t pool : pools(cpu_agent_)) {
    uint32_t segment = 0, flags = 0;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSegment, &segment));
    if (segment != hsa_abi::kSegmentGlobal) continue;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolGlobalFlags, &flags));
    if ((flags & hsa_abi::kPoolFlagKernarg) != 0 && kernarg_pool_ == 0) kernarg_pool_ = pool;
  }
  for (const uint64_t pool : pools(agent_)) {
    uint32_t segment = 0;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSegment, &segment));
    if (segment == hsa_abi::kSegmentGroup)
      GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSize, &group_bytes_limit_));
  }
  if (kernarg_pool_ != 0) return {};
  return fail(Status::kDevice, "mode packets: HSA has no memory for arguments of kernels");
}

Result<void> PacketQueue::create_queue() {
  const hsa_abi::Table& hsa = hsa_->table();
  uint32_t most = 0;
  GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent_, hsa_abi::kAgentQueueMaxSize, &most),
                           "hsa_agent_get_info"));
  return hsa_->check(hsa.hsa_queue_create(agent_, std::min(kSlots, most), hsa_abi::kQueueMulti,
                                          &on_error, this, UINT32_MAX, UINT32_MAX, &queue_),
                     "hsa_queue_create");
}

PacketQueue::~PacketQueue() {
  const hsa_abi::Table& hsa = hsa_->table();
  if (queue_ != nullptr) hsa.hsa_queue_destroy(queue_);
  if (done_ != 0) hsa.hsa_signal_destroy(done_);
  release(fences_);
  // A stream may still be looking at the word of a queue that got into an error.
  if (!failed()) release(out_);
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
  const Result<void> reason = hsa_->check(status, "error of the queue");
  return fail(Status::kDevice,
              fmt::format("{}: its runs did not all end, and the queue takes no others; "
                          "restore, and prepare the step anew, in any mode",
                          reason ? "error of the queue" : reason.error().message));
}

Result<std::byte*> PacketQueue::allocate(size_t bytes, std::string_view what) const {
  const hsa_abi::Table& hsa = hsa_->table();
  void* memory = nullptr;
  const std::string text = fmt::format("{} bytes of memory for {}", bytes, what);
  GFXGRAPH_TRY(hsa_->check(
      hsa.hsa_amd_memory_pool_allocate(kernarg_pool_, std::max<size_t>(bytes, 1), 0, &memory),
      text));
  const Result<void> allowed =
      hsa_->check(hsa.hsa_amd_agents_allow_access(1, &agent_, nullptr, memory), text);
  if (allowed) return static_cast<std::byte*>(memory);
  hsa.hsa_amd_memory_pool_free(memory);
  return tl::unexpected<Error>(allowed.error());
}

void PacketQueue::release(void* memory) const noexcept {
  if (memory != nullptr) hsa_->table().hsa_amd_memory_pool_free(memory);
}

uint32_t PacketQueue::aperture(size_t offset) const {
  uint32_t high = 0;
  std::memcpy(&high, reinterpret_cast<const std::byte*>(queue_) + offset, sizeof(high));
  return high;
}

uint64_t PacketQueue::completed() const noexcept {
  return static_cast<uint64_t>(-hsa_->table().hsa_signal_load_scacquire(done_));
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
  return hip_->table().hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                             extra.data());
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
  const hsa_abi::Table& hsa = hsa_->table();
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
        copy(written_, std::span(&first, 1));
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
  const std::lock_guard lock(mutex_);
  GFXGRAPH_TRY(check());
  const uint64_t number = ++numbers_;
  Fence& fence = fences_[runs_ % kFences];
  if (runs_ >= kFences) GFXGRAPH_TRY(wait(runs_ + 1 - kFences, run.stream));
  std::array<Packet, 2> fences;
  std::array<std::span<const Packet>, 3> pieces = {std::span<const Packet>(), run.packets,
                                                   std::span(&fences[1], 1)};
  if (run.in != nullptr) {
    GFXGRAPH_TRY(hip_->check(on_stream(store_function_, run.stream, run.in, number),
                             "mode packets: the fence before a run"));
    fence.in = {reinterpret_cast<uint64_t>(run.in), number};
    fences[0] =
        fence_packet(wait_kernel_, fence.in, hsa_abi::kAcquireSystem | hsa_abi::kReleaseAgent);
    pieces[0] = std::span(&fences[0], 1);
  }
  if (run.out) {
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
  if (run.out) {
    const hip::Error code = on_stream(wait_function_, run.stream, out_, number);
    if (code != hip::kSuccess) [[unlikely]] {
      // The run is under way, and the caller has no number to wait with.
      (void)wait(runs_, run.stream);
      return tl::unexpected<Error>(hip_->error(code, "mode packets: the fence behind a run"));
    }
  }
  return runs_;
}

Result<void> PacketQueue::wait(uint64_t run, hip::Stream stream) const {
  const auto below = static_cast<int64_t>(1 - run);
  while (!is_complete(run)) {
    if (hsa_->table().hsa_signal_wait_scacquire(done_, hsa_abi::kConditionLess, below, kSliceTicks,
                                                hsa_abi::kWaitBlocked) < below)
      break;
    GFXGRAPH_TRY(check());
    // Where the stream got into an error, the run would wait for it forever.
    const hip::Error code = hip_->table().hipStreamQuery(stream);
    if (code == hip::kSuccess || code == hip::kErrorNotReady ||
        code == hip::kErrorContextIsDestroyed) {
      hip_->table().hipGetLastError();
      continue;
    }
    return hip_->check(code, "mode packets: the stream of a run");
  }
  return check();
}

}  // namespace gfxgraph::replayer
