// Ground truth of racecheck: copies, memsets and writes of the host that nothing orders with a
// kernel, and their right twins.
#include <gmock/gmock.h>

#include "check/order/event_order.h"
#include "format/names.h"
#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

using Order = std::function<void(TraceBuilder&)>;

constexpr uint64_t kTransferBytes = 16 * 1024;
constexpr uint32_t kTransferItems = 128;  // each kernel's; one dword each

void two_streams(TraceBuilder& t) {
  for (const format::StreamId id : {1U, 2U})
    t.add(format::StreamCreate{.id = id, .flags = 1, .priority = 0});
  t.add(format::EventCreate{.id = 1, .flags = 0});
}
void second_waits(TraceBuilder& t) {
  t.add(format::EventRecord{.event = 1, .stream = 1});
  t.add(format::StreamWait{.stream = 2, .event = 1, .flags = 0});
}
void synchronize(TraceBuilder& t, format::StreamId stream) {
  t.add(
      format::Synchronize{.kind = format::SynchronizeKind::kStream, .object = stream, .call = ""});
}
void host_waits(TraceBuilder& t) { synchronize(t, 1); }
void device_waits(TraceBuilder& t) {
  t.add(format::Synchronize{.kind = format::SynchronizeKind::kDevice, .object = 0, .call = ""});
}

// ---- copies and memsets -------------------------------------------------------------------------

using Buffer = TraceBuilder::Buffer;
// Work of a stream.
using Work = std::function<format::Action(TraceBuilder&, const Buffer& shared, const Buffer& other,
                                          format::StreamId, const std::string& kernel)>;

format::Copy copy_on(format::StreamId stream) {
  format::Copy copy;
  copy.width_bytes = kTransferBytes;
  copy.asynchronous = true;
  copy.stream = stream;
  return copy;
}
format::Action copy_in(TraceBuilder& t, const Buffer& shared, const Buffer&,
                       format::StreamId stream, const std::string&) {
  format::Copy copy = copy_on(stream);
  copy.destination.allocation = shared.id;
  copy.host_source = t.content(std::vector<uint32_t>(kTransferBytes / 4, 7));
  return copy;
}
format::Action copy_out(TraceBuilder&, const Buffer& shared, const Buffer&, format::StreamId stream,
                        const std::string&) {
  format::Copy copy = copy_on(stream);
  copy.source.allocation = shared.id;
  copy.host_result.size_bytes = kTransferBytes;
  copy.host_result.stored = false;
  return copy;
}
format::Action copy_from(TraceBuilder&, const Buffer& shared, const Buffer& other,
                         format::StreamId stream, const std::string&) {
  format::Copy copy = copy_on(stream);
  copy.source.allocation = shared.id;
  copy.destination.allocation = other.id;
  return copy;
}
// The first bytes of rows of 32 dwords, of which the kernel's are the first four.
format::Action copy_rows(TraceBuilder& t, const Buffer& shared, const Buffer&,
                         format::StreamId stream, const std::string&) {
  format::Copy copy = copy_on(stream);
  copy.destination = {shared.id, 1, 128, 0};
  copy.width_bytes = 3;
  copy.height = 4;
  copy.host_source = t.content({1, 2, 3});
  return copy;
}
format::Action clear(TraceBuilder&, const Buffer& shared, const Buffer&, format::StreamId stream,
                     const std::string&) {
  format::Memset memset;
  memset.allocation = shared.id;
  memset.element_bytes = 4;
  memset.width_elements = kTransferBytes / 4;
  memset.asynchronous = true;
  memset.stream = stream;
  return memset;
}
format::Action reads(TraceBuilder& t, const Buffer& shared, const Buffer& other,
                     format::StreamId stream, const std::string& kernel) {
  format::Launch launch = t.make_launch(kernel, 2, kTransferItems / 2, {other, shared});
  launch.stream = stream;
  return launch;
}
format::Action writes(TraceBuilder& t, const Buffer& shared, const Buffer& other,
                      format::StreamId stream, const std::string& kernel) {
  return reads(t, other, shared, stream, kernel);
}

Fault unordered(const std::string& name, const Work& first, const Work& second, const Order& order,
                format::AllocationKind kind = format::AllocationKind::kDevice) {
  return {FindingClass::kR7, name, "add_to",
          [=](TraceBuilder& t, const std::string& launched) {
            two_streams(t);
            t.set_kind(kind);
            const auto shared = t.buffer(kTransferBytes);
            const auto other = t.buffer(kTransferBytes);
            device_waits(t);  // stream-ordered memory is there
            t.add(first(t, shared, other, 1, launched));
            const bool safe = launched.ends_with("_safe");
            if (safe && order) order(t);
            t.add(second(t, shared, other, safe && !order ? 1 : 2, launched));
          },
          "races.bundle"};
}

