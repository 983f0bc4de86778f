// Typed buffer accesses: formats by hand, whole instructions, and what is refused.
#include "emulator/isa/memory/buffer_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "emulator/decode/inst.h"
#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator {
namespace {

using testing::bits;
using testing::opcode_of;
using testing::row_backends;
using testing::RowHost;

struct Case {
  uint32_t format;
  uint64_t element;
  uint32_t component[4];
};

TEST(BufferFormat, UnpacksEveryLayout) {
  const uint32_t one = bits(1.0f);
  const Case cases[] = {
      {1, 0xff, {bits(1.0f), 0, 0, one}},                                // 8_UNORM
      {1, 0x33, {bits(0.2f), 0, 0, one}},                                //
      {2, 0x80, {bits(-1.0f), 0, 0, one}},                               // 8_SNORM: -128 is -1
      {3, 0x80, {bits(128.0f), 0, 0, one}},                              // 8_USCALED
      {4, 0x80, {bits(-128.0f), 0, 0, one}},                             // 8_SSCALED
      {5, 0x80, {0x80, 0, 0, 1}},                                        // 8_UINT
      {6, 0x80, {0xffffff80, 0, 0, 1}},                                  // 8_SINT
      {13, 0xc000, {bits(-2.0f), 0, 0, one}},                            // 16_FLOAT
      {13, 0x0001, {bits(0x1p-24f), 0, 0, one}},                         // a denormal
      {18, 0x2211, {0x11, 0x22, 0, 1}},                                  // 8_8_UINT
      {22, 0x12345678, {0x12345678, 0, 0, one}},                         // 32_FLOAT
      {28, 0x8000ffff, {0xffffffff, 0xffff8000, 0, 1}},                  // 16_16_SINT
      {36, 0x3c0u | 0x3c0u << 11 | 0x1e0u << 22, {one, one, one, one}},  // 10_11_11_FLOAT
      {41, 0x3ffu | 0x7feu << 10 | 1u << 21, {0x3ff, 0x7fe, 1, 1}},      // 11_11_10_UINT
      {48, 2u | 0x3ffu << 2 | 1u << 12 | 5u << 22, {2, 0x3ff, 1, 5}},    // 10_10_10_2_UINT
      {50, 0x3ffu | 3u << 30, {one, 0, 0, one}},                         // 2_10_10_10_UNORM
      {60, 0x04030201, {1, 2, 3, 4}},                                    // 8_8_8_8_UINT
      {62, 0x0000000200000001, {1, 2, 0, 1}},                            // 32_32_UINT
      {71, 0x3c00bc0040000000, {0, bits(2.0f), bits(-1.0f), one}},       // 16_16_16_16_FLOAT
  };
  for (const Case& c : cases) {
    uint8_t element[16] = {};
    std::memcpy(element, &c.element, 8);
    uint32_t got[4];
    const BufferFormat format = buffer_format(c.format);
    unpack_format(format, element, false, got);
    for (int n = 0; n < 4; ++n) EXPECT_EQ(got[n], c.component[n]) << c.format << " " << n;
  }
  for (const uint32_t none : {0u, 78u, 127u}) EXPECT_EQ(buffer_format(none).components, 0);
}

TEST(BufferFormat, PacksWhatItUnpacks) {
  for (uint32_t id = 1; id < 78; ++id) {
    const BufferFormat format = buffer_format(id);
    for (const bool half : {false, true}) {
      if (half && format.bits[0] == 32) continue;
      for (uint32_t seed = 1; seed < 40; ++seed) {
        uint8_t element[16] = {};
        for (unsigned b = 0; b < format.bytes; ++b)
          element[b] = static_cast<uint8_t>(seed * 37 + b * 101 + (seed * b) % 7);
        // A float's exponent field of ones would be a NaN; -128 as a fraction is -127.
        if (format.number == NumberFormat::kFloat)
          for (unsigned b = 1; b < format.bytes; b += 2) element[b] &= 0xbb;
        uint32_t component[4];
        unpack_format(format, element, half, component);
        uint8_t again[16] = {};
        const char* refused = pack_format(format, component, half, again);
        if (refused != nullptr) continue;
        uint32_t second[4];
        unpack_format(format, again, half, second);
        for (int n = 0; n < 4; ++n) ASSERT_EQ(second[n], component[n]) << id << " " << n;
      }
    }
  }
}

TEST(BufferFormat, StoresRoundAndRefuse) {
  uint8_t element[16];
  const auto packed = [&](uint32_t id, uint32_t x) {
    const uint32_t component[4] = {x, 0, 0, 0};
    std::memset(element, 0, sizeof(element));
    return pack_format(buffer_format(id), component, false, element) == nullptr
               ? static_cast<int>(element[0] | element[1] << 8)
               : -1;
  };
  EXPECT_EQ(packed(1, bits(2.0f)), 255);
  EXPECT_EQ(packed(1, bits(-2.0f)), 0);
  EXPECT_EQ(packed(1, 0x7fc00000), 0);
  EXPECT_EQ(packed(1, bits(0.5f)), 128);  // 127.5 to even
  EXPECT_EQ(packed(2, bits(-2.0f)), 0x81);
  EXPECT_EQ(packed(13, bits(65520.0f)), 0x7c00);
  EXPECT_EQ(packed(13, bits(65519.0f)), 0x7bff);
  EXPECT_EQ(packed(13, bits(0x1.8p-24f)), 2);  // to even
  EXPECT_EQ(packed(5, 256), -1);
  EXPECT_EQ(packed(6, 0xffffff80), 0x80);
  EXPECT_EQ(packed(6, 128), -1);
  EXPECT_EQ(packed(3, bits(3.0f)), -1);
}

class TypedBuffer : public ::testing::Test {
 protected:
  static constexpr uint32_t kIdentity = 4u | 5u << 3 | 6u << 6 | 7u << 9;
  // A raw resource in s4..s7; vaddr v2 (offen), data v8.., soffset 0.
  void resource(RowHost& host, uint32_t records, uint32_t word3) {
    uint32_t* s = host.wave().sgpr;
    s[4] = static_cast<uint32_t>(host.memory_address());
    s[5] = static_cast<uint32_t>(host.memory_address() >> 32);
    s[6] = records;
    s[7] = word3 | 3u << 28;
    for (unsigned l = 0; l < kLanes; ++l) host.wave().vgpr[2].lane[l] = 16 * l;
  }
  static std::vector<uint32_t> mtbuf(const std::string& name, uint32_t format) {
    const uint32_t op = opcode_of("MTBUF", name);
    return {0xe8000000u | 1u << 12 | (op & 7) << 16 | format << 19,
            2u | 8u << 8 | 1u << 16 | (op >> 3) << 21 | 128u << 24};
  }
  static std::vector<uint32_t> mubuf(const std::string& name) {
    return {0xe0000000u | 1u << 12 | opcode_of("MUBUF", name) << 18,
            2u | 8u << 8 | 1u << 16 | 128u << 24};
  }
};

TEST_F(TypedBuffer, LoadsAndStores) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    Wave& w = host.wave();
    resource(host, 500, 0);
    for (unsigned k = 0; k < 1024; ++k) host.memory()[k] = static_cast<uint8_t>(k);
    w.set_exec(~2u);
    for (auto& row : {&w.vgpr[8], &w.vgpr[9], &w.vgpr[10], &w.vgpr[11]})
      for (unsigned l = 0; l < kLanes; ++l) row->lane[l] = 0x77777777;
    ASSERT_EQ(host.run(*backend, mtbuf("tbuffer_load_format_xyzw", 60)), "");
    EXPECT_EQ(w.vgpr[8].lane[3], 48u);
    EXPECT_EQ(w.vgpr[11].lane[3], 51u);
    EXPECT_EQ(w.vgpr[9].lane[1], 0x77777777u);  // not active
    EXPECT_EQ(w.vgpr[11].lane[31], 0xf3u);
    // 16-bit components: two per register.
    ASSERT_EQ(host.run(*backend, mtbuf("tbuffer_load_format_d16_xyz", 60)), "");
    EXPECT_EQ(w.vgpr[8].lane[3], 48u | 49u << 16);
    EXPECT_EQ(w.vgpr[9].lane[3] & 0xffff, 50u);
    // Out of range: zeros. 500 bytes end in lane 31's element at 496.
    w.sgpr[6] = 498;
    ASSERT_EQ(host.run(*backend, mtbuf("tbuffer_load_format_xyzw", 60)), "");
    EXPECT_EQ(w.vgpr[8].lane[31], 0u);
    EXPECT_EQ(w.vgpr[8].lane[30], 0xe0u);
    for (unsigned l = 0; l < kLanes; ++l) w.vgpr[8].lane[l] = l;
    ASSERT_EQ(host.run(*backend, mtbuf("tbuffer_store_format_x", 5)), "");
    EXPECT_EQ(host.memory()[48], 3);
    EXPECT_EQ(host.memory()[49], 49);
    EXPECT_EQ(host.memory()[16], 16);  // lane 1 is off
  }
}

