// Ground truth: kernels with a planted fault and their right twins, on each kind of memory. A tool
// must find every fault, in its class, and report nothing else.
#include <gmock/gmock.h>

#include <cstdio>
#include <functional>
#include <map>

#include "tests/lanecheck/trace_builder.h"

namespace gfxgraph::lanecheck {
namespace {

// `kernel` is the faulty one or its twin.
using Build = std::function<void(TraceBuilder& trace, const std::string& kernel)>;

struct Fault {
  FindingClass expected;
  std::string name;
  std::string kernel;  // the twin: with "_safe" behind it
  Build build;
  std::string object = "memory.bundle";
  std::string twin = "";  // "": as above
};

struct Counts {
  unsigned planted = 0;
  unsigned found = 0;
  unsigned false_reports = 0;
  unsigned twins = 0;
};

bool counts(const Finding& finding) { return finding.severity != Severity::kNote; }

Report check_one(const Fault& fault, const std::string& kernel) {
  TraceBuilder trace(fault.object);
  fault.build(trace, kernel);
  CheckOptions options;
  options.threads = 1;
  const Result<Report> report = trace.try_check(options);
  EXPECT_TRUE(report) << fault.name << ": " << report.error().message;
  return report ? *report : Report{};
}

void add(const Fault& fault, std::map<Tool, Counts>& by_tool) {
  Counts& total = by_tool[class_text(fault.expected).tool];
  ++total.planted;
  ++total.twins;
  bool found = false;
  const Report faulty = check_one(fault, fault.kernel);
  for (const Finding& finding : faulty.findings) {
    if (!counts(finding)) continue;
    if (finding.finding_class == fault.expected && finding.kernel == fault.kernel)
      found = true;
    else
      ++by_tool[class_text(finding.finding_class).tool].false_reports;
  }
  total.found += found;
  EXPECT_TRUE(found) << fault.name << ": not found:\n" << render_text(faulty, "t");
  const Report twin = check_one(fault, fault.twin.empty() ? fault.kernel + "_safe" : fault.twin);
  for (const Finding& finding : twin.findings) {
    if (!counts(finding)) continue;
    ++by_tool[class_text(finding.finding_class).tool].false_reports;
    ADD_FAILURE() << fault.name << ": the twin is accused:\n" << render_text(twin, "t");
  }
  EXPECT_EQ(twin.failed_launches, 0U) << fault.name << ": " << render_text(twin, "t");
}

void check_all(const std::vector<Fault>& faults) {
  std::map<Tool, Counts> by_tool;
  for (const Fault& fault : faults) add(fault, by_tool);
  for (const auto& [tool, total] : by_tool) {
    const double recall = total.planted == 0 ? 1 : double(total.found) / total.planted;
    const unsigned reports = total.found + total.false_reports;
    const double precision = reports == 0 ? 1 : double(total.found) / reports;
    std::printf("%s: %u planted, %u found (recall %.3f), %u false (precision %.3f), %u twins\n",
                tool_name(tool), total.planted, total.found, recall, total.false_reports, precision,
                total.twins);
    EXPECT_EQ(recall, 1.0) << tool_name(tool);
    EXPECT_EQ(precision, 1.0) << tool_name(tool);
  }
}

// ---- memcheck ----

constexpr int kItems = 50;
constexpr uint64_t kBytes = kItems * 4;
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
      t.launch(kernel, 2, 32, {t.buffer(kBytes, mapped), kItems});
    };
  };
  const auto load = [](uint64_t mapped) {
    return [mapped](TraceBuilder& t, const std::string& kernel) {
      const auto to = t.buffer(64 * 4);
      t.launch(kernel, 2, 32, {to, t.buffer(kBytes, mapped), kItems});
    };
  };
  add(FindingClass::kE2, "store past the end, in the page", "store_items", store(0));
  add(FindingClass::kE2, "store past the end, in the next page", "store_items", store(2 * kPage));
  add(FindingClass::kE1, "store past the page", "store_items", store(kBytes));
  add(FindingClass::kE2, "load past the end, in the page", "load_items", load(0));
  add(FindingClass::kE1, "load past the page", "load_items", load(kBytes));
  add(FindingClass::kE2, "wide load over the end", "load_wide",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(126 * 4), 126});
      });
  add(FindingClass::kE2, "atomic past the end", "add_items", store(0));
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
          t.launch(launched, 1, 32, {to, t.buffer(kBytes), 20, kItems});
        });
  }
  add(FindingClass::kE6, "row of lanes into a neighbour", "load_items",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(64 * 4);
        const auto from = t.buffer(kBytes);
        t.buffer_behind(from, kPage);
        t.launch(kernel, 2, 32, {to, from, kItems});
      });
  add(FindingClass::kE2, "scalar load past the end", "load_uniform",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(kBytes), kItems, kItems});
      });
  add(FindingClass::kE3, "scalar load far past the end", "load_uniform",
      [](TraceBuilder& t, const std::string& kernel) {
        const auto to = t.buffer(32 * 4);
        t.launch(kernel, 1, 32, {to, t.buffer(kBytes), 5000, kItems});
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
  check_all(faults);
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
  check_all({
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
  check_all({
      two_waves(FindingClass::kF1, "traps", 40),
      two_waves(FindingClass::kF1, "asserts", 3),
      two_waves(FindingClass::kF2, "jumps_to_null", 0),
      two_waves(FindingClass::kF2, "illegal_instruction", 0),
  });
}

TEST(Truth, Synccheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({
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
  for (const char* kernel :
       {"vector_load", "second_load", "behind_store", "wrong_counter", "overwritten", "scalar_load",
        "first_scalar", "lds_load", "chained", "stored", "atomic_result", "loop", "not_reached"}) {
    Fault fault = two_waves(FindingClass::kS3, kernel, 1);
    fault.object = "waits.bundle";
    faults.push_back(std::move(fault));
  }
  check_all(faults);
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
  check_all(faults);
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
}  // namespace gfxgraph::lanecheck