TEST(TransferTruth, CopiesAndKernels) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  const std::vector<std::pair<std::string, Order>> orders = {
      {"one stream", nullptr},
      {"an event", second_waits},
      {"the host waits", host_waits},
      {"the device is idle", device_waits},
  };
  for (const auto& [name, order] : orders) {
    faults.push_back(unordered("copy in, read: " + name, copy_in, reads, order));
    faults.push_back(unordered("copy in, written: " + name, copy_in, writes, order));
    faults.push_back(unordered("read, copy in: " + name, reads, copy_in, order));
    faults.push_back(unordered("written, copy out: " + name, writes, copy_out, order));
    faults.push_back(unordered("copy out, written: " + name, copy_out, writes, order));
    faults.push_back(unordered("written, copied on: " + name, writes, copy_from, order));
    faults.push_back(unordered("cleared, written: " + name, clear, writes, order));
    faults.push_back(unordered("read, cleared: " + name, reads, clear, order));
    faults.push_back(unordered("rows, read: " + name, copy_rows, reads, order));
    faults.push_back(unordered("written, rows: " + name, writes, copy_rows, order));
  }
  faults.push_back(unordered("stream-ordered memory", copy_in, reads, second_waits,
                             format::AllocationKind::kStreamOrdered));
  check_all(faults, with_races());
}

Report check_races(TraceBuilder& t) {
  CheckOptions options;
  options.selection.tools = with_races();
  const Result<Report> report = t.try_check(options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report{};
}

// Neither has an instruction: the finding names no kernel.
TEST(TransferTruth, TwoCopies) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool same : {false, true}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    const auto shared = t.buffer(kTransferBytes);
    t.add(clear(t, shared, shared, 1, ""));
    t.add(copy_in(t, shared, shared, same ? 1 : 2, ""));
    const Report report = check_races(t);
    EXPECT_EQ(count_of(report, FindingClass::kR7), same ? 0U : 1U) << render_text(report, "t");
    if (same) continue;
    EXPECT_EQ(report.findings.front().kernel, "(none)");
    EXPECT_THAT(render_text(report, "t"), testing::HasSubstr("before the copy of event"));
  }
}

// Reads are not hazards to each other, nor are neighbours in one dword.
TEST(TransferTruth, WhatIsRight) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  {
    TraceBuilder t("races.bundle");
    two_streams(t);
    const auto shared = t.buffer(kTransferBytes);
    const auto other = t.buffer(kTransferBytes);
    t.add(reads(t, shared, other, 1, "add_to"));
    t.add(copy_out(t, shared, other, 2, ""));
    const Report report = check_races(t);
    EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
  }
  for (const uint64_t from : {1U, 2U}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    const auto shared = t.buffer(kTransferBytes);
    for (const format::StreamId stream : {1U, 2U}) {
      format::Memset memset;
      memset.allocation = shared.id;
      memset.offset_bytes = stream == 1 ? 0 : from;
      memset.width_elements = 2;
      memset.asynchronous = true;
      memset.stream = stream;
      t.add(memset);
    }
    const Report report = check_races(t);
    EXPECT_EQ(count_of(report, FindingClass::kR7), from == 1 ? 1U : 0U) << render_text(report, "t");
  }
}

// The runtime orders what it gives to another stream.
TEST(TransferTruth, MemoryThatIsGivenAgain) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool copies : {false, true}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    const auto first = t.buffer(kTransferBytes);
    const auto one = t.buffer(kTransferBytes);
    const auto two = t.buffer(kTransferBytes);
    t.add(writes(t, first, one, 1, "add_to"));
    t.free(first);
    const auto again = t.buffer_behind(Buffer{0, first.address - 4096, 4096}, kTransferBytes);
    t.add(copies ? copy_in(t, again, again, 2, "") : writes(t, again, two, 2, "add_to"));
    const Report report = check_races(t);
    EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
  }
}

// ---- writes of the host -------------------------------------------------------------------------

// The launch's words that are the buffer's address lead there.
format::Launch given(format::Launch launch, const Buffer& buffer) {
  for (uint64_t at = 0; at + 8 <= launch.kernarg.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, launch.kernarg.data() + at, 8);
    if (word == buffer.address)
      launch.relocations.push_back({at, buffer.id, 0, format::RelocationSource::kTyped});
  }
  return launch;
}

void host_writes(TraceBuilder& t, const Buffer& buffer, uint64_t offset, uint32_t value,
                 bool in_doubt) {
  t.add(format::HostWrite{buffer.id, offset, t.content({value}), in_doubt});
}

enum class Doubt : uint8_t { kNone, kBeforeLaunch, kAfterWait };

