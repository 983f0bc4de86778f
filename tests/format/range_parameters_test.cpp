#include "format/ranges/range_parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/format/fake_trace.h"

namespace gfxgraph::ranges {
namespace {

using format::ArgumentKind;
using format::MarkerKind;

// A kernel with a pointer, an int, a struct of 20 bytes, and a wide number.
constexpr uint32_t kPointerAt = 0, kPositionAt = 8, kStructAt = 12, kWideAt = 32, kBytes = 40;

class RangeParameters : public ::testing::Test {
 protected:
  RangeParameters() {
    format::Kernel kernel;
    kernel.id = 1;
    kernel.name = "attend";
    kernel.kernarg_size_bytes = kernel.explicit_size_bytes = kBytes;
    kernel.arguments = {{"cache", "global_buffer", ArgumentKind::kGlobalBuffer, kPointerAt, 8},
                        {"position", "by_value", ArgumentKind::kByValue, kPositionAt, 4},
                        {"fields", "by_value", ArgumentKind::kByValue, kStructAt, 20},
                        {"", "by_value", ArgumentKind::kByValue, kWideAt, 8}};
    trace_.kernels_ = {kernel};
    for (format::AllocationId id : {1u, 2u}) allocate(id);
  }

  void allocate(format::AllocationId id, uint64_t address = 0, uint64_t size = 4096,
                format::AllocationKind kind = format::AllocationKind::kDevice) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.kind = kind;
    begin.recorded_address = address != 0 ? address : id * 65536;
    begin.size_bytes = size;
    trace_.add(begin);
  }
  void free(format::AllocationId id, bool freed = true) {
    format::AllocationEnd end;
    end.id = id;
    end.freed = freed;
    trace_.add(end);
  }

  static format::Launch attend(uint32_t position, format::AllocationId cache = 1,
                               int64_t offset = 0) {
    format::Launch launch;
    launch.kernel = 1;
    launch.kernarg.assign(kBytes, 0);
    set(launch, kPositionAt, position);
    launch.relocations = {{kPointerAt, cache, offset, format::RelocationSource::kTyped}};
    return launch;
  }
  template <typename Number>
  static void set(format::Launch& launch, uint32_t offset, Number number) {
    std::memcpy(launch.kernarg.data() + offset, &number, sizeof(number));
  }
  static format::Content bytes(uint64_t hash, uint64_t size) {
    format::Content content;
    content.size_bytes = size;
    content.blob = content.hash = {hash, 1};
    return content;
  }

  // One iteration: what `fill` adds.
  void step(const auto& fill, const char* name = "decode") {
    const format::RangeId id = ++ranges_;
    trace_.add(format::Marker{name, MarkerKind::kRangeBegin, id, ordinals_[name]++});
    fill();
    trace_.add(format::Marker{name, MarkerKind::kRangeEnd, id});
  }
  RangeComparisons compare() {
    return compare_iterations(trace_, group_iterations(summarize_ranges(trace_)));
  }
  RangeComparison only() {
    auto all = compare();
    EXPECT_EQ(all.comparisons.size(), 1u);
    return all.comparisons.empty() ? RangeComparison{} : all.comparisons[0];
  }

