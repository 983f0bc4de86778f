// Scalar loads, lane exchange through the LDS unit, counters, per-lane addresses without a
// register, clocks, cache hints: the memory rows that are no plain load, store or atomic.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator {
namespace {

using testing::opcode_of;
using testing::row_backends;
using testing::RowHost;
using Random = std::mt19937_64;

class OtherMemory : public ::testing::Test {
 protected:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  void fill(RowHost& host) {
    for (uint64_t b = 0; b < testing::kRowMemoryBytes; ++b)
      host.memory()[b] = static_cast<uint8_t>(random_());
    for (uint32_t b = 0; b < testing::kRowLdsBytes; ++b)
      host.lds()[b] = static_cast<uint8_t>(random_());
    for (unsigned n = 0; n < 8; ++n)
      for (uint32_t& lane : host.wave().vgpr[n].lane) lane = static_cast<uint32_t>(random_());
  }
  static uint32_t dword(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
  }
  static std::vector<uint32_t> ds(const char* name, uint32_t imm, uint32_t address, uint32_t data,
                                  uint32_t dst) {
    return {0xd8000000u | opcode_of("DS", name) << 18 | imm, address | data << 8 | dst << 24};
  }
  static std::vector<uint32_t> smem(const std::string& name, uint32_t dst, uint32_t base,
                                    uint32_t soffset, int32_t imm) {
    return {0xf4000000u | opcode_of("SMEM", name) << 18 | dst << 6 | base >> 1,
            soffset << 25 | (static_cast<uint32_t>(imm) & 0x1fffff)};
  }
  Random random_{3};
};

TEST_F(OtherMemory, ScalarLoads) {
  for (const unsigned dwords : {1u, 2u, 4u, 8u, 16u})
    for (const bool buffer : {false, true})
      for (unsigned round = 0; round < 60; ++round)
        for (const Backend* backend : row_backends()) {
          RowHost host;
          fill(host);
          Wave& w = host.wave();
          w.set_exec(0);  // ignored
          const bool scalar = pick(2) != 0;
          const unsigned unit = std::min(dwords, 4u);
          const unsigned dst = pick(3) == 0 ? 8 : pick(80 / unit) * unit;
          const uint32_t soffset = pick(900);
          const int32_t imm =
              buffer ? static_cast<int32_t>(pick(1200)) : static_cast<int32_t>(pick(3000)) - 1500;
          w.sgpr[100] = soffset;
          const uint64_t base = host.memory_address() + 4096 + (buffer ? 0 : pick(4));
          const uint32_t stride = buffer ? pick(3) * 4 : 0;
          const uint32_t records = pick(2000) / std::max(stride, 1u);
          w.sgpr[8] = static_cast<uint32_t>(base);
          w.sgpr[9] = static_cast<uint32_t>(base >> 32) | stride << 16;
          w.sgpr[10] = records;
          w.sgpr[11] = 0x31004000;
          uint32_t before[128];
          std::memcpy(before, w.sgpr, sizeof(before));
          const std::string name = std::string(buffer ? "s_buffer_load_dword" : "s_load_dword") +
                                   (dwords == 1 ? "" : "x" + std::to_string(dwords));
          ASSERT_EQ(host.run(*backend, smem(name, dst, 8, scalar ? 100 : 125, imm)), "") << name;
          const int64_t offset = imm + (scalar ? int64_t{soffset} : 0);
          for (unsigned d = 0; d < dwords; ++d) {
            uint32_t want = 0;
            if (buffer) {
              const int64_t at = offset / 4 * 4 + 4 * d;
              const int64_t size = int64_t{records} * (stride == 0 ? 1 : stride);
              if (at + 4 <= size) want = dword(host.memory() + 4096 + at);
            } else {
              const uint64_t at = (base + static_cast<uint64_t>(offset)) / 4 * 4 + 4 * d;
              want = dword(host.memory() + (at - host.memory_address()));
            }
            before[dst + d] = want;
          }
          for (unsigned n = 0; n < 126; ++n) ASSERT_EQ(w.sgpr[n], before[n]) << name << " s" << n;
        }
}

TEST_F(OtherMemory, LaneExchange) {
  for (unsigned round = 0; round < 200; ++round)
    for (const Backend* backend : row_backends()) {
      RowHost host;
      fill(host);
      Wave& w = host.wave();
      w.set_exec(round % 3 == 0 ? ~0u : static_cast<uint32_t>(random_()));
      const uint32_t exec = w.exec();
      const auto on = [&](unsigned l) { return (exec >> l & 1) != 0; };
      const Row address = w.vgpr[1], data = w.vgpr[2];
      const unsigned dst = 1 + pick(3);  // may be the address or the data
      const Row old = w.vgpr[dst];
      const uint32_t imm = pick(64) * 4;
      Row want = old;
      const char* name = nullptr;
      if (round % 3 != 2) {
        const bool push = round % 3 == 1;
        name = push ? "ds_permute_b32" : "ds_bpermute_b32";
        Row moved{};
        for (unsigned l = 0; l < 32; ++l) {
          const unsigned other = (address.lane[l] + imm) / 4 % 32;
          if (push && on(l)) moved.lane[other] = data.lane[l];
          if (!push) moved.lane[l] = on(other) ? data.lane[other] : 0;
        }
        for (unsigned l = 0; l < 32; ++l)
          if (on(l)) want.lane[l] = moved.lane[l];
        ASSERT_EQ(host.run(*backend, ds(name, imm, 1, 2, dst)), "");
      } else {
        name = "ds_swizzle_b32";
        const bool quad = pick(2) != 0;
        const uint32_t mode = quad ? 0x8000 | pick(256) : pick(0x8000);
        for (unsigned l = 0; l < 32; ++l) {
          const unsigned from = quad ? l / 4 * 4 + (mode >> (2 * (l % 4)) & 3)
                                     : ((l & (mode & 31)) | (mode >> 5 & 31)) ^ (mode >> 10 & 31);
          if (on(l)) want.lane[l] = on(from) ? address.lane[from] : 0;
        }
        ASSERT_EQ(host.run(*backend, ds(name, mode, 1, 0, dst)), "");
      }
      for (unsigned l = 0; l < 32; ++l)
        ASSERT_EQ(w.vgpr[dst].lane[l], want.lane[l]) << name << " lane " << l;
    }
}

TEST_F(OtherMemory, CountersAndAddressesByLane) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    fill(host);
    Wave& w = host.wave();
    w.set_exec(0xf0f0);
    w.sgpr[124] = 256u << 16 | 64;
    const auto counter = [&] { return dword(host.lds() + 256 + 12); };
    const uint32_t start = counter();
    const uint32_t kept = w.vgpr[3].lane[0];
    ASSERT_EQ(host.run(*backend, ds("ds_append", 12, 0, 0, 3)), "");
    EXPECT_EQ(counter(), start + 8);
    EXPECT_EQ(w.vgpr[3].lane[5], start);
    EXPECT_EQ(w.vgpr[3].lane[0], kept);
    ASSERT_EQ(host.run(*backend, ds("ds_consume", 12, 0, 0, 3)), "");
    EXPECT_EQ(counter(), start);
    EXPECT_EQ(w.vgpr[3].lane[15], start + 8);
    ASSERT_EQ(host.run(*backend, ds("ds_read_addtid_b32", 20, 0, 0, 3)), "");
    EXPECT_EQ(w.vgpr[3].lane[7], dword(host.lds() + 64 + 20 + 28));
    const uint32_t before = dword(host.lds() + 64 + 24);
    ASSERT_EQ(host.run(*backend, ds("ds_write_addtid_b32", 24, 0, 4, 0)), "");
    EXPECT_EQ(dword(host.lds() + 64 + 24 + 28), w.vgpr[4].lane[7]);
    EXPECT_EQ(dword(host.lds() + 64 + 24), before);
    w.sgpr[30] = static_cast<uint32_t>(host.memory_address());
    w.sgpr[31] = static_cast<uint32_t>(host.memory_address() >> 32);
    const auto global = [](const char* name) {
      return std::vector<uint32_t>{0xdc008000u | opcode_of("GLOBAL", name) << 18 | 8,
                                   5u << 8 | 30u << 16 | 6u << 24};
    };
    ASSERT_EQ(host.run(*backend, global("global_load_dword_addtid")), "");
    EXPECT_EQ(w.vgpr[6].lane[7], dword(host.memory() + 8 + 28));
    ASSERT_EQ(host.run(*backend, global("global_store_dword_addtid")), "");
    EXPECT_EQ(dword(host.memory() + 8 + 28), w.vgpr[5].lane[7]);
  }
}

