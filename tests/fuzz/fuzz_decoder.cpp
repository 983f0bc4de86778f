// Any bytes as gfx1030 code: each dword is decoded as the start of an instruction, with all and
// with only some of the dwords behind it readable. What decodes must have a sound size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "emulator/decode/inst.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gfxgraph::emulator;
  constexpr size_t kMaxDwords = 5;  // an image instruction with three extra address dwords
  for (size_t begin = 0; begin + sizeof(uint32_t) <= size; begin += sizeof(uint32_t)) {
    const size_t left = std::min((size - begin) / sizeof(uint32_t), kMaxDwords);
    for (size_t available = 1; available <= left; ++available) {
      // A block of exactly that size: a sanitizer sees a read behind it.
      std::vector<uint32_t> words(available);
      std::memcpy(words.data(), data + begin, available * sizeof(uint32_t));
      Inst inst;
      if (decode(words.data(), available, 0x1000 + begin, inst) != DecodeStatus::kOk) continue;
      const size_t dwords = inst.advance / sizeof(Inst);
      if (inst.advance % sizeof(Inst) != 0 || dwords == 0 || dwords > available) std::abort();
    }
  }
  return 0;
}