TEST_F(TypedBuffer, TheResourcesFormatAndComponents) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    Wave& w = host.wave();
    // 16_16_UINT; components y, x, 1, 0.
    resource(host, 1024, 5u | 4u << 3 | 1u << 6 | 0u << 9 | 27u << 12);
    for (unsigned k = 0; k < 1024; ++k) host.memory()[k] = static_cast<uint8_t>(k);
    ASSERT_EQ(host.run(*backend, mubuf("buffer_load_format_xyzw")), "");
    EXPECT_EQ(w.vgpr[8].lane[2], 0x2322u);
    EXPECT_EQ(w.vgpr[9].lane[2], 0x2120u);
    EXPECT_EQ(w.vgpr[10].lane[2], 1u);
    EXPECT_EQ(w.vgpr[11].lane[2], 0u);
    for (unsigned l = 0; l < kLanes; ++l) w.vgpr[8].lane[l] = 0x55555555;
    ASSERT_EQ(host.run(*backend, mubuf("buffer_load_format_d16_hi_x")), "");
    EXPECT_EQ(w.vgpr[8].lane[2], 0x23225555u);
    ASSERT_EQ(host.run(*backend, mubuf("buffer_load_format_d16_xy")), "");
    EXPECT_EQ(w.vgpr[8].lane[2], 0x21202322u);
    EXPECT_EQ(host.run(*backend, mubuf("buffer_store_format_xy")),
              "fault: a format store with a component swizzle");
    w.sgpr[7] = kIdentity | 27u << 12 | 3u << 28;
    EXPECT_EQ(host.run(*backend, mubuf("buffer_store_format_x")),
              "fault: a format store of fewer components than the format has");
    for (unsigned l = 0; l < kLanes; ++l) w.vgpr[8].lane[l] = 0x1000 + l, w.vgpr[9].lane[l] = 7;
    ASSERT_EQ(host.run(*backend, mubuf("buffer_store_format_xy")), "");
    EXPECT_EQ(host.memory()[32] | host.memory()[33] << 8, 0x1002);
    EXPECT_EQ(host.memory()[34], 7);
    w.sgpr[7] = kIdentity | 100u << 12 | 3u << 28;
    EXPECT_EQ(host.run(*backend, mubuf("buffer_load_format_x")),
              "fault: this buffer format number");
  }
}

