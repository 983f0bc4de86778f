// Packets: what a run dispatches stands ready as AQL packets and kernel arguments; a run copies
// them into an HSA queue of the step's own (packet_queue.h) and rings its doorbell once. In
// recorded order with the barrier bit on each, as batch; or, where a proof holds
// (packet_order.h), with the bit only where it is needed.
//
// Arguments in flight do not change: there are several sets of them (rotation.h), and what is set
// between runs is written to one that no run in flight reads. The others follow when their turn
// comes.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "replayer/memory/rotation.h"
#include "replayer/modes/packet_eligibility.h"
#include "replayer/modes/packet_order.h"
#include "replayer/modes/packet_writer.h"
#include "replayer/packets/packet_boxes.h"
#include "replayer/packets/packet_queue.h"
#include "replayer/session/executor.h"

namespace gfxgraph::replayer {
namespace {

using hsa_abi::Packet;

constexpr uint64_t kCacheLine = 64;

// Without a call for the usual sizes, which takes longer than the copy.
inline void copy_arguments(std::byte* to, const uint8_t* from, uint32_t bytes) noexcept {
  constexpr uint32_t kPiece = 16;
  constexpr uint32_t kMost = 128;
  if (bytes < kPiece || bytes > kMost) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (uint32_t done = 0; done + kPiece < bytes; done += kPiece)
    std::memcpy(to + done, from + done, kPiece);
  // The last piece may overlap the one before.
  std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
}

constexpr uint32_t kNone = kNoPacket;

// Between two host writes, or copies that go through the staging ring.
struct PacketPart {
  HostPart host;  // acts first, after a wait
  uint32_t first_packet = 0;
  uint32_t packet_count = 0;
  uint32_t streamed = kNone;  // operation behind the packets: a copy of HIP's, on the stream
};

// A copy or fill that is no operation of the program: memory passes from one buffer to another.
struct Turn {
  uint32_t operation = 0;  // before which it is done
  uint32_t packet = 0;
  uint64_t kernarg = 0;
  bool copies = false;
  PreparedCopy copy;
  PreparedMemset fill;
};

struct Set {
  std::vector<Packet> packets;
  std::byte* kernargs = nullptr;
  std::vector<uint32_t> outdated;  // operations, each once
};

// The data that setting a value of an operation needs, in one cache line.
struct Place {
  uint32_t packet = kNone;
  uint32_t plain_bytes = 0;  // of a launch's arguments, if none of them is a hidden one; or 0
  uint64_t kernarg = 0;      // in a set's memory
  Change change = kUnchanged;
  uint8_t outdated = 0;  // a bit for each set
};

// Runs have the numbers of the queue: it is the fence.
class QueueRuns final : public RunsInFlight {
 public:
  explicit QueueRuns(const std::unique_ptr<PacketQueue>& queue) : queue_(queue) {}

 private:
  // Reading the queue's signal is a call into HSA.
  bool look() override { return queue_->is_complete(last()); }
  Result<uint64_t> block(uint64_t run) override {
    GFXGRAPH_TRY(queue_->wait(run, stream()));
    return run;
  }

