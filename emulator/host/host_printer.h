// Stands in for HIP's listener where a kernel prints: puts the messages of printf (also assert's)
// together and prints them. Nothing in a message is trusted: HIP reads on behind its end if the
// format asks for more arguments, and prints as many blanks as a width says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::emulator {

// The text of a printf: its format and arguments in `words`, as device code sends them. A string
// takes whole words and ends with 0; everything else takes one word. Text ends before the first
// conversion that has no argument, as in HIP. An error if a string has no end in `words`, a
// conversion is unknown, or the text is too long.
Result<std::string> format_printf(std::span<const uint64_t> words);

// The messages of all kernels. Not thread-safe.
class HostPrinter {
 public:
  // Limits of one message and its text, and of all messages that have no end yet.
  static constexpr uint64_t kMostMessageBytes = 1u << 20;
  static constexpr uint64_t kMostTextBytes = 1u << 20;
  static constexpr uint64_t kMostOpenBytes = 64u << 20;
  static constexpr uint64_t kMostOpenMessages = 1u << 18;  // more than lanes in the device

  // Takes what a lane sent: a descriptor and up to 7 words. Returns the first word of the reply. At
  // the end of a message it is written to stdout or stderr.
  Result<uint64_t> take(const std::array<uint64_t, 8>& payload);

 private:
  std::map<uint64_t, std::vector<uint64_t>> messages_;  // unfinished ones, by number
  uint64_t last_number_ = 0;
  uint64_t open_bytes_ = 0;
};

}  // namespace gfxgraph::emulator
