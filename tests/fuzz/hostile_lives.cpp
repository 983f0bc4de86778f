// A base trace of fuzz_hostile: how memory, threads, streams and code begin and end.
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "codeobj/code_object.h"
#include "format/write/writer.h"
#include "tests/format/trace_builder.h"
#include "tests/fuzz/hostile_trace.h"

namespace gfxgraph::fuzz {

using namespace format;

namespace {

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kApart = 0x10000;

class LivesWriter {
 public:
  explicit LivesWriter(Writer& writer) : writer_(writer) {}

  template <typename Item>
  void add(const Item& item) {
    GFXGRAPH_CHECK(writer_.add(item).has_value());
  }
  void event(Action action, uint32_t thread = 0) {
    Event made = event_of(std::move(action));
    made.thread = thread;
    made.site = thread + 1;
    const auto done = writer_.add(std::move(made));
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    GFXGRAPH_CHECK(done.has_value());
  }
  // At the n-th address of 512 bytes.
  AllocationId begin(AllocationKind kind, uint64_t n, uint32_t thread, StreamId stream = 0) {
    AllocationBegin begin;
    begin.id = ++allocations_;
    begin.kind = kind;
    begin.recorded_address = kBase + n * kApart;
    begin.size_bytes = begin.initial.size_bytes = 512;
    begin.initial.fill = static_cast<uint8_t>(n);
    begin.stream = stream;
    begin.site = thread + 1;
    if (kind == AllocationKind::kHostRegistered || kind == AllocationKind::kManaged ||
        kind == AllocationKind::kHostPinned)
      begin.host_address = begin.recorded_address + (uint64_t{1} << 32);
    event(begin, thread);
    return begin.id;
  }
  void end(AllocationId id, uint32_t thread, StreamId stream = 0, bool freed = true) {
    AllocationEnd end{id, freed, stream, {}};
    end.post.size_bytes = 512;
    end.post.fill = 1;
    event(end, thread);
  }
  // vadd(a, b, c, n) on memory at the first three addresses.
  Launch launch(const Kernel& kernel, std::initializer_list<AllocationId> ids, StreamId stream) {
    Launch launch;
    launch.kernel = kernel.id;
    launch.stream = stream;
    launch.block = {64, 1, 1};
    launch.kernarg.resize(kernel.explicit_size_bytes);
    uint64_t at = 0;
    for (const AllocationId id : ids) {
      if (at + 8 > launch.kernarg.size()) break;
      const uint64_t address = kBase + at / 8 * kApart;
      std::memcpy(launch.kernarg.data() + at, &address, sizeof(address));
      launch.relocations.push_back({at, id, 0, RelocationSource::kTyped, false});
      at += 8;
    }
    return launch;
  }

 private:
  Writer& writer_;
  AllocationId allocations_ = 0;
};

}  // namespace

std::vector<std::byte> lives_trace(std::span<const std::byte> elf) {
  const auto object = codeobj::CodeObject::parse(elf);
  GFXGRAPH_CHECK(object.has_value());
  return trace_bytes([&](Writer& writer) {
    LivesWriter to(writer);
    to.add(sample_environment());
    const auto blob = writer.add_blob(elf);
    GFXGRAPH_CHECK(blob.has_value());
    to.add(CodeObject{1, *blob, "amdgcn-amd-amdhsa--gfx1030"});
    const std::vector<Kernel> kernels = kernel_records(**object);
    for (const Kernel& kernel : kernels) to.add(kernel);
    const Kernel& kernel = kernels.back();
    for (SiteId id = 1; id <= 3; ++id)
      to.add(Site{id, "/bin/program", "0123456789abcdef", "main", 100 * id, 4 * id, true, true});
    using enum AllocationKind;
    to.event(StreamCreate{1, 0, 0});
    // Two threads besides the first: each frees what another one has allocated.
    const AllocationId a = to.begin(kDevice, 0, 0);
    const AllocationId b = to.begin(kStreamOrdered, 1, 1, 1);
    const AllocationId c = to.begin(kHostRegistered, 2, 2);
    const AllocationId d = to.begin(kManaged, 3, 1);
    to.event(to.launch(kernel, {a, b, c}, 1), 1);
    HostWrite write{c, 8, {}, true};
    write.content.size_bytes = 8;
    write.content.fill = 5;
    to.event(write, 2);
    to.event(HostFunction{1, "hipLaunchHostFunc", 1}, 1);
    to.event(Synchronize{SynchronizeKind::kHostFunction, 1}, 2);
    to.event(Marker{"step", MarkerKind::kRangeBegin, 1, 0}, 0);
    Graph graph{
        1, {{to.launch(kernel, {a, b, c}, 0), {}}, {HostFunction{0, "hipGraphAddHostNode"}, {0}}}};
    to.add(graph);
    to.event(GraphLaunch{1, 1, 2}, 0);
    to.event(Marker{"step", MarkerKind::kRangeEnd, 1, 0}, 0);
    to.event(Synchronize{SynchronizeKind::kStream, 1, "hipStreamSynchronize"}, 0);
    to.end(b, 2, 1);
    to.end(a, 1);
    const AllocationId again = to.begin(kDevice, 0, 2);  // at the same address
    to.end(again, 0);
    // The device is reset: everything ends, and the addresses come again.
    to.end(c, 0, 0, false);
    to.end(d, 0);
    to.event(StreamDestroy{1}, 0);
    to.event(StreamCreate{2, 1, 0}, 0);
    const AllocationId e = to.begin(kDevice, 0, 0);
    const AllocationId f = to.begin(kHostPinned, 1, 0);
    const AllocationId g = to.begin(kDevice, 2, 0);
    to.event(to.launch(kernel, {e, f, g}, 2), 0);
    to.event(Synchronize{SynchronizeKind::kStreamItself, 2}, 0);
    AllocationBegin array;
    array.id = g + 1;
    array.kind = kArray;
    array.recorded_address = kBase + 9 * kApart;
    array.array = std::make_shared<const ArrayShape>(ArrayShape{4, 4, 0, {{32, 0, 0, 0}}, 0});
    array.size_bytes = array.initial.size_bytes = 64;
    to.event(array, 0);
    to.end(e, 1);
    to.end(f, 2);
    to.end(g, 0, 0, false);
  });
}

}  // namespace gfxgraph::fuzz
