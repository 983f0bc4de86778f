// The holder over a device that writes down what reaches it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accelerate/hold/holder.h"

namespace gfxgraph::accelerate {

struct Seen {
  uint64_t function;
  uint32_t grid;
  uint32_t argument;
  uint64_t stream;
  uint32_t lds = 0;
  bool operator==(const Seen&) const = default;
};
constexpr uint64_t kCopies = 7;  // a function: the work is a copy, with the argument as its size

// A fake: launches are lines in a list, graphs are copies of sequences that run until the device
// has come to their submission. Calls of a kind fail in turn.
class ListDevice final : public Device {
 public:
  int submit(const Launches& launches, size_t i) override {
    if (fails(submit_fails)) return 700;
    add(launches, i);
    ++submitted;
    return 0;
  }
  Result<void*> prepare(const Launches& launches) override {
    now += 1'000'000;
    if (fails(prepare_fails)) return fail(Status::kDevice, "hipGraphInstantiate returned error 2");
    graphs.push_back(std::make_unique<Made>(launches.part(0, launches.size())));
    return static_cast<void*>(graphs.back().get());
  }
  int update(void* prepared, const Launches& launches, size_t i) override {
    Made& made = of(prepared);
    EXPECT_LE(made.last, come_to) << "it runs";
    EXPECT_TRUE(launches[i].changes);
    if (fails(update_fails)) return 3;
    now += update_ns;
    made.launches.set(i, launches);
    ++updated;
    return 0;
  }
  int launch(void* prepared, void* stream) override {
    Made& made = of(prepared);
    EXPECT_EQ(stream, made.launches[0].stream);
    if (fails(launch_fails)) return 2;
    now += graph_ns;
    for (size_t i = 0; i < made.launches.size(); ++i) add(made.launches, i);
    ++launched;
    made.last = ++submissions;
    return 0;
  }
  bool mark(void* prepared, void*) override {
    if (fails(mark_fails)) return false;
    of(prepared).event = submissions;
    return true;
  }
  bool done(void* prepared) override { return of(prepared).event <= come_to; }
  void destroy(void* prepared) override {
    Made& made = of(prepared);
    EXPECT_LE(made.last, come_to) << "it runs";
    made.alive = false;
    ++destroyed;
  }
  const char* refuses_updates() override { return updates ? nullptr : "no updates"; }
  const char* refuses(const Launch&) override { return copies ? nullptr : "host memory"; }
  int last_error() override { return error; }
  uint64_t now_ns() override { return now; }
  const Layout* layout(const Launch&) override { return known ? &layout_ : nullptr; }
  std::string other_ways() override { return other; }
  void watch(uint64_t) override { ++watched; }

  struct Made {
    explicit Made(Launches of) : launches(std::move(of)) {}
    Launches launches;
    uint64_t last = 0, event = 0;
    bool alive = true;
  };
  std::vector<Seen> list;
  std::vector<std::unique_ptr<Made>> graphs;
  uint64_t now = 1;
  uint64_t graph_ns = 1'000, update_ns = 200;
  uint64_t submissions = 0, come_to = 0;  // graphs that were launched, and that are done
  int error = 0, submitted = 0, launched = 0, updated = 0, destroyed = 0, watched = 0;
  // Which call fails, from 1; 0: none.
  int submit_fails = 0, prepare_fails = 0, update_fails = 0, launch_fails = 0, mark_fails = 0;
  bool known = true, updates = true, copies = true;
  std::string other;

 private:
  static bool fails(int& which) { return which != 0 && --which == 0; }
  static Made& of(void* prepared) {
    Made& made = *static_cast<Made*>(prepared);
    EXPECT_TRUE(made.alive);
    return made;
  }
  void add(const Launches& launches, size_t i) {
    Seen seen{reinterpret_cast<uint64_t>(launches[i].function), launches[i].shape.grid[0], 0,
              reinterpret_cast<uint64_t>(launches[i].stream),
              static_cast<uint32_t>(launches[i].shape.shared_bytes)};
    if (launches[i].form == Form::kCopy) {
      seen.argument = static_cast<uint32_t>(launches.packed<Copy>(i).size_bytes);
    } else {
      std::memcpy(&seen.argument, launches.arguments(i).data() + 8, sizeof(seen.argument));
    }
    list.push_back(seen);
  }
  const Layout layout_{"kernel", {{0, 1}, {8, 4}}, 12, 100};
};

constexpr int kNewHip = 70200000;
constexpr int kHip5 = 50200000;
constexpr uint64_t kCallNs = 2'000;

inline std::string& told() {
  static std::string text;
  return text;
}

class HolderTest : public testing::Test {
 protected:
  void make(WayAsked way, int version = kNewHip, size_t shortest = kShortest) {
    told().clear();
    holder = std::make_unique<Holder>(
        device, Options{.way = way,
                        .shortest = shortest,
                        .debug = true,
                        .runtime_version = version,
                        .tell = [](const std::string& line) { told() += line + "\n"; }});
  }
  // As a program makes the call: its arguments are gone afterwards.
  void launch(Seen seen, uint64_t thread = 1, int error = 0) {
    uint8_t byte = 3;
    uint32_t argument = seen.argument;
    void* params[] = {&byte, &argument};
    const Copy copy{.size_bytes = seen.argument};
    Launch one{.form = Form::kStub,
               .function = reinterpret_cast<const void*>(seen.function),
               .shape = {{seen.grid, 1, 1}, {64, 1, 1}, seen.lds},
               .stream = reinterpret_cast<void*>(seen.stream),
               .params = params,
               .packed = {}};
    if (seen.function == kCopies) {
      one.form = Form::kCopy;
      one.params = nullptr;
      one.packed = std::as_bytes(std::span(&copy, 1));
    }
    if (error == 0) made.push_back(seen);
    const Offer offer = holder->offer(one, thread);
    ASSERT_FALSE(error != 0 && offer.held);
    if (!offer.held) {
      device.now += kCallNs;
      if (error == 0) device.list.push_back(seen);
    }
    if (offer.noted) holder->returned(one, thread, error);
    byte = 0;
    argument = 0;
  }
  void step(uint32_t from, uint32_t to, uint64_t stream = 9) {
    for (uint32_t i = from; i < to; ++i) launch({100 + i % 3, 1 + i, i * i, stream});
  }
  // A wait of the program.
  void wait() {
    holder->before();
    EXPECT_EQ(device.list, made);
    const uint64_t submissions = holder->submissions();
    device.now += 10'000;
    device.come_to = device.submissions;
    if (holder->wants_waits()) holder->waited(Holder::WaitFor::kDevice, nullptr, submissions);
  }
  Report::Line line(size_t i) { return holder->report().sequences.at(i); }

  ListDevice device;
  uint64_t below_ = 0;
  std::unique_ptr<Holder> holder;
  std::vector<Seen> made;  // what the program launched
};

}  // namespace gfxgraph::accelerate
