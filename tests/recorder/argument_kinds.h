// A kernel with arguments of each kind, for the tests of arguments and of words in them.
#pragma once

#include <cstdint>

#include "format/trace.h"

namespace gfxgraph::recorder {

inline constexpr uint64_t kBase = 0x7f0000001000;

// pointer at 0, int at 8, struct of 24 bytes at 16, 8-byte scalar at 40, two ints at 48 and 52, LDS
// pointer at 56, hidden at 64.
inline format::Kernel kernel_of_all_kinds() {
  format::Kernel made;
  made.name = "k";
  made.explicit_size_bytes = 60;
  made.kernarg_size_bytes = 72;
  made.arguments = {
      {"p", "global_buffer", format::ArgumentKind::kGlobalBuffer, 0, 8},
      {"n", "by_value", format::ArgumentKind::kByValue, 8, 4},
      {"s", "by_value", format::ArgumentKind::kByValue, 16, 24},
      {"x", "by_value", format::ArgumentKind::kByValue, 40, 8},
      {"low", "by_value", format::ArgumentKind::kByValue, 48, 4},
      {"high", "by_value", format::ArgumentKind::kByValue, 52, 4},
      {"lds", "dynamic_shared_pointer", format::ArgumentKind::kDynamicSharedPointer, 56, 4},
      {"", "hidden_global_offset_x", format::ArgumentKind::kHidden, 64, 8},
  };
  return made;
}

}  // namespace gfxgraph::recorder
