// One recorded program with everything in it: three streams and events, a launched graph, pointers
// in memory and in arguments, host writes, pitched copies and memsets, a recycled address, a module
// global, copies to and from plain host memory.
#pragma once

#include "test_trace.h"

namespace gfxgraph::replayer::testing {

struct Scenario {
  format::AllocationId a = 0, b = 0, sum = 0, list = 0, pinned = 0, global = 0;
};

inline void put_word(std::vector<uint8_t>& bytes, size_t offset, uint64_t word) {
  std::memcpy(bytes.data() + offset, &word, 8);
}

inline Scenario build_scenario(FakeHip& fake, TestTrace& trace) {
  add_test_kernels(fake);
  fake.globals["table"] = std::vector<uint8_t>(64);
  Scenario s;
  const auto launch_double = [&](format::AllocationId id, format::StreamId stream) {
    trace.launch("double", Arguments().value(trace.address(id)).value(16u), stream);
  };
  for (format::StreamId id = 1; id <= 3; ++id) trace.stream(id, id == 3 ? 1 : 0);
  trace.event(1);
  trace.event(2);
  s.a = trace.allocate_words(std::vector<uint32_t>(16, 3));
  s.b = trace.allocate_words(std::vector<uint32_t>(16, 5));
  s.sum = trace.allocate(64 * 4);
  s.pinned = trace.allocate(64, {1, 0, 0, 0, 2}, format::AllocationKind::kHostPinned);
  s.global = trace.allocate(64, {}, format::AllocationKind::kModuleGlobal, "table");

  // Fork and join over streams 1 and 2.
  trace.copy_to_device(s.a, std::vector<uint8_t>(64, 1));
  launch_double(s.a, 1);
  trace.record(1, 1);
  launch_double(s.b, 2);
  trace.wait(2, 1);
  const Arguments add = Arguments()
                            .value(trace.address(s.a))
                            .value(trace.address(s.b))
                            .value(trace.address(s.sum))
                            .value(16u);
  trace.launch("add", add, 2);
  trace.record(2, 2);
  trace.wait(3, 2);
  launch_double(s.sum, 3);
  trace.synchronize_device();

  // A linked list in device memory: node 1 -> node 0 -> end.
  s.list = trace.allocate(48);
  std::vector<uint8_t> nodes(48);
  put_word(nodes, 8, 40);
  put_word(nodes, 16, trace.address(s.list));
  put_word(nodes, 24, 2);
  trace.copy_to_device(s.list, nodes);
  trace.launch("chase",
               Arguments().value(trace.address(s.list) + 16).value(trace.address(s.sum) + 128));

  // A recycled address is another allocation.
  const auto first = trace.allocate(512);
  trace.launch("fill", Arguments().value(trace.address(first)).value(7u).value(16u));
  trace.free(first);
  const auto second = trace.allocate(512);
  trace.launch("fill", Arguments().value(trace.address(second)).value(9u).value(16u));

  // The host writes pinned memory between two uses.
  launch_double(s.pinned, 1);
  trace.synchronize_stream(1);
  trace.host_write(s.pinned, 4, {9, 9, 9, 9});
  std::vector<uint8_t> pointer(8);
  put_word(pointer, 0, trace.address(s.a));
  trace.host_write(s.pinned, 32, pointer);
  trace.copy(trace.make_copy(s.global, s.pinned, 64));

  format::Memset memset;
  memset.allocation = s.sum;
  memset.offset_bytes = 140;
  memset.element_bytes = 4;
  memset.value = 0x01020304;
  memset.width_elements = 3;
  trace.memset(memset);
  memset.element_bytes = 2;
  memset.offset_bytes = 160;
  memset.value = 0xBEEF;
  memset.height = 3;
  memset.pitch_bytes = 16;
  trace.memset(memset);
  const auto cube = trace.allocate(4 * 4 * 16);
  memset = format::Memset{};
  memset.allocation = cube;
  memset.value = 0x77;
  memset.width_elements = 5;
  memset.height = 2;
  memset.depth = 3;
  memset.pitch_bytes = 16;
  memset.slice_bytes = 64;
  trace.memset(memset);
  format::Copy box = trace.make_copy(second, cube, 7);
  box.height = 2;
  box.destination.pitch_bytes = 32;
  box.source.pitch_bytes = 16;
  trace.copy(box);
  box.depth = 2;
  box.destination.offset_bytes = 64;
  box.destination.slice_bytes = 128;
  box.source.slice_bytes = 64;
  trace.copy(box);
  format::Copy nothing = trace.make_copy(s.a, s.b, 0);
  trace.copy(nothing);

  format::Graph graph;
  const Arguments twice = Arguments().value(trace.address(s.a)).value(16u);
  graph.nodes.push_back({trace.make_launch("double", twice), {}});
  graph.nodes.push_back({std::monostate{}, {0}});
  graph.nodes.push_back({trace.make_copy(s.b, s.a, 32), {1}});
  graph.nodes.push_back({trace.make_launch("add", add), {2}});
  trace.graph_launch(graph, 1);
  launch_double(s.sum, 1);
  trace.copy_to_host(s.sum, 1);
  return s;
}

}  // namespace gfxgraph::replayer::testing
