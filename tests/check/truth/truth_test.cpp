// Ground truth: kernels with a planted fault and their right twins, on each kind of memory. A tool
// must find every fault, in its class, and report nothing else.
#include "tests/check/truth/truth.h"

#include <gmock/gmock.h>

namespace gfxgraph::check {
namespace {

// Each tool finds its faults beside others, too: initcheck has faster ways past what is in order.
void check_with_and_without_init(const std::vector<Fault>& faults) {
  check_all(faults);
  ToolSet tools = kDefaultTools;
  tools[static_cast<size_t>(Tool::kInitcheck)] = true;
  check_all(faults, tools);
}

// ---- memcheck ----

constexpr int kTruthItems = 50;
constexpr uint64_t kTruthBytes = kTruthItems * 4;
constexpr uint64_t kPage = 4096;

struct Kind {
  const char* name;
  format::AllocationKind kind;
};
constexpr Kind kKinds[] = {
    {"device", format::AllocationKind::kDevice},
    {"managed", format::AllocationKind::kManaged},
    {"pinned", format::AllocationKind::kHostPinned},
    {"registered", format::AllocationKind::kHostRegistered},
    {"stream-ordered", format::AllocationKind::kStreamOrdered},
};

std::vector<Fault> faults_of(const Kind& kind) {
  std::vector<Fault> faults;
  const auto add = [&](FindingClass expected, const std::string& name, const std::string& kernel,
                       const Build& build) {
    faults.push_back({expected, std::string(kind.name) + ", " + name, kernel,
                      [build, kind](TraceBuilder& trace, const std::string& launched) {
                        trace.set_kind(kind.kind);
                        build(trace, launched);
                      }});
  };
  const auto store = [](uint64_t mapped) {
    return [mapped](TraceBuilder& t, const std::string& kernel) {
      t.launch(kernel, 2, 32, {t.buffer(kTruthBytes, mapped), kTruthItems});
    };
  };
  const auto load = [](uint64_t mapped) {
    return [mapped](TraceBuilder& t, const std::string& kernel) {
      const auto to = t.buffer(64 * 4);
      t.launch(kernel, 2, 32, {to, t.buffer(kTruthBytes, mapped), kTruthItems});
    };
  };
  add(FindingClass::kE2, "store past the end, in the page", "store_items", store(0));
  add(FindingClass::kE2, "store past the end, in the next page", "store_items", store(2 * kPage));
  add(FindingClass::kE1, "store past the page", "store_items", store(kTruthBytes));
  add(FindingClass::kE2, "load past the end, in the page", "load_items", load(0));
  add(FindingClass::kE1, "load past the page", "load_items", load(kTruthBytes));
  add(FindingClass::kE2, "wide load over the end", "load_wide",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(126 * 4), 126});
      });
  add(FindingClass::kE2, "atomic past the end", "add_items", store(0));
  add(FindingClass::kE1, "store as far behind the end as its base is before it",
      "store_from_middle", [](TraceBuilder& t, const std::string& kernel) {
        t.launch(kernel, 1, 32, {t.buffer(4 * kPage), 3072, 2048, 4096});
      });
  for (const char* kernel : {"by_pointer", "by_buffer"}) {
    add(FindingClass::kE6, std::string(kernel) + " into a neighbour", kernel,
        [](TraceBuilder& t, const std::string& launched) {
          const auto to = t.buffer(32 * 4);
          const auto from = t.buffer(kPage);
          t.buffer_behind(from, kPage);
          t.launch(launched, 1, 32, {to, from, 1100, 1024});
        });
    add(FindingClass::kE2, std::string(kernel) + " past the end", kernel,
        [](TraceBuilder& t, const std::string& launched) {
          const auto to = t.buffer(32 * 4);
          t.launch(launched, 1, 32, {to, t.buffer(kTruthBytes), 20, kTruthItems});
        });
  }
  add(FindingClass::kE6, "row of lanes into a neighbour", "load_items",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(64 * 4);
        const auto from = t.buffer(kTruthBytes);
        t.buffer_behind(from, kPage);
        t.launch(kernel, 2, 32, {to, from, kTruthItems});
      });
  add(FindingClass::kE2, "scalar load past the end", "load_uniform",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(kTruthBytes), kTruthItems, kTruthItems});
      });
  add(FindingClass::kE3, "scalar load far past the end", "load_uniform",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(kTruthBytes), 5000, kTruthItems});
      });
  return faults;
}

// No launch frees what it uses itself: the twin's buffers live on.
Build with_freed(const std::function<void(TraceBuilder&, const std::string&, TraceBuilder::Buffer,
                                          TraceBuilder::Buffer)>& launch) {
  return [launch](TraceBuilder& t, const std::string& kernel) {
    const auto to = t.buffer(64 * 4);
    const auto from = t.buffer(64 * 4);
    if (!kernel.ends_with("_safe")) t.free(from);
    launch(t, kernel, to, from);
  };
}

