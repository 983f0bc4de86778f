#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "accelerate/hold/report.h"
#include "tests/accelerate/holder_fixture.h"

namespace gfxgraph::accelerate {
namespace {

TEST_F(HolderTest, WhatRepeatsIsSubmittedAsAGraph) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 10; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 8);
  EXPECT_EQ(device.submitted, 0);
  const Report report = holder->report();
  EXPECT_EQ(report.launches, 200u);
  EXPECT_EQ(report.held, 160u);
  EXPECT_EQ(report.submits, 8u);
  EXPECT_EQ(report.one_by_one, 0u);
}

TEST_F(HolderTest, AMismatchAtEachPlaceSubmitsAsItCame) {
  for (uint32_t at = 0; at < 20; ++at) {
    make(WayAsked::kGraph);
    for (int r = 0; r < 3; ++r) {
      step(0, 20);
      wait();
    }
    step(0, at);
    launch({100, 999, 5, 9});
    EXPECT_EQ(device.list, made) << at;
    step(at, 20);
    wait();
  }
}

TEST_F(HolderTest, ArgumentsGridAndStreamAreCompared) {
  make(WayAsked::kGraph, kNewHip, 20);
  for (int r = 0; r < 3; ++r) {
    step(0, 20);
    wait();
  }
  const int before = device.launched;
  for (const Seen other :
       {Seen{102, 6, 26, 9}, Seen{102, 7, 25, 9}, Seen{101, 6, 25, 9}, Seen{102, 6, 25, 8}}) {
    step(0, 5);
    launch(other);
    step(6, 20);
    wait();
  }
  EXPECT_EQ(device.launched, before);
}

// Any order of launches, waits, threads, streams, the bound, frees and failures: what reaches the
// device is what the program launched, in its order.
TEST_F(HolderTest, TheOrderIsThePrograms) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
    device.list.clear();
    made.clear();
    device.submit_fails = 0;
    device.prepare_fails = static_cast<int>(below(6));
    device.launch_fails = static_cast<int>(below(12));
    device.update_fails = static_cast<int>(below(30));
    device.mark_fails = static_cast<int>(below(9));
    device.copies = below(4) != 0;
    device.graph_ns = below(100'000);
    make(below(3) == 0 ? WayAsked::kMeasured : WayAsked::kGraph, below(4) == 0 ? kHip5 : kNewHip,
         2 + below(8));
    const uint32_t changing = below(5);  // in how many of ten launches the argument is another one
    std::vector<std::vector<Seen>> patterns(1 + below(4));
    for (auto& pattern : patterns) {
      pattern.resize(1 + below(30));
      for (Seen& seen : pattern) {
        seen = {100 + below(3), 1 + below(2), below(3), 8 + below(10) / 9};
        if (below(8) == 0) seen = {kCopies, 0, below(3), seen.stream};
        if (below(10) < changing) seen.lds = 1;
      }
    }
    if (patterns.size() > 1) {
      const size_t common = std::min(patterns[0].size(), patterns[1].size());
      std::copy_n(patterns[0].begin(), common / 2, patterns[1].begin());
    }
    int captures = 0;
    for (int r = 0; r < 150; ++r) {
      const auto& pattern = patterns[below(static_cast<uint32_t>(patterns.size()))];
      const uint64_t thread = below(40) == 0 ? 2 : 1;
      for (size_t i = 0; i < pattern.size(); ++i) {
        Seen one = pattern[i];
        if (one.lds != 0 && one.function != kCopies) {
          one.argument = 1000 + static_cast<uint32_t>(r);
          one.lds = below(3) * 16;
        }
        one.lds = one.function == kCopies ? 0 : one.lds;
        launch(one, thread);
        device.now += below(2'000);
        if (below(20) == 0 && device.come_to < device.submissions) ++device.come_to;
        if (below(60) != 0) continue;
        switch (below(11)) {
          case 0: holder->before(); break;
          case 1: holder->overdue(holder->held_since_ns()); break;
          case 2: holder->overdue(1); break;
          case 3: holder->failed(thread); break;
          case 4: holder->forget("hipFree"); break;
          case 9: {
            const uint64_t submissions = holder->submissions();
            device.come_to = device.submissions;
            holder->waited(Holder::WaitFor::kStream, reinterpret_cast<void*>(uint64_t{9}),
                           submissions);
            break;
          }
          case 5: holder->unheld("events", thread); break;
          case 6:
            holder->capturing(captures == 0);
            captures = 1 - captures;
            break;
          case 7: launch({100, 7, 7, 9}, thread, 1); break;
          case 8: i = below(static_cast<uint32_t>(pattern.size())); break;
          default: device.error = static_cast<int>(below(2));
        }
      }
      if (below(3) != 0) wait();
    }
    wait();
    const Report report = holder->report();
    uint64_t held = 0;
    for (const Report::Line& one : report.sequences) held += one.held;
    EXPECT_LE(held, report.held);
    EXPECT_EQ(holder->peek_error(), 0);
  }
  EXPECT_GT(device.launched, 1000);
  EXPECT_GT(device.updated, 1000);
  EXPECT_GT(device.destroyed, 100);
}