// The host fills a word while the kernel may read it; the twin waits first, and so nothing is in
// doubt.
Fault host_write(const std::string& name, Doubt doubt, format::AllocationKind kind,
                 const Order& wait) {
  return {FindingClass::kR8, name, "add_to",
          [=](TraceBuilder& t, const std::string& launched) {
            two_streams(t);
            const auto own = t.buffer(kTransferBytes);
            t.set_kind(kind);
            const auto shared = t.buffer(kTransferBytes);
            const auto launch = [&](const std::string& kernel) {
              format::Launch one =
                  given(t.make_launch(kernel, 2, kTransferItems / 2, {own, shared}), shared);
              one.stream = 1;
              t.add(one);
            };
            launch(launched);
            const bool safe = launched.ends_with("_safe");
            if (safe || doubt == Doubt::kAfterWait) wait(t);
            host_writes(t, shared, 40, 4711, !safe && doubt != Doubt::kNone);
            if (doubt != Doubt::kAfterWait) launch("add_to_safe");
            device_waits(t);
          },
          "races.bundle"};
}

TEST(TransferTruth, HostWrites) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const auto kind :
       {format::AllocationKind::kHostPinned, format::AllocationKind::kHostRegistered,
        format::AllocationKind::kManaged}) {
    const std::string name = name_of(kind).key;
    faults.push_back(host_write(name + ", seen", Doubt::kNone, kind, host_waits));
    faults.push_back(host_write(name + ", next launch", Doubt::kBeforeLaunch, kind, device_waits));
    faults.push_back(host_write(name + ", at a wait", Doubt::kAfterWait, kind, host_waits));
  }
  check_all(faults, with_races());
}

// Bytes that the kernel wrote itself, and such that it may have written otherwise.
TEST(TransferTruth, WhatTheKernelMayHaveWritten) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const uint32_t value : {3U, 4U}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    t.set_kind(format::AllocationKind::kHostPinned);
    const auto shared = t.buffer(kTransferBytes);
    format::Launch launch =
        given(t.make_launch("fill", 2, kTransferItems / 2, {shared, 3}), shared);
    launch.stream = 1;
    t.add(launch);
    host_waits(t);
    host_writes(t, shared, 40, value, true);
    const Report report = check_races(t);
    EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
  }
}

// A write that was seen behind the end of the kernel, which the program was not told of, is one.
TEST(TransferTruth, HostOverwritesResults) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool waits : {false, true}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    t.set_kind(format::AllocationKind::kHostPinned);
    const auto shared = t.buffer(kTransferBytes);
    format::Launch launch =
        given(t.make_launch("fill", 2, kTransferItems / 2, {shared, 3}), shared);
    launch.stream = 1;
    t.add(launch);
    if (waits) host_waits(t);
    host_writes(t, shared, 40, 4, false);
    const Report report = check_races(t);
    EXPECT_EQ(count_of(report, FindingClass::kR8), waits ? 0U : 1U) << render_text(report, "t");
  }
}

// The program learns by an event of the first launch, and then fills that one's half. The recorder
// reads the memory behind the first launch, and may find this.
TEST(TransferTruth, HalvesInTurn) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool learns : {false, true}) {
    TraceBuilder t("races.bundle");
    two_streams(t);
    const auto own = t.buffer(kTransferBytes);
    t.set_kind(format::AllocationKind::kHostPinned);
    const auto shared = t.buffer(kTransferBytes);
    const auto launch = [&](uint64_t offset) {
      format::Launch one =
          t.make_launch("add_to", 2, kTransferItems / 2, {own, shared.address + offset});
      one.relocations.push_back(
          {8, shared.id, static_cast<int64_t>(offset), format::RelocationSource::kTyped});
      one.stream = 1;
      t.add(one);
    };
    launch(0);
    t.add(format::EventRecord{.event = 1, .stream = 1});
    host_writes(t, shared, 40, 4711, true);
    launch(kTransferBytes / 2);
    if (learns)
      t.add(format::Synchronize{.kind = format::SynchronizeKind::kEvent, .object = 1, .call = ""});
    device_waits(t);
    const Report report = check_races(t);
    EXPECT_EQ(count_of(report, FindingClass::kR8), learns ? 0U : 1U) << render_text(report, "t");
  }
}

// A kernel with atomics on memory of the host may have told it.
TEST(TransferTruth, KernelsThatTellTheHost) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("races.bundle");
  two_streams(t);
  const auto data = t.buffer(kTransferBytes);
  t.set_kind(format::AllocationKind::kHostPinned);
  const auto counter = t.buffer(kTransferBytes);
  const auto launch = [&] {
    t.add(given(t.make_launch("last_block_sum_safe", 2, 64, {data, counter}), counter));
  };
  launch();
  host_writes(t, counter, 0, 0, false);
  launch();
  const Report report = check_races(t);
  EXPECT_EQ(count_of(report, FindingClass::kR8), 0U) << render_text(report, "t");
}