  const std::unique_ptr<PacketQueue>& queue_;
};

class PacketExecutor : public Executor {
 public:
  PacketExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))),
        writer_(instance) {}

  ~PacketExecutor() override {
    if (!queue_) return;
    // The device may still read the arguments of a queue in error.
    const bool ended = runs_.last() == 0 || queue_->is_complete(runs_.last());
    queue_.reset();
    if (!ended) return;
    for (const Set& set : sets_.places()) device_->release(set.kernargs);
  }

  [[gnu::cold]] Result<void> prepare() {
    GFXGRAPH_ASSIGN_OR_RETURN(auto eligible, eligible_kernels(instance_, limit_));
    GFXGRAPH_ASSIGN_OR_RETURN(device_, instance_.session().packet_device());
    GFXGRAPH_ASSIGN_OR_RETURN(queue_, PacketQueue::open(device_, instance_.device().arch));
    GFXGRAPH_TRY(writer_.find_kernels(std::move(eligible), limit_, *device_, *queue_));
    lay_out();
    find_order();
    for (Set& set : sets_.places()) GFXGRAPH_TRY(prepare_set(set));
    return {};
  }

  Result<void> run(hip::Stream stream) override { return run_parts(stream, true); }
  Result<void> run_unfenced(hip::Stream stream) override { return run_parts(stream, false); }

  Result<void> wait(hip::Stream stream) override {
    if (runs_.last() != 0) GFXGRAPH_TRY(queue_->wait(runs_.last(), runs_.stream()));
    GFXGRAPH_TRY(instance_.library().wait_for(stream));
    instance_.collect_results();
    return {};
  }

  Result<bool> is_complete(hip::Stream stream) override {
    GFXGRAPH_TRY(queue_->check());
    if (runs_.last() != 0 && !queue_->is_complete(runs_.last())) return false;
    return instance_.library().is_idle(stream);
  }

  void changed(uint32_t operation) noexcept override { note(operation, kEverything); }
  void arguments_changed(uint32_t operation) noexcept override { note(operation, kArguments); }

  Result<void> apply_changes() override {
    if (changed_.empty()) [[likely]]
      return {};
    if (order_->proven()) [[unlikely]] {
      for (const uint32_t operation : changed_) {
        if (order_->keeps(operation)) continue;
        lose_order();
        break;
      }
    }
    if (apply_alone()) [[likely]]
      return {};
    return apply_all();
  }

  RunsInFlight& runs() override { return runs_; }
  OrderUse order_use() const override { return order_->use(); }

 private:
  // Plain arguments of one launch, which the other sets lack already. Apart from apply_all(), which
  // saves many registers for what it may come to.
  bool apply_alone() noexcept {
    const Set& set = sets_.current();
    Place& place = places_[changed_.front()];
    const uint8_t others = all_but(sets_.at());
    if (changed_.size() != 1 || !sets_.is_free(runs_) || place.change != kArguments ||
        place.plain_bytes == 0 || (place.outdated & others) != others)
      return false;
    copy_arguments(set.kernargs + place.kernarg,
                   instance_.launch(instance_.operation(changed_.front()).index).kernarg,
                   place.plain_bytes);
    place.change = kUnchanged;
    changed_.clear();
    return true;
  }

  [[gnu::noinline]] Result<void> apply_all() {
    if (!sets_.is_free(runs_) && !runs_.ask()) {
      GFXGRAPH_TRY(sets_.free_next(runs_));
      Set& next = sets_.places()[sets_.next()];
      for (const uint32_t operation : next.outdated) {
        // Operations with a newer change are written below.
        if (places_[operation].change == kUnchanged) GFXGRAPH_TRY(write(next, operation));
      }
      for (const uint32_t operation : next.outdated)
        places_[operation].outdated &= all_but(sets_.next());
      next.outdated.clear();
      sets_.turn(runs_);
    }
    Set& set = sets_.current();
    const uint8_t others = all_but(sets_.at());
    for (size_t n = 0; n < changed_.size(); ++n) {
      const uint32_t operation = changed_[n];
      Place& place = places_[operation];
      if (place.change == kArguments && place.plain_bytes != 0) [[likely]] {
        std::memcpy(set.kernargs + place.kernarg,
                    instance_.launch(instance_.operation(operation).index).kernarg,
                    place.plain_bytes);
      } else if (Result<void> written = write(set, operation); !written) {
        changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(n));
        return written;
      }
      place.change = kUnchanged;
      if ((place.outdated & others) == others) [[likely]]
        continue;
      for (size_t i = 0; i < sets_.kPlaces; ++i) {
        if ((others & ~place.outdated & (1u << i)) != 0)
          sets_.places()[i].outdated.push_back(operation);  // reserved
      }
      place.outdated |= others;
    }
    changed_.clear();
    return {};
  }

  // A mask of sets, as in Place::outdated.
  static constexpr uint8_t all_but(size_t set) {
    return static_cast<uint8_t>(((1u << Rotation<Set>::kPlaces) - 1) & ~(1u << set));
  }

  void note(uint32_t operation, Change change) noexcept {
    if (operation >= limit_) return;
    Place& place = places_[operation];
    if (place.change == kUnchanged) changed_.push_back(operation);  // reserved
    place.change = std::max(place.change, change);
  }

  // The work before an operation at which arena memory changes its owner (as
  // Instance::submit_turnovers()).
  std::vector<Turn> turns_before(uint32_t operation) const {
    std::vector<Turn> turns;
    const Memory& memory = instance_.memory();
    for (const Turnover& turnover : instance_.turnovers(operation)) {
      for (const EndedBytes& ended : turnover.ended) {
        if (memory.kept() == nullptr) break;
        Turn& turn = turns.emplace_back();
        turn.operation = operation;
        turn.copies = true;
        turn.copy.destination = memory.kept() + ended.kept_offset;
        turn.copy.source = memory.arena() + ended.arena_offset;
        turn.copy.width = ended.size_bytes;
      }
      Turn& turn = turns.emplace_back();
      turn.operation = operation;
      turn.fill.destination = memory.arena() + turnover.arena_offset;
      turn.fill.value = memory.fresh_byte_now(turnover.begins);
      turn.fill.width = turnover.size_bytes;
    }
    return turns;
  }

  // Which packet each operation is, and where its arguments stand in a set.
  [[gnu::cold]] void lay_out() {
    places_.resize(limit_);
    std::vector<uint32_t> packets_before(limit_ + 1);
    uint32_t packets = 0;
    for (uint32_t i = 0; i < limit_; ++i) {
      const PreparedOperation& operation = instance_.operation(i);
      packets_before[i] = packets;
      for (Turn& turn : turns_before(i)) {
        turn.packet = packets++;
        turn.kernarg = kernarg_bytes_;
        kernarg_bytes_ += 2 * kCacheLine;
        turns_.push_back(turn);
      }
      if (operation.kind != OperationKind::kLaunch && (operation.empty || operation.streamed))
        continue;
      Place& place = places_[i];
      place.packet = packets++;
      place.kernarg = kernarg_bytes_;
      uint64_t bytes = sizeof(CopyArguments);
      if (operation.kind == OperationKind::kLaunch) {
        const PreparedLaunch& launch = instance_.launch(operation.index);
        bytes = writer_.kernarg_bytes(launch);
        if (writer_.is_plain(launch)) place.plain_bytes = launch.kernarg_bytes;
      }
      kernarg_bytes_ += (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    }
    packets_ = packets_before[limit_] = packets;
    const auto total = static_cast<uint32_t>(instance_.program().operations().size());
    for (const Segment& segment : instance_.program().segments()) {
      if (limit_ < total && segment.first_operation >= limit_) break;
      const uint32_t end = std::min(limit_, segment.first_operation + segment.operation_count);
      PacketPart part{segment.host, packets_before[segment.first_operation]};
      const auto add_until = [&](uint32_t operation) {
        part.packet_count = packets_before[operation] - part.first_packet;
        parts_.push_back(part);
        part = {{}, packets_before[operation]};
      };
      for (uint32_t i = segment.first_operation; i < end; ++i) {
        const PreparedOperation& operation = instance_.operation(i);
        if (!operation.streamed || operation.empty) continue;
        part.streamed = i;
        add_until(i + 1);  // the packets of its turns, too
      }
      add_until(end);
    }
    forwards_.resize(limit_);
    for (uint32_t i = 0; i < limit_; ++i) {
      const PreparedOperation& operation = instance_.operation(i);
      if (operation.kind == OperationKind::kCopy && places_[i].packet != kNone &&
          instance_.copy(operation.index).staged != nullptr)
        host_copies_.push_back(i);
    }
    changed_.reserve(limit_);
  }

  [[gnu::cold]] void find_order() {
    std::vector<uint32_t> packet_of;
    std::vector<PacketStretch> stretches;
    for (const Place& place : places_) packet_of.push_back(place.packet);
    for (const PacketPart& part : parts_)
      stretches.push_back({part.first_packet, part.packet_count});
    order_.emplace(instance_, packet_of, packets_, stretches);
  }

  [[gnu::cold]] Result<void> prepare_set(Set& set) {
    GFXGRAPH_ASSIGN_OR_RETURN(set.kernargs,
                              device_->allocate(kernarg_bytes_, "arguments of kernels"));
    std::memset(set.kernargs, 0, kernarg_bytes_);
    set.packets.resize(packets_);
    set.outdated.reserve(limit_);
    for (uint32_t i = 0; i < limit_; ++i) {
      GFXGRAPH_TRY(instance_.session().deadline().check("building the packets"));
      GFXGRAPH_TRY(write(set, i));
    }
    for (const Turn& turn : turns_) {
      Packet& packet = set.packets[turn.packet];
      std::byte* const kernarg = set.kernargs + turn.kernarg;
      if (turn.copies) {
        GFXGRAPH_TRY(writer_.copy(packet, kernarg, turn.operation, turn.copy));
      } else {
        writer_.fill(packet, kernarg, turn.fill);
      }
    }
    order_->write_headers(set.packets);
    return {};
  }

  // Packets in flight are copies in the ring, so that those of all sets may change.
  [[gnu::noinline]] void lose_order() {
    for (Set& set : sets_.places()) order_->write_headers(set.packets);
  }

  // Packet and arguments of an operation as it is now. Allocates nothing unless it fails.
  Result<void> write(Set& set, uint32_t index) {
    const Place& place = places_[index];
    if (place.packet == kNone) return {};
    const PreparedOperation& operation = instance_.operation(index);
    Packet& packet = set.packets[place.packet];
    std::byte* const kernarg = set.kernargs + place.kernarg;
    if (operation.kind == OperationKind::kLaunch)
      return writer_.launch(packet, kernarg, index, instance_.launch(operation.index));
    if (operation.kind == OperationKind::kCopy) {
      GFXGRAPH_ASSIGN_OR_RETURN(
          forwards_[index], writer_.copy(packet, kernarg, index, instance_.copy(operation.index)));
      return {};
    }
    writer_.fill(packet, kernarg, instance_.memset(operation.index));
    return {};
  }

  Result<void> run_parts(hip::Stream stream, bool fenced) {
    if (!fenced && forwards_any()) {
      return fail(Status::kUnsupported,
                  "mode packets: a run without fences cannot copy to pageable memory: use pinned "
                  "memory, or read the output from the step");
    }
    if (!fenced && streams_any()) {
      return fail(Status::kUnsupported,
                  "mode packets: a run without fences cannot copy through the staging ring (more "
                  "than 64 MiB from or to plain memory)");
    }
    const Set& set = sets_.current();
    for (size_t i = 0; i < parts_.size(); ++i) {
      const PacketPart& part = parts_[i];
      // At a border the caller may have given work to the stream.
      const bool behind_stream =
          i == 0 || parts_[i - 1].streamed != kNone || part.host.borders != 0;
      if (part.host.any()) {
        GFXGRAPH_TRY(wait(stream));
        GFXGRAPH_TRY(instance_.host_acts(part.host));
      }
      if (part.packet_count != 0 || part.streamed == kNone || !behind_stream) {
        PacketQueue::Run run;
        run.packets = std::span(set.packets).subspan(part.first_packet, part.packet_count);
        run.stream = stream;
        // The parts follow each other in the queue; the host waits between them, or the stream does
        // what lies between them.
        run.fenced_before = fenced && behind_stream;
        run.fenced_behind = fenced && (part.streamed != kNone || i + 1 == parts_.size());
        GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t number, queue_->submit(run));
        runs_.begin(number, stream);
      }
      if (part.streamed == kNone) continue;
      const hip::Error code = instance_.submit_streamed(part.streamed, stream);
      if (code != hip::kSuccess) [[unlikely]]
        return instance_.failure(code, part.streamed);
    }
    return forward(stream);
  }

  bool streams_any() const {
    return std::ranges::any_of(parts_,
                               [](const PacketPart& part) { return part.streamed != kNone; });
  }

  bool forwards_any() const {
    return std::ranges::any_of(host_copies_, [&](uint32_t i) { return forwards_[i] != 0; });
  }

  // From the step's memory to the caller's, behind the run.
  Result<void> forward(hip::Stream stream) {
    for (const uint32_t index : host_copies_) {
      if (forwards_[index] == 0) continue;
      const PreparedCopy& copy = instance_.copy(instance_.operation(index).index);
      GFXGRAPH_TRY(instance_.library().check(
          instance_.hip().hipMemcpyAsync(copy.destination, copy.staged,
                                         copy.width * copy.height * copy.depth, hip::kCopyDefault,
                                         stream),
          instance_.program().describe(index)));
    }
    return {};
  }

  Instance& instance_;
  uint32_t limit_;
  std::shared_ptr<PacketDevice> device_;
  std::unique_ptr<PacketQueue> queue_;
  QueueRuns runs_{queue_};
  PacketWriter writer_;
  std::vector<Place> places_;  // by operation
  uint64_t kernarg_bytes_ = 0;
  uint32_t packets_ = 0;
  std::vector<Turn> turns_;
  std::vector<PacketPart> parts_;
  std::optional<PacketOrder> order_;  // from prepare() on
  Rotation<Set> sets_;
  std::vector<uint32_t> changed_;
  std::vector<uint32_t> host_copies_;  // operations with an end outside of buffers
  std::vector<uint8_t> forwards_;      // by operation: to memory that kernels cannot reach
};

}  // namespace

Result<std::unique_ptr<Executor>> make_packet_executor(Instance& instance,
                                                       const ExecutorOptions& options) {
  auto executor = std::make_unique<PacketExecutor>(instance, options);
  GFXGRAPH_TRY(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace gfxgraph::replayer