TEST_F(HolderTest, TheBoundSubmitsWhatIsHeldSinceThen) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 2; ++r) {
    step(0, 20);
    wait();
  }
  step(0, 7);
  const uint64_t since = holder->held_since_ns();
  EXPECT_NE(since, 0u);
  EXPECT_NE(device.list, made);
  holder->overdue(since + 1);  // another sequence's
  EXPECT_NE(device.list, made);
  holder->overdue(since);
  EXPECT_EQ(device.list, made);
  EXPECT_EQ(holder->held_since_ns(), 0u);
  step(7, 20);
  wait();
  EXPECT_EQ(line(0).overdue, 1u);
}

TEST_F(HolderTest, AnotherThreadSubmitsFirst) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 2; ++r) {
    step(0, 20);
    wait();
  }
  step(0, 7);
  launch({107, 8, 49, 9}, 2);
  EXPECT_EQ(device.list, made);
}

TEST_F(HolderTest, Hip5HoldsForOneThreadOnly) {
  make(WayAsked::kGraph, kHip5);
  for (int r = 0; r < 2; ++r) {
    step(0, 20);
    wait();
  }
  step(0, 7);
  holder->uses_kernels(2);
  EXPECT_EQ(device.list, made);
  EXPECT_TRUE(holder->off());
  EXPECT_EQ(holder->report().stopped,
            "several threads launch kernels, which HIP 5 mixes up with graphs");
}

TEST_F(HolderTest, AFasterGraphIsChosen) {
  make(WayAsked::kMeasured);
  for (int r = 0; r < 40; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(line(0).phase, Phase::kGraph) << line(0).reason;
  EXPECT_NEAR(line(0).calls_us, 40.0, 0.1);
  EXPECT_NEAR(line(0).graph_us, 1.0, 0.1);
  EXPECT_EQ(device.launched, 40 - 2 - 8);
  EXPECT_NE(told().find("sequence 1 of 20 launches: graph: 1.0 us as a graph, 40.0 us as calls"),
            std::string::npos)
      << told();
}

TEST_F(HolderTest, ASlowerGraphIsGivenUp) {
  make(WayAsked::kMeasured);
  device.graph_ns = 39'000;
  for (int r = 0; r < 60; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(line(0).phase, Phase::kCalls);
  EXPECT_EQ(line(0).reason.substr(0, 28), "saves no time of the host: 3");
  EXPECT_EQ(device.launched, 9);
}

TEST_F(HolderTest, AGraphThatIsDoneLaterIsGivenUp) {
  make(WayAsked::kMeasured);
  for (int r = 0; r < 60; ++r) {
    const int before = device.launched;
    step(0, 20);
    holder->before();
    device.now += device.launched != before ? 200'000 : 10'000;
    if (holder->wants_waits())
      holder->waited(Holder::WaitFor::kDevice, nullptr, holder->submissions());
  }
  EXPECT_EQ(line(0).phase, Phase::kCalls);
  EXPECT_EQ(line(0).reason.substr(0, 14), "is done later:");
}

TEST_F(HolderTest, ASequenceThatMostlyEndsEarlyIsGivenUp) {
  make(WayAsked::kMeasured);
  for (int r = 0; r < 20; ++r) {
    step(0, 20);
    wait();
  }
  for (int r = 0; r < 60; ++r) {
    step(0, 12);
    launch({100, 500, static_cast<uint32_t>(r), 9});
    wait();
  }
  EXPECT_EQ(line(0).phase, Phase::kCalls);
  EXPECT_EQ(line(0).reason.substr(0, 11), "ended early");
}

TEST_F(HolderTest, AProgramWithoutRepetitionIsLeftAlone) {
  make(WayAsked::kMeasured);
  for (uint32_t i = 0; i < 21'000; ++i) {
    launch({100, 1, i, 9});
    if (i % 10 == 9) wait();
  }
  EXPECT_FALSE(holder->on());
  EXPECT_FALSE(holder->off());
  EXPECT_EQ(gfxgraph_accelerate_attention.load(), 0u);
  const uint64_t looked = holder->report().launches;
  holder->look_again();
  EXPECT_TRUE(holder->on());
  for (int r = 0; r < 40; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_GT(device.launched, 10);
  EXPECT_GT(holder->report().launches, looked);
}

TEST_F(HolderTest, APeriodIsFoundInARunWithoutEnd) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 200; ++r) step(0, 20);
  wait();
  EXPECT_GT(device.launched, 20);
  EXPECT_EQ(line(0).launches % 20, 0u);
}

TEST_F(HolderTest, SetsOfArgumentsThatAlternateAreSequencesOfTheirOwn) {
  make(WayAsked::kMeasured);
  for (uint32_t r = 0; r < 120; ++r) {
    step(0, 12);
    for (uint32_t i = 0; i < 8; ++i) launch({104, 1, 1000 + r % 3, 9});
    wait();
  }
  // What they have in common is one sequence, each set another.
  std::multiset<size_t> graphs;
  for (const Report::Line& one : holder->report().sequences) {
    if (one.phase == Phase::kGraph) graphs.insert(one.launches);
  }
  EXPECT_EQ(graphs, (std::multiset<size_t>{8, 8, 8, 12}));
  EXPECT_GT(device.launched, 60);
}

TEST_F(HolderTest, AFailedGraphGoesOutAsCalls) {
  make(WayAsked::kGraph);
  device.launch_fails = 3;
  for (int r = 0; r < 10; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 2);
  EXPECT_EQ(line(0).reason, "hipGraphLaunch returned error 2");
  EXPECT_EQ(holder->peek_error(), 0);
}

TEST_F(HolderTest, AGraphThatCannotBeMade) {
  make(WayAsked::kGraph);
  device.prepare_fails = 1;
  for (int r = 0; r < 10; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 0);
  EXPECT_EQ(line(0).reason, "hipGraphInstantiate returned error 2");
}

TEST_F(HolderTest, AFailedLaunchIsReturnedLaterAndOnce) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 3; ++r) {
    step(0, 20);
    wait();
  }
  step(0, 10);
  device.submit_fails = 4;
  holder->before();
  EXPECT_EQ(device.list.size(), made.size() - 1);  // the others were made all the same
  EXPECT_TRUE(holder->off());
  EXPECT_TRUE(holder->wants_waits());
  EXPECT_EQ(holder->peek_error(), 700);
  EXPECT_EQ(holder->take_error(), 700);
  EXPECT_EQ(holder->take_error(), 0);
  EXPECT_NE(told().find("failed with error 700"), std::string::npos);
}