TEST_F(OtherMemory, HintsAndClocks) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    fill(host);
    Wave& w = host.wave();
    const auto before = std::make_unique<Wave>(w);
    ASSERT_EQ(host.run(*backend, ds("ds_nop", 0, 1, 2, 3)), "");
    for (const char* name : {"buffer_gl0_inv", "buffer_gl1_inv"})
      ASSERT_EQ(host.run(*backend, {0xe0000000u | opcode_of("MUBUF", name) << 18, 0}), "");
    for (const char* name : {"s_dcache_inv", "s_gl1_inv"})
      ASSERT_EQ(host.run(*backend, smem(name, 0, 0, 125, 0)), "");
    EXPECT_EQ(std::memcmp(before->sgpr, w.sgpr, sizeof(w.sgpr)), 0);
    EXPECT_EQ(std::memcmp(before->vgpr, w.vgpr, sizeof(w.vgpr)), 0);
    for (const char* name : {"s_memtime", "s_memrealtime"}) {
      ASSERT_EQ(host.run(*backend, smem(name, 20, 0, 125, 0)), "");
      const uint64_t first = w.pair(20);
      ASSERT_EQ(host.run(*backend, smem(name, 20, 0, 125, 0)), "");
      EXPECT_GT(w.pair(20), first) << name;
    }
  }
}

}  // namespace
}  // namespace gfxgraph::emulator
