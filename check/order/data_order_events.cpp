#include "check/order/data_order_events.h"

#include <algorithm>
#include <utility>

#include "format/box.h"

namespace gfxgraph::check {

void DataOrderEvents::begin_node(DataNode::Kind kind, format::StreamId stream) {
  DataNode node;
  node.kind = kind;
  node.event = event_;
  node.stream = stream;
  order_.begin(std::move(node));
}

Result<void> DataOrderEvents::allocated(const format::AllocationBegin& action) {
  addresses_[action.id] = action.recorded_address;
  const uint64_t bytes = std::max(action.size_bytes, action.mapped_bytes);
  if (bytes != 0) order_.add_memory(action.recorded_address, second_address(action), bytes);
  return {};
}

Result<void> DataOrderEvents::freed(const format::AllocationEnd& action) {
  order_.remove_memory(address_of(action.id));
  return {};
}

Result<void> DataOrderEvents::written(const format::HostWrite& action) {
  if (action.content.size_bytes == 0) return {};
  begin_node(DataNode::Kind::kHostWrite, 0);
  order_.write(address_of(action.allocation) + action.offset_bytes, action.content.size_bytes);
  order_.end();
  return {};
}

Result<void> DataOrderEvents::copied(const format::Copy& action) {
  begin_node(DataNode::Kind::kCopy, action.stream);
  const auto rows = [&](const format::CopyEnd& end, const auto& visit) {
    if (end.allocation == 0) return;
    const uint64_t begin = address_of(end.allocation) + end.offset_bytes;
    format::box_of(action, end).for_rows([&](uint64_t offset) { visit(begin + offset); });
  };
  rows(action.source, [&](uint64_t at) { order_.read(at, action.width_bytes); });
  rows(action.destination, [&](uint64_t at) { order_.write(at, action.width_bytes); });
  order_.end();
  return {};
}

Result<void> DataOrderEvents::filled(const format::Memset& action) {
  begin_node(DataNode::Kind::kMemset, action.stream);
  const uint64_t begin = address_of(action.allocation) + action.offset_bytes;
  if (const std::optional<format::Box> box = format::box_of(action))
    box->for_rows([&](uint64_t offset) { order_.write(begin + offset, box->width_bytes); });
  order_.end();
  return {};
}

void DataOrderEvents::before_run(const LaunchRun& run) {
  begin_node(DataNode::Kind::kLaunch, run.launch.stream);
  order_.current().launch = run.index;
  order_.current().kernel = run.launch.kernel;
}

void DataOrderEvents::after_run(const LaunchRun&,
                                const tl::expected<emulator::RunStatistics, emulator::Fault>& ran) {
  order_.current().wave_instructions = ran ? ran->wave_instructions : 0;
  order_.end();
}

}  // namespace gfxgraph::check