  format::testing::FakeTrace trace_;
  format::RangeId ranges_ = 0;
  std::map<std::string, uint32_t> ordinals_;
};

std::vector<int64_t> numbers(const Parameter& parameter) {
  std::vector<int64_t> result;
  for (const ParameterValue& value : parameter.values) result.push_back(value.number);
  return result;
}

TEST_F(RangeParameters, OneIterationIsNotCompared) {
  EXPECT_TRUE(compare().comparisons.empty());
  step([&] { trace_.add(attend(0)); });
  step([&] { trace_.add(attend(0)); }, "prefill");
  EXPECT_TRUE(compare().comparisons.empty());
}

TEST_F(RangeParameters, EqualIterationsHaveNone) {
  for (int i = 0; i < 3; ++i) step([&] { trace_.add(attend(5)); });
  const RangeComparison found = only();
  EXPECT_TRUE(found.parameters.empty());
  EXPECT_EQ(found.works, 1u);
  // 3 axes of grid, remainder and block, LDS; pointer, int, 5 words of the struct, wide number.
  EXPECT_EQ(found.constant_places, 10u + 8u);
}

TEST_F(RangeParameters, PlacesThatMoveTogetherAreOneParameter) {
  for (uint32_t i = 0; i < 4; ++i) {
    step([&] {
      for (int layer = 0; layer < 3; ++layer) trace_.add(attend(i));
      format::Launch shaped = attend(i);
      shaped.grid = {i + 1, 1, 1};
      shaped.dynamic_lds_bytes = 4 * i;
      trace_.add(shaped);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 3u);
  EXPECT_EQ(found.parameters[0].name, "position");
  EXPECT_EQ(found.parameters[0].match.pattern, Pattern::kStep);
  EXPECT_EQ(found.parameters[0].match.step, 1);
  ASSERT_EQ(found.parameters[0].places.size(), 4u);
  EXPECT_EQ(place_text(trace_, found.parameters[0].places[3]), "attend argument 'position' at 0x8");
  EXPECT_EQ(found.parameters[0].places[3].work, 3u);
  EXPECT_EQ(numbers(found.parameters[0]), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(found.parameters[1].name, "attend grid x");
  EXPECT_EQ(found.parameters[2].match.step, 4);
}

TEST_F(RangeParameters, PointersAreAllocationsAndOffsets) {
  for (uint32_t i = 0; i < 4; ++i) {
    step([&] {
      trace_.add(attend(0, 1, 64 * i));
      format::Launch swaps = attend(0, 1 + i % 2);
      set(swaps, kPointerAt, uint64_t{0xABC} + i);  // recorded addresses say nothing
      trace_.add(swaps);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 2u);
  EXPECT_EQ(found.parameters[0].match.pattern, Pattern::kStep);
  EXPECT_EQ(found.parameters[0].match.step, 64);
  EXPECT_EQ(found.parameters[1].match.pattern, Pattern::kSwap);
  EXPECT_EQ(found.parameters[1].match.period, 2u);
  EXPECT_EQ(found.parameters[1].values[1].memory, 2u);
}

TEST_F(RangeParameters, PartsOfStructs) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      format::Launch launch = attend(0);
      set(launch, kStructAt, i);  // a word of 4 bytes
      launch.relocations.push_back({kStructAt + 4, 2, 8 * i, format::RelocationSource::kMatched});
      set(launch, kStructAt + 12, i * i);
      set(launch, kWideAt + 4, 3 * i);  // the second field of a struct of 8 bytes
      trace_.add(launch);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 4u);
  EXPECT_EQ(place_text(trace_, found.parameters[0].places[0]),
            "attend argument 'fields' at 0xc + 0 bytes");
  EXPECT_EQ(found.parameters[1].values[2], (ParameterValue{2, 16}));
  EXPECT_EQ(found.parameters[1].places[0].size_bytes, 8u);
  EXPECT_EQ(found.parameters[2].match.pattern, Pattern::kFree);
  EXPECT_EQ(place_text(trace_, found.parameters[2].places[0]),
            "attend argument 'fields' at 0xc + 12 bytes");
  EXPECT_EQ(found.parameters[3].match.step, 3);
  EXPECT_EQ(place_text(trace_, found.parameters[3].places[0]),
            "attend argument 3 at 0x20 + 4 bytes");
}

TEST_F(RangeParameters, WideNumbersStayWhole) {
  for (int64_t i = 0; i < 3; ++i) {
    step([&] {
      format::Launch launch = attend(0);
      set(launch, kWideAt, i - 1);
      trace_.add(launch);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 1u);
  EXPECT_EQ(found.parameters[0].places[0].size_bytes, 8u);
  EXPECT_EQ(numbers(found.parameters[0]), (std::vector<int64_t>{-1, 0, 1}));
}

TEST_F(RangeParameters, KernelsThatListNoArguments) {
  trace_.kernels_[0].arguments.clear();
  for (uint32_t i = 0; i < 3; ++i) step([&] { trace_.add(attend(i, 1, 4 * i)); });
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 2u);
  EXPECT_EQ(found.parameters[0].name, "attend kernarg at 0x0");
  EXPECT_EQ(found.parameters[0].values[1].memory, 1u);
  EXPECT_EQ(found.parameters[1].name, "attend kernarg at 0x8");
}

TEST_F(RangeParameters, RemadeMemoryIsTheSame) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      allocate(10 + 2 * i, 0x900000 + 65536 * i);
      allocate(11 + 2 * i, 0xA00000 + 65536 * i, 512);
      trace_.add(attend(0, 11 + 2 * i, 16));
      free(10 + 2 * i);
      free(11 + 2 * i);
    });
  }
  const RangeComparison found = only();
  EXPECT_TRUE(found.parameters.empty());
}

TEST_F(RangeParameters, RemadeMemoryOfAnotherSizeOrTurnIsNot) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      allocate(10 + 2 * i, 0x900000, 512 + i);
      allocate(11 + 2 * i, 0xA00000, 512);
      trace_.add(attend(0, 10 + 2 * i));
      trace_.add(attend(0, i == 2 ? 1 : 11 + 2 * i));
      free(10 + 2 * i);
      free(11 + 2 * i);
    });
  }
  const RangeComparisons all = compare();
  ASSERT_EQ(all.comparisons.size(), 1u);
  const auto& parameters = all.comparisons[0].parameters;
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].match.pattern, Pattern::kFree);
  ASSERT_NE(all.memory.remade(parameters[0].values[1].memory), nullptr);
  EXPECT_EQ(all.memory.remade(parameters[0].values[1].memory)->size_bytes, 513u);
  EXPECT_EQ(all.memory.remade(parameters[1].values[2].memory), nullptr);
}

