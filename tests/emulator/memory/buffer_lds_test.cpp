// Loads that go to LDS.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator::testing {
namespace {

constexpr uint32_t kLdsBit = 1 << 16, kOffen = 1 << 12;

std::vector<uint32_t> load(const char* name, uint32_t imm, bool lds = true) {
  return {0xe0000000u | opcode_of("MUBUF", name) << 18 | (lds ? kLdsBit : 0) | kOffen | imm,
          0x80000000u | 1u << 16 | 2u << 8};  // s[4:7], v2, off v0, soffset 0
}

// A raw buffer over the host's memory, `bytes` long.
void make_buffer(RowHost& host, uint32_t bytes) {
  const uint64_t base = host.memory_address();
  host.wave().sgpr[4] = static_cast<uint32_t>(base);
  host.wave().sgpr[5] = static_cast<uint32_t>(base >> 32) & 0xffff;
  host.wave().sgpr[6] = bytes;
  host.wave().sgpr[7] = 3u << 28 | 1u << 24;
}

uint32_t lds_word(RowHost& host, uint32_t at) {
  uint32_t v;
  std::memcpy(&v, host.lds() + at, 4);
  return v;
}

TEST(BufferToLds, LanesStandInARow) {
  struct Kind {
    const char* name;
    uint32_t bytes;
    bool sign;
  };
  for (const Backend* backend : row_backends())
    for (const Kind& kind :
         {Kind{"buffer_load_dword", 4, false}, Kind{"buffer_load_ubyte", 1, false},
          Kind{"buffer_load_sbyte", 1, true}, Kind{"buffer_load_ushort", 2, false},
          Kind{"buffer_load_sshort", 2, true}}) {
      RowHost host;
      Wave& wave = host.wave();
      for (uint32_t b = 0; b < kRowMemoryBytes; ++b)
        host.memory()[b] = static_cast<uint8_t>(b * 37 + 129);
      std::memset(host.lds(), 0xee, kRowLdsBytes);
      make_buffer(host, 300);
      wave.sgpr[operand::kM0] = 0xabcd0000u | 256;
      const uint32_t exec = 0xfffffff5;
      wave.set_exec(exec);
      for (unsigned l = 0; l < kLanes; ++l) {
        wave.vgpr[0].lane[l] = (31 - l) * 12;  // the last lanes read near the start
        wave.vgpr[2].lane[l] = 77 + l;
      }
      ASSERT_EQ(host.run(*backend, load(kind.name, 8)), "") << kind.name;
      for (unsigned l = 0; l < kLanes; ++l) {
        const uint32_t from = (31 - l) * 12 + 8;
        uint32_t expected = 0;
        if ((exec >> l & 1) == 0) {
          expected = 0xeeeeeeee;
        } else if (from + kind.bytes <= 300) {
          std::memcpy(&expected, host.memory() + from, kind.bytes);
          if (kind.sign) {
            const unsigned up = 32 - 8 * kind.bytes;
            expected = static_cast<uint32_t>(static_cast<int32_t>(expected << up) >> up);
          }
        }
        EXPECT_EQ(lds_word(host, 256 + 8 + 4 * l), expected) << kind.name << " lane " << l;
        EXPECT_EQ(wave.vgpr[2].lane[l], 77 + l);
      }
      EXPECT_EQ(lds_word(host, 256 + 4), 0xeeeeeeeeu);
      EXPECT_EQ(lds_word(host, 256 + 8 + 128), 0xeeeeeeeeu);
    }
}

// GLOBAL with SADDR, and SCRATCH: a signed offset, which moves both addresses.
TEST(GlobalToLds, OffsetsAreSigned) {
  constexpr uint32_t kGlobal = 0xdc008000, kLds = 1 << 13;
  for (const Backend* backend : row_backends())
    for (const int imm : {-64, 0, 64}) {
      RowHost host;
      Wave& wave = host.wave();
      for (uint32_t b = 0; b < kRowMemoryBytes; ++b)
        host.memory()[b] = static_cast<uint8_t>(b * 37 + 129);
      std::memset(host.lds(), 0xee, kRowLdsBytes);
      const uint64_t base = host.memory_address() + 128;
      std::memcpy(&wave.sgpr[4], &base, sizeof(base));
      wave.sgpr[operand::kM0] = 0xabcd0000u | 32;
      wave.set_exec(0xfffffff5);
      for (unsigned l = 0; l < kLanes; ++l) wave.vgpr[0].lane[l] = 2 * l;
      const std::vector<uint32_t> words = {kGlobal | kLds |
                                               opcode_of("GLOBAL", "global_load_sshort") << 18 |
                                               (static_cast<uint32_t>(imm) & 0xfff),
                                           4u << 16};
      ASSERT_EQ(host.run(*backend, words), "");
      for (unsigned l = 0; l < kLanes; ++l) {
        const int at = 32 + imm + 4 * static_cast<int>(l);
        if (at < 0) continue;
        int16_t value = 0;
        std::memcpy(&value, host.memory() + 128 + imm + 2 * l, sizeof(value));
        const bool active = (0xfffffff5u >> l & 1) != 0;
        EXPECT_EQ(lds_word(host, static_cast<uint32_t>(at)),
                  active ? static_cast<uint32_t>(int32_t{value}) : 0xeeeeeeeeu)
            << imm << " lane " << l;
      }
    }
}

TEST(BufferToLds, BeyondLdsNothingIsWritten) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    make_buffer(host, 1024);
    std::memset(host.memory(), 0x11, 1024);
    host.wave().sgpr[operand::kM0] = kRowLdsBytes - 16;
    ASSERT_EQ(host.run(*backend, load("buffer_load_dword", 0)), "");
    EXPECT_EQ(lds_word(host, kRowLdsBytes - 4), 0x11111111u);
    EXPECT_EQ(lds_word(host, kRowLdsBytes), 0u);
  }
}

TEST(BufferToLds, OtherLoadsAreRefused) {
  for (const Backend* backend : row_backends())
    for (const char* name : {"buffer_load_dwordx2", "buffer_load_ubyte_d16", "buffer_load_format_x",
                             "buffer_store_dword", "buffer_atomic_add"}) {
      Inst inst;
      const auto words = load(name, 0);
      ASSERT_EQ(decode(words.data(), words.size(), 0, inst), DecodeStatus::kOk);
      EXPECT_EQ(backend->bind(inst), nullptr) << name;
    }
}

}  // namespace
}  // namespace gfxgraph::emulator::testing