TEST(Truth, Memcheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const Kind& kind : kKinds)
    for (Fault& fault : faults_of(kind)) faults.push_back(std::move(fault));
  faults.push_back({FindingClass::kE5, "load after free", "load_items",
                    with_freed([](auto& t, const auto& kernel, auto to, auto from) {
                      t.launch(kernel, 2, 32, {to, from, 64});
                    })});
  faults.push_back({FindingClass::kE5, "scalar load after free", "load_uniform",
                    with_freed([](auto& t, const auto& kernel, auto to, auto from) {
                      t.launch(kernel, 1, 32, {to, from, 3, 64});
                    })});
  faults.push_back({FindingClass::kE4, "load through null", "load_items",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const auto to = t.buffer(64 * 4);
                      const bool safe = kernel.ends_with("_safe");
                      t.launch(kernel, 2, 32, {to, uint64_t{0}, safe ? 0 : 64});
                    }});
  faults.push_back({FindingClass::kE4, "store through null, far index", "store_items",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const bool safe = kernel.ends_with("_safe");
                      t.launch(kernel, 200, 32, {uint64_t{0}, safe ? 0 : 6400});
                    }});
  faults.push_back({FindingClass::kE4, "scalar load through null", "load_uniform",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const auto to = t.buffer(32 * 4);
                      t.launch(kernel, 1, 32, {to, uint64_t{0}, 3, 64});
                    }});
  faults.push_back({FindingClass::kE2, "variable of a module, past its end", "store_last",
                    [](TraceBuilder& t, const std::string& kernel) {
                      t.launch(kernel, 1, 32, {t.buffer(32 * 4), 17});
                    }});
  faults.push_back({FindingClass::kE2, "static variable, scalar load", "load_static",
                    [](TraceBuilder& t, const std::string& kernel) {
                      t.launch(kernel, 1, 32, {t.buffer(32 * 4), 21});
                    }});
  faults.push_back({FindingClass::kE6, "variable of a module, into the next one", "store_table",
                    [](TraceBuilder& t, const std::string& kernel) {
                      t.launch(kernel, 2, 32, {t.buffer(32 * 4), 1});
                    }});
  check_with_and_without_init(faults);
}

// One wave that gets a buffer and a number.
Fault local(FindingClass expected, const std::string& kernel, int number,
            uint32_t dynamic_lds = 0) {
  return {expected, kernel + " " + std::to_string(number), kernel,
          [number, dynamic_lds](TraceBuilder& t, const std::string& launched) {
            const auto to = t.buffer(64 * 8);
            format::Launch launch = t.make_launch(launched, 1, 32, {to, number});
            launch.dynamic_lds_bytes = dynamic_lds;
            t.add(launch);
          },
          "local.bundle"};
}

TEST(Truth, LdsScratchAndAtomics) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_with_and_without_init({
      local(FindingClass::kE7, "store_lds", 40),       // in the last granule of LDS
      local(FindingClass::kE7, "store_lds", 4000),     // outside of it
      local(FindingClass::kE7, "store_lds", 33),       // one lane
      local(FindingClass::kE7, "load_lds", 40),        //
      local(FindingClass::kE7, "load_lds", 100000),    //
      local(FindingClass::kE7, "load_lds_before", 1),  //
      local(FindingClass::kE7, "add_dynamic_lds", 31, 124),
      local(FindingClass::kE7, "add_dynamic_lds", 0, 0),
      local(FindingClass::kE7, "flat_lds", 40),
      local(FindingClass::kE8, "add_misaligned", 2),
      local(FindingClass::kE8, "swap_misaligned", 4),
      local(FindingClass::kE8, "add_misaligned_lds", 1),
      local(FindingClass::kE9, "store_scratch", 1),
      local(FindingClass::kE9, "store_scratch", 100000),
      local(FindingClass::kE9, "load_scratch", 1),
  });
}

// A workgroup of two waves that gets a buffer and a number.
Fault two_waves(FindingClass expected, const std::string& kernel, int number) {
  return {expected, kernel + " " + std::to_string(number), kernel,
          [number](TraceBuilder& t, const std::string& launched) {
            t.launch(launched, 2, 64, {t.buffer(64 * 4), number});
          },
          "faults.bundle"};
}

TEST(Truth, Faults) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_with_and_without_init({
      two_waves(FindingClass::kF1, "traps", 40),
      two_waves(FindingClass::kF1, "asserts", 3),
      two_waves(FindingClass::kF2, "jumps_to_null", 0),
      two_waves(FindingClass::kF2, "illegal_instruction", 0),
      two_waves(FindingClass::kF2, "jumps_to_data", 0),
      two_waves(FindingClass::kF3, "writes_code", 0),
      two_waves(FindingClass::kF3, "writes_code", 64),
      two_waves(FindingClass::kF3, "writes_queue", 0),
      two_waves(FindingClass::kF3, "writes_packet", 3),
      two_waves(FindingClass::kF3, "writes_arguments", 1),
  });
}

TEST(Truth, Synccheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_with_and_without_init({
      two_waves(FindingClass::kS1, "two_barriers", 1),
      two_waves(FindingClass::kS2, "ends_early", 32),
      two_waves(FindingClass::kS2, "ends_early", 20),
      two_waves(FindingClass::kS2, "one_barrier_less", 1),
      two_waves(FindingClass::kS2, "one_barrier_less", 3),
      two_waves(FindingClass::kS4, "waits", 0),
  });
}