// As a recorder of ranges writes it: memory begins with each range, under another id.
TEST_F(RangeParameters, MemoryThatGoesOnIsTheSame) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      allocate(10 + 2 * i, 0x900000);
      allocate(11 + 2 * i, 0xA00000);
      trace_.add(attend(0, 10 + 2 * i));
      trace_.add(attend(0, 10 + 2 * i + i % 2));
      free(10 + 2 * i, false);
      free(11 + 2 * i, false);
    });
  }
  const RangeComparisons all = compare();
  const auto& parameters = all.comparisons.at(0).parameters;
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].values[0].memory, 10u);
  EXPECT_EQ(parameters[0].values[1].memory, 11u);
  EXPECT_EQ(parameters[0].values[2].memory, 10u);
}

TEST_F(RangeParameters, InputsAndOutputs) {
  allocate(3, 0, 4096, format::AllocationKind::kHostPinned);
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      trace_.add(format::HostWrite{.allocation = 3, .offset_bytes = 8, .content = bytes(i, 4)});
      if (i == 1)
        trace_.add(format::HostWrite{.allocation = 3, .offset_bytes = 64, .content = bytes(9, 4)});
      format::Copy in;
      in.destination = {1, 128 * i};
      in.width_bytes = 16;
      in.host_source = bytes(7, 16);
      trace_.add(in);
      in.destination = {1, 0};
      in.host_source = bytes(7 + i, 16);
      trace_.add(in);
      format::Copy pinned;
      pinned.destination.allocation = 1;
      pinned.source.allocation = 3;
      pinned.width_bytes = 8;
      trace_.add(pinned);
      format::Copy inside;
      inside.destination.allocation = 1;
      inside.source.allocation = 2;
      inside.width_bytes = 8;
      trace_.add(inside);
      format::Copy out;
      out.source.allocation = 2;
      out.width_bytes = 4 + i;
      trace_.add(out);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.inputs.size(), 5u);
  EXPECT_EQ(found.inputs[0].bytes, Bytes::kConstant);
  EXPECT_EQ(found.inputs[0].memory_match.step, 128);
  EXPECT_EQ(found.inputs[1].bytes, Bytes::kChange);
  EXPECT_EQ(found.inputs[1].size_bytes, 16u);
  EXPECT_TRUE(found.inputs[2].pinned);
  EXPECT_EQ(found.inputs[2].bytes, Bytes::kUnknown);
  EXPECT_TRUE(found.inputs[3].host_write);
  EXPECT_EQ(found.inputs[3].bytes, Bytes::kChange);
  EXPECT_EQ(found.inputs[3].iterations, 3u);
  EXPECT_EQ(found.inputs[3].memory, (ParameterValue{3, 8}));
  EXPECT_EQ(found.inputs[4].iterations, 1u);
  EXPECT_EQ(found.inputs[4].bytes, Bytes::kConstant);
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_TRUE(found.outputs[0].size_changes);
  EXPECT_EQ(found.outputs[0].memory.memory, 2u);
  // The moved destination, the output's width.
  EXPECT_EQ(found.parameters.size(), 2u);
}