// A write of the host is no wait for the device.
TEST(TransferTruth, LaunchesAroundAHostWrite) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("races.bundle");
  two_streams(t);
  const auto shared = t.buffer(kTransferBytes);
  const auto own = t.buffer(kTransferBytes);
  t.set_kind(format::AllocationKind::kHostPinned);
  const auto pinned = t.buffer(kTransferBytes);
  t.add(writes(t, shared, own, 1, "add_to"));
  host_writes(t, pinned, 0, 5, false);
  t.add(reads(t, shared, own, 2, "add_to"));
  const Report report = check_races(t);
  EXPECT_NE(count_of(report, FindingClass::kR6), 0U) << render_text(report, "t");
}

// ---- the life of stream-ordered memory ----------------------------------------------------------

// Allocated in stream 1, used in stream 2 and freed in `free_stream`.
Build lifetime(const Work& use, const Order& allocated, const Order& used,
               format::StreamId free_stream) {
  return [=](TraceBuilder& t, const std::string& kernel) {
    two_streams(t);
    const auto other = t.buffer(kTransferBytes);
    TraceBuilder::Buffer memory = t.buffer(kTransferBytes);
    t.free(memory);
    format::AllocationBegin begin;
    memory.id = begin.id = 77;
    begin.kind = format::AllocationKind::kStreamOrdered;
    begin.recorded_address = memory.address;
    begin.size_bytes = kTransferBytes;
    begin.initial.size_bytes = kTransferBytes;
    begin.stream = 1;
    t.add(begin);
    const bool safe = kernel.ends_with("_safe");
    if (allocated || safe) (allocated ? allocated : second_waits)(t);
    t.add(use(t, memory, other, 2, kernel));
    if (used) used(t);
    if (!used && safe) synchronize(t, 2);
    format::AllocationEnd end;
    end.id = begin.id;
    end.freed = true;
    end.stream = free_stream;
    t.add(end);
  };
}

TEST(TransferTruth, StreamOrderedMemory) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto host_waits_for_2 = [](TraceBuilder& t) { synchronize(t, 2); };
  std::vector<Fault> faults;
  const auto add = [&](FindingClass expected, const std::string& name, const Work& use,
                       const Order& allocated, const Order& used, format::StreamId free_stream) {
    faults.push_back(
        {expected, name, "add_to", lifetime(use, allocated, used, free_stream), "races.bundle"});
  };
  add(FindingClass::kR10, "read before the allocation", reads, nullptr, host_waits_for_2, 1);
  add(FindingClass::kR10, "written before the allocation", writes, nullptr, host_waits_for_2, 1);
  add(FindingClass::kR11, "freed while it is read", reads, second_waits, nullptr, 1);
  add(FindingClass::kR11, "freed while it is written", writes, second_waits, nullptr, 1);
  check_all(faults, with_races());
}

// A copy has no kernel.
TEST(TransferTruth, StreamOrderedMemoryOfCopies) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool safe : {false, true}) {
    for (const FindingClass expected : {FindingClass::kR10, FindingClass::kR11}) {
      TraceBuilder trace("races.bundle");
      const bool before = expected == FindingClass::kR10;
      lifetime(copy_in, before && !safe ? Order([](TraceBuilder&) {}) : second_waits,
               before || safe ? Order([](TraceBuilder& t) { synchronize(t, 2); })
                              : Order([](TraceBuilder&) {}),
               1)(trace, "add_to");
      CheckOptions options;
      options.threads = 1;
      options.selection.tools = with_races();
      const Report report = trace.try_check(options).value_or(Report());
      EXPECT_EQ(count_of(report, expected), safe ? 0U : 1U) << render_text(report, "t");
      EXPECT_EQ(report.findings.size(), safe ? 0U : 1U) << render_text(report, "t");
    }
  }
}

// hipFree() waits for the device, and the trace says so behind the end.
TEST(TransferTruth, FreesThatWait) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool waits : {false, true}) {
    TraceBuilder trace("races.bundle");
    lifetime(reads, second_waits, [](TraceBuilder&) {}, 0)(trace, "add_to");
    if (waits)
      trace.add(format::Synchronize{
          .kind = format::SynchronizeKind::kDevice, .object = 0, .call = "hipFree"});
    CheckOptions options;
    options.threads = 1;
    options.selection.tools = with_races();
    const Report report = trace.try_check(options).value_or(Report());
    EXPECT_EQ(count_of(report, FindingClass::kR11), waits ? 0U : 1U) << render_text(report, "t");
  }
}

}  // namespace
}  // namespace gfxgraph::check