// Bit 25 belongs to the opcode: without it these would be other, supported instructions.
TEST(MubufOpcode, HasEightBits) {
  Inst inst;
  const uint32_t format_d16[] = {0xe2001000, 0x80010102};
  ASSERT_EQ(decode(format_d16, 2, 0, inst), DecodeStatus::kOk);
  EXPECT_STREQ(op_name(inst.op), "buffer_load_format_d16_x");
  const uint32_t none[] = {0xe2301000, 0x80010102};
  EXPECT_EQ(decode(none, 2, 0, inst), DecodeStatus::kIllegal);
}

TEST(Swizzle, RotatesAndOrdersForAnFft) {
  const auto run = [](uint32_t mode) {
    RowHost host;
    for (unsigned l = 0; l < kLanes; ++l) host.wave().vgpr[1].lane[l] = l;
    const std::vector<uint32_t> words = {
        0xd8000000u | opcode_of("DS", "ds_swizzle_b32") << 18 | mode, 1u | 2u << 24};
    EXPECT_EQ(host.run(*row_backends().front(), words), "");
    return host.wave().vgpr[2];
  };
  const Row left = run(0xc000 | 3 << 5);
  const Row right = run(0xc000 | 1 << 10 | 3 << 5);
  const Row within = run(0xc000 | 1 << 5 | 0x1e);  // only bit 0 of the lane number moves
  const Row reversed = run(0xe000);
  const Row same = run(0xe01f);
  for (unsigned l = 0; l < kLanes; ++l) {
    EXPECT_EQ(left.lane[l], (l + 3) % 32);
    EXPECT_EQ(right.lane[l], (l + 29) % 32);
    EXPECT_EQ(within.lane[l], l ^ 1);
    const unsigned r = (l & 1) << 4 | (l & 2) << 2 | (l & 4) | (l & 8) >> 2 | (l & 16) >> 4;
    EXPECT_EQ(reversed.lane[l], r);
    EXPECT_EQ(same.lane[l], l);
  }
}

}  // namespace
}  // namespace gfxgraph::emulator
