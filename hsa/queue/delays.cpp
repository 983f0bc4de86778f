#include "hsa/queue/delays.h"

#include <chrono>
#include <random>
#include <thread>

#include "base/environment.h"

namespace gfxgraph::hsa {
namespace {

constexpr unsigned kMostMicroseconds = 1'000'000;

unsigned longest() {
  static const auto microseconds =
      static_cast<unsigned>(environment_number("GFXGRAPH_DELAYS", 0, kMostMicroseconds, 0));
  return microseconds;
}

}  // namespace

bool delays() { return longest() != 0; }

void delay() noexcept {
  if (!delays()) return;
  thread_local std::minstd_rand random{std::random_device()()};
  const unsigned number = static_cast<unsigned>(random());
  if (number % 2 == 0) return;
  // Short ones are more frequent: each pause is half as long as the longest one, a quarter, ...
  std::this_thread::sleep_for(std::chrono::microseconds(longest() >> (number / 2 % 8)));
}

}  // namespace gfxgraph::hsa