TEST(Truth, Waits) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const char* kernel : {"vector_load",
                             "second_load",
                             "behind_store",
                             "wrong_counter",
                             "overwritten",
                             "scalar_load",
                             "first_scalar",
                             "lds_load",
                             "chained",
                             "stored",
                             "atomic_result",
                             "loop",
                             "not_reached",
                             "scalar_twice",
                             "two_counters",
                             "load_to_lds",
                             "flat_load_of_lds",
                             "flat_load_of_any",
                             "flat_result_of_lds",
                             "flat_result",
                             "half",
                             "half_overtaken",
                             "whole_of_halves"}) {
    Fault fault = two_waves(FindingClass::kS3, kernel, 1);
    fault.object = "waits.bundle";
    faults.push_back(std::move(fault));
  }
  for (const char* kernel : {"lds_store", "lds_atomic", "memory_store", "fenced_store",
                             "fenced_atomic", "acquired_load"}) {
    Fault fault = two_waves(FindingClass::kS7, kernel, 1);
    fault.object = "waits.bundle";
    faults.push_back(std::move(fault));
  }
  check_with_and_without_init(faults);
}

// Not the line of __syncthreads() in HIP's header, and the name that the program gave a buffer.
TEST(Truth, FindingsNameThePrograms) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("faults.bundle");
  const auto buffer = trace.buffer(20 * 4);
  format::Marker name;
  name.kind = format::MarkerKind::kName;
  name.text = "kv cache";
  name.allocation = buffer.id;
  trace.add(name);
  trace.launch("ends_early", 1, 64, {buffer, 21});
  const Report report = trace.try_check().value_or(Report());
  const Finding* const barrier = first_of(report, FindingClass::kS2);
  ASSERT_NE(barrier, nullptr) << render_text(report, "t");
  ASSERT_TRUE(barrier->source);
  EXPECT_THAT(barrier->source->file, testing::EndsWith("faults.hip"));
  EXPECT_THAT(barrier->detail, testing::Not(testing::HasSubstr("amd_detail")));
  const Finding* const past = first_of(report, FindingClass::kE2);
  ASSERT_NE(past, nullptr) << render_text(report, "t");
  ASSERT_TRUE(past->nearest);
  EXPECT_EQ(past->nearest->name, "buffer #1 \"kv cache\"");
}

// Both stand in one line of HIP's header.
TEST(Truth, TwoBarriersAreTwoFindings) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("faults.bundle");
  trace.launch("leaves_early", 1, 64, {trace.buffer(64 * 4), 32});
  const Report report = trace.check();
  ASSERT_EQ(report.findings.size(), 2U) << render_text(report, "t");
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.finding_class, FindingClass::kS2);
    ASSERT_TRUE(finding.source);
    EXPECT_THAT(finding.source->file, testing::EndsWith("faults.hip"));
  }
  EXPECT_EQ(report.findings[0].source->line + 2, report.findings[1].source->line);
}

TEST(Truth, LaneExchanges) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const char* kernel : {"read_past", "write_past", "read_inactive", "mirror_inactive",
                             "swizzle_inactive", "one_lane_past", "put_lane_past"}) {
    Fault fault = two_waves(FindingClass::kS8, kernel, 1);
    fault.object = "waits.bundle";
    faults.push_back(std::move(fault));
  }
  check_with_and_without_init(faults);
}

// Buffers whose last page ends with them, and 14 inactive lanes in the last wave.
TEST(Truth, Lanes) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const Kind& kind : kKinds) {
    for (const char* twin : {"clamped_guard", "plain_guard"}) {
      faults.push_back({FindingClass::kW1, std::string(kind.name) + ", late guard", "late_guard",
                        [kind](TraceBuilder& t, const std::string& kernel) {
                          constexpr int kCount = 1010;
                          t.set_kind(kind.kind);
                          const auto a = t.buffer(kCount * 4, kCount * 4);
                          const auto b = t.buffer(kCount * 4, kCount * 4);
                          const auto c = t.buffer(kCount * 4, kCount * 4);
                          t.launch(kernel, 16, 64, {a, b, c, kCount});
                        },
                        "guards.bundle", twin});
    }
  }
  check_with_and_without_init(faults);
}

// Lanes with pointers of their own may access what they like.
TEST(Truth, PointersInMemoryAreNoOtherBuffers) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("memory.bundle");
  const auto to = trace.buffer(32 * 4);
  auto one = trace.buffer(kPage);
  std::vector<uint32_t> table;
  for (int n = 0; n < 8; ++n) {
    table.push_back(static_cast<uint32_t>(one.address));
    table.push_back(static_cast<uint32_t>(one.address >> 32));
    one = trace.buffer_behind(one, kPage);
  }
  const auto pointers = trace.buffer_of(table);
  trace.launch("gather", 1, 32, {to, pointers, 8});
  const Report report = trace.check();
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

}  // namespace
}  // namespace gfxgraph::check
