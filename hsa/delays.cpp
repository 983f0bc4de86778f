#include "hsa/delays.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "base/log.h"

namespace gfxgraph::hsa {
namespace {

constexpr unsigned kMostMicroseconds = 1'000'000;

unsigned longest() {
  static const unsigned microseconds = [] {
    const char* const text = std::getenv("GFXGRAPH_DELAYS");
    if (text == nullptr) return 0u;
    unsigned given = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, given);
    if (error == std::errc() && stop == end && given <= kMostMicroseconds) return given;
    log(LogLevel::kWarning, "GFXGRAPH_DELAYS={}: expected microseconds in 0..{}; using 0", text,
        kMostMicroseconds);
    return 0u;
  }();
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