TEST_F(HolderTest, NothingIsHeldBehindAnEarlierError) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 3; ++r) {
    step(0, 20);
    wait();
  }
  device.error = 1;
  step(0, 20);
  EXPECT_EQ(device.list, made);
  EXPECT_EQ(device.launched, 1);
}

TEST_F(HolderTest, UnknownArgumentsAreNotHeldAndNamed) {
  make(WayAsked::kGraph);
  device.known = false;
  for (int r = 0; r < 5; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 0);
  EXPECT_EQ(holder->report().not_held.at("the arguments of its kernel are not known"), 100u);
}

TEST_F(HolderTest, ProcessesThatReachTheDeviceOtherwiseAreLeftAlone) {
  make(WayAsked::kGraph);
  device.other = "tool is linked to HSA";
  for (int r = 0; r < 5; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 0);
  EXPECT_TRUE(holder->off());
  EXPECT_EQ(holder->report().stopped, "tool is linked to HSA");
}

TEST_F(HolderTest, AForkedChildHoldsNothing) {
  make(WayAsked::kGraph);
  for (int r = 0; r < 3; ++r) {
    step(0, 20);
    wait();
  }
  step(0, 5);
  holder->before_fork();
  EXPECT_EQ(device.list, made);
  holder->after_fork(true);
  EXPECT_TRUE(holder->off());
}

TEST_F(HolderTest, TheReportIsJson) {
  make(WayAsked::kMeasured);
  for (int r = 0; r < 40; ++r) {
    step(0, 20);
    wait();
  }
  holder->unheld("a \"stream\"\n\xff", 1);
  const auto json = nlohmann::json::parse(report_json(holder->report(), "/bin/\xc3\xa4 \"p\"", 42));
  EXPECT_EQ(json.at("format"), "gfxgraph-accelerate");
  EXPECT_EQ(json.at("launches"), 801);
  EXPECT_EQ(json.at("submits"), 30);
  EXPECT_EQ(json.at("sequences").at(0).at("way"), "graph");
  EXPECT_EQ(json.at("not_held").size(), 1u);
}

}  // namespace
}  // namespace gfxgraph::accelerate