// The recorder of ranges looks at memory of the host when the range begins.
TEST_F(RangeParameters, HostMemoryThatChangedBetweenRecordedRanges) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      for (const format::AllocationId buffer : {0u, 1u, 2u}) {
        format::AllocationBegin begin;
        begin.id = 10 + 3 * i + buffer;
        begin.kind =
            buffer == 2 ? format::AllocationKind::kDevice : format::AllocationKind::kHostPinned;
        begin.recorded_address = 0x900000 + 65536 * buffer;
        begin.size_bytes = 64;
        begin.initial = bytes(buffer == 1 ? 50 + i : 20 + i, 64);  // as below, in the second one
        trace_.add(begin);
      }
      trace_.add(attend(0, 10 + 3 * i));
      for (const format::AllocationId buffer : {0u, 1u, 2u}) {
        format::AllocationEnd end;
        end.id = 10 + 3 * i + buffer;
        end.freed = false;
        end.post = bytes(51 + i, 64);
        trace_.add(end);
      }
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.inputs.size(), 1u);
  EXPECT_TRUE(found.inputs[0].host_write);
  EXPECT_EQ(found.inputs[0].memory, (ParameterValue{10, 0}));
  EXPECT_EQ(found.inputs[0].size_bytes, 64u);
  EXPECT_EQ(found.inputs[0].iterations, 2u);
  EXPECT_EQ(found.inputs[0].bytes, Bytes::kChange);
}

TEST_F(RangeParameters, MemsetValues) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      format::Memset set;
      set.allocation = 1;
      set.value = 3 - i;
      trace_.add(set);
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.parameters.size(), 1u);
  EXPECT_EQ(found.parameters[0].name, "memset value");
  EXPECT_EQ(found.parameters[0].match.step, -1);
}

TEST_F(RangeParameters, NodesOfGraphs) {
  for (uint32_t i = 0; i < 3; ++i) {
    format::Graph graph;
    graph.id = i + 1;
    graph.nodes = {{format::Memset{}, {}}, {attend(i), {0}}};
    trace_.graphs_.push_back(graph);
    step([&] {
      trace_.add(format::GraphLaunch{i + 1, 0, 0});
      trace_.add(format::GraphLaunch{1, 0, 0});
    });
  }
  const RangeComparison found = only();
  EXPECT_EQ(found.works, 2u);
  ASSERT_EQ(found.parameters.size(), 1u);
  EXPECT_EQ(found.parameters[0].name, "position");
  ASSERT_EQ(found.parameters[0].places.size(), 1u);
  EXPECT_EQ(found.parameters[0].places[0].node, 1u);
  // A memset has 7 places, a launch 18: both launches, without what differs.
  EXPECT_EQ(found.constant_places, 2 * (7u + 18u) - 1u);
}

TEST_F(RangeParameters, TransfersNameTheirNodes) {
  format::Copy in;
  in.destination.allocation = 1;
  in.width_bytes = 16;
  in.host_source = bytes(7, 16);
  format::Graph graph;
  graph.id = 1;
  graph.nodes = {{format::Memset{}, {}}, {format::Memset{}, {0}}, {in, {1}}};
  trace_.graphs_.push_back(graph);
  for (int i = 0; i < 2; ++i) {
    step([&] {
      trace_.add(in);
      trace_.add(format::GraphLaunch{1, 0, 0});
    });
  }
  const RangeComparison found = only();
  ASSERT_EQ(found.inputs.size(), 2u);
  EXPECT_EQ(found.inputs[0].work, 0u);
  EXPECT_EQ(found.inputs[0].node, kNone);
  EXPECT_EQ(found.inputs[1].work, 1u);
  EXPECT_EQ(found.inputs[1].node, 2u);
}

