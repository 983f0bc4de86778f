#include <algorithm>

#include "replayer/program/program.h"

namespace gfxgraph::replayer {
namespace {

// For elements in the order of their events: the first one at or after `event`.
template <typename Thing>
size_t first_at(const std::vector<Thing>& things, uint64_t event) {
  const auto found = std::ranges::lower_bound(things, event, {}, &Thing::sequence);
  return static_cast<size_t>(found - things.begin());
}

}  // namespace

std::shared_ptr<const Program> Program::cut(uint64_t first_event, uint64_t end_event) const {
  auto part = std::make_shared<Program>();
  part->trace_ = trace_;
  part->store_ = store_;
  part->allocations_ = allocations_;
  part->streams_ = streams_;
  part->events_ = events_;
  part->awaited_ = awaited_;
  part->first_event_ = std::max(first_event, first_event_);
  part->end_event_ = std::min(end_event, end_event_);

  const size_t first_operation = first_at(operations_, first_event);
  const size_t end_operation = first_at(operations_, end_event);
  part->operations_.assign(operations_.begin() + static_cast<ptrdiff_t>(first_operation),
                           operations_.begin() + static_cast<ptrdiff_t>(end_operation));
  part->first_.operation = first_.operation + static_cast<uint32_t>(first_operation);
  part->first_.launch = first_.launch;
  for (size_t i = 0; i < end_operation; ++i) {
    if (operations_[i].kind != OperationKind::kLaunch) continue;
    if (i < first_operation) {
      ++part->first_.launch;
    } else {
      part->launch_operations_.push_back(static_cast<uint32_t>(i - first_operation));
    }
  }

  const size_t end_call = first_at(calls_, end_event);
  for (size_t i = first_at(calls_, first_event); i < end_call; ++i) {
    Call& call = part->calls_.emplace_back(calls_[i]);
    call.first_operation -= static_cast<uint32_t>(first_operation);
    if (call.kind != CallKind::kHostWrite) continue;
    part->host_writes_.push_back(host_writes_[call.host_write]);
    call.host_write = static_cast<uint32_t>(part->host_writes_.size() - 1);
  }
  for (const Border& border : borders_) {
    if (border.sequence < first_event || border.sequence >= end_event) continue;
    part->borders_.push_back(border);
    part->borders_.back().operations_before -= static_cast<uint32_t>(first_operation);
  }
  part->divide();

  for (const CheckpointInfo& checkpoint : checkpoints_) {
    if (checkpoint.sequence < first_event || checkpoint.sequence >= end_event) continue;
    part->checkpoints_.push_back(checkpoint);
    part->checkpoints_.back().operations_before -= static_cast<uint32_t>(first_operation);
  }
  part->look_behind(*this, end_call, end_operation);
  return part;
}

// The part of `whole` after this program.
void Program::look_behind(const Program& whole, size_t end_call, size_t end_operation) {
  next_launch_ = whole.next_launch_;
  next_writes_ = whole.next_writes_;
  next_writes_.resize(allocations_.size(), UINT64_MAX);
  const auto writes = [&](format::AllocationId id, uint64_t sequence) {
    if (id != 0) next_writes_[id - 1] = std::min(next_writes_[id - 1], sequence);
  };
  for (size_t i = end_call; i < whole.calls_.size(); ++i) {
    const Call& call = whole.calls_[i];
    if (call.kind == CallKind::kHostWrite) {
      writes(whole.host_writes_[call.host_write]->allocation, call.sequence);
    }
  }
  for (size_t i = end_operation; i < whole.operations_.size(); ++i) {
    const Operation& operation = whole.operations_[i];
    switch (operation.kind) {
      case OperationKind::kLaunch:
        next_launch_ = std::min(next_launch_, operation.sequence);
        return;  // anything later is irrelevant
      case OperationKind::kCopy:
        writes(operation.copy->destination.allocation, operation.sequence);
        break;
      case OperationKind::kMemset: writes(operation.memset->allocation, operation.sequence); break;
    }
  }
}

void Program::divide() {
  // Before all work, and behind it, the caller acts anyway.
  std::erase_if(borders_, [this](const Border& border) {
    return border.operations_before == 0 || border.operations_before >= operations_.size();
  });
  Segment segment;
  HostPart& host = segment.host;
  const auto close = [&](uint32_t next) {
    segment.operation_count = next - segment.first_operation;
    if (segment.operation_count != 0 || host.any()) segments_.push_back(segment);
    segment = Segment{};
    segment.first_operation = next;
  };
  size_t border = 0;
  const auto borders_until = [&](uint32_t operations) {
    for (; border < borders_.size() && borders_[border].operations_before <= operations; ++border) {
      const uint32_t before = borders_[border].operations_before;
      if (before != segment.first_operation || host.writes != 0) close(before);
      if (host.borders++ == 0) host.first_border = static_cast<uint32_t>(border);
    }
  };
  for (const Call& call : calls_) {
    if (call.kind != CallKind::kHostWrite) continue;
    borders_until(call.first_operation);
    if (call.first_operation != segment.first_operation) close(call.first_operation);
    if (host.writes++ == 0) host.first_write = call.host_write;
  }
  borders_until(static_cast<uint32_t>(operations_.size()));
  close(static_cast<uint32_t>(operations_.size()));
}

}  // namespace gfxgraph::replayer