TEST_F(RangeParameters, OtherShapesAndOpenRangesAreNoIterations) {
  step([&] { trace_.add(attend(0)); });
  step([&] {
    trace_.add(attend(1));
    trace_.add(attend(1));
  });
  step([&] { trace_.add(attend(2)); });
  trace_.add(format::Marker{"decode", MarkerKind::kRangeBegin, 99, 3});
  trace_.add(attend(3));
  const RangeComparison found = only();
  ASSERT_EQ(found.iterations.size(), 2u);
  EXPECT_EQ(found.iterations[1].ordinal, 2u);
  ASSERT_EQ(found.parameters.size(), 1u);
  EXPECT_EQ(found.parameters[0].match.step, 2);
}

TEST_F(RangeParameters, OverlappingRangesAreNoIterations) {
  for (format::RangeId id : {1u, 2u}) {
    trace_.add(format::Marker{"decode", MarkerKind::kRangeBegin, id, id - 1});
  }
  trace_.add(attend(0));
  for (format::RangeId id : {1u, 2u}) {
    trace_.add(format::Marker{"decode", MarkerKind::kRangeEnd, id});
  }
  EXPECT_TRUE(compare().comparisons.empty());
}

// A forger's nests must not cost the square of the trace.
TEST_F(RangeParameters, NestsBeyondTheLimitAreNamed) {
  constexpr format::RangeId kNames = 40;
  const auto name = [](format::RangeId n) { return "n" + std::to_string(n); };
  for (format::RangeId round = 0; round < 2; ++round) {
    for (format::RangeId n = 1; n <= kNames; ++n) {
      trace_.add(format::Marker{name(n), MarkerKind::kRangeBegin, round * kNames + n, round});
    }
    for (int i = 0; i < 400; ++i) trace_.add(attend(round));
    for (format::RangeId n = 1; n <= kNames; ++n) {
      trace_.add(format::Marker{name(n), MarkerKind::kRangeEnd, round * kNames + n});
    }
  }
  const RangeComparisons all = compare();
  ASSERT_EQ(all.comparisons.size(), kNames);
  const auto skipped = std::ranges::count_if(
      all.comparisons, [](const RangeComparison& one) { return !one.not_compared.empty(); });
  EXPECT_GT(skipped, 0);
  EXPECT_EQ(all.comparisons[0].not_compared, "");
  EXPECT_EQ(all.comparisons[0].parameters.size(), 1u);
}

// The values of a parameter count, too.
TEST_F(RangeParameters, ListsFewerParametersOfManyIterations) {
  for (uint32_t i = 0; i < 200; ++i) {
    step([&] {
      for (uint32_t n = 0; n < 20; ++n) trace_.add(attend((n + 2) * i));
    });
  }
  const auto groups = group_iterations(summarize_ranges(trace_));
  const RangeComparison all = compare_iterations(trace_, groups).comparisons.at(0);
  EXPECT_EQ(all.parameters.size(), 20u);
  const RangeComparison some = compare_iterations(trace_, groups, 20).comparisons.at(0);
  EXPECT_GT(some.parameters.size(), 0u);
  EXPECT_LT(some.parameters.size(), 20u);
  EXPECT_EQ(some.parameters.size() + some.unlisted_places, 20u);
}

TEST_F(RangeParameters, WhatIsListedIsLimited) {
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      for (uint32_t n = 0; n < 100; ++n) trace_.add(attend(i));
      for (uint32_t n = 0; n < 100; ++n) trace_.add(attend((n + 2) * i));
      for (uint32_t n = 0; n < 100; ++n) {
        format::Copy out;
        out.source.allocation = 2;
        out.width_bytes = 4;
        trace_.add(out);
      }
    });
  }
  const auto groups = group_iterations(summarize_ranges(trace_));
  const RangeComparison all = compare_iterations(trace_, groups).comparisons.at(0);
  EXPECT_EQ(all.parameters.size(), 101u);
  EXPECT_EQ(all.unlisted_places, 0u);
  const RangeComparison some = compare_iterations(trace_, groups, 150).comparisons.at(0);
  EXPECT_EQ(some.parameters.size(), 51u);
  EXPECT_EQ(some.unlisted_places, 50u);
  EXPECT_EQ(some.unlisted_transfers, 100u);
  EXPECT_EQ(some.constant_places, all.constant_places);
}

}  // namespace
}  // namespace gfxgraph::ranges
