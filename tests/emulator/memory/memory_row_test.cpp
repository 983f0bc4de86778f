// Random memory instructions of every row against memory_model.h, on every instruction set of this
// host: addressing modes, sizes, overlap of destination and address, partial EXEC with wild
// addresses in the other lanes, range checks. Addresses are worked out here, from the manual.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "emulator/decode/inst.h"
#include "fmt/format.h"
#include "tests/emulator/memory/memory_model.h"
#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator::spec {
namespace {

using testing::kRowLdsBytes;
using testing::kRowMemoryBytes;
using testing::kRowScratchBytes;
using testing::row_backends;
using testing::RowHost;

constexpr unsigned kVgprs = 24;
using Random = std::mt19937_64;

struct Machine {
  uint32_t vgpr[kVgprs][32] = {};
  uint32_t sgpr[128] = {};
  std::vector<uint8_t> memory = std::vector<uint8_t>(kRowMemoryBytes);
  std::vector<uint8_t> lds = std::vector<uint8_t>(kRowLdsBytes);
  std::vector<uint8_t> scratch = std::vector<uint8_t>(kRowScratchBytes);
  uint32_t exec() const { return sgpr[126]; }
};

// Where the bytes of one lane's element are; empty: out of range.
using Bytes = std::vector<uint8_t*>;

struct MemoryRow {
  std::string encoding, mnemonic;
  uint32_t opcode;
};
const std::vector<MemoryRow>& memory_rows() {
  static const std::vector<MemoryRow> table = {
#define X(encoding, opcode, mnemonic, ...) {#encoding, #mnemonic, opcode},
#include "emulator/table/gfx1030.inc"
#undef X
  };
  return table;
}

// Registers of an instruction.
struct Operands {
  unsigned address = 0, data = 0, data1 = 0, dst = 0;
  bool returns = true;  // atomics
};

class MemoryCase {
 public:
  MemoryCase(Random& random, const MemoryRow& row, const MemorySpec& spec)
      : random_(random), row_(row), spec_(spec) {}

  std::vector<uint32_t> words;
  Machine before;

  void generate(uint64_t memory_base) {
    base_ = memory_base;
    for (auto& v : before.vgpr)
      for (uint32_t& lane : v) lane = value();
    for (unsigned n = 0; n < 100; ++n) before.sgpr[n] = bits32();
    for (auto* bytes : {&before.memory, &before.lds, &before.scratch})
      for (size_t at = 0; at < bytes->size(); at += 4) {
        const uint32_t v = value();
        std::memcpy(bytes->data() + at, &v, 4);
      }
    const uint32_t masks[] = {~0u, 0, bits32(), bits32(), 1u << pick(32), 0xffff0000u};
    before.sgpr[126] = masks[pick(6)];
    choose_registers();
    if (row_.encoding == "DS") ds();
    if (row_.encoding == "GLOBAL") global();
    if (row_.encoding == "FLAT") flat();
    if (row_.encoding == "SCRATCH") scratch();
    if (row_.encoding == "MUBUF") mubuf();
  }

  // What must come out.
  Machine expected() const {
    Machine m = before;
    for (unsigned part = 0; part < spec_.parts; ++part)
      for (unsigned l = 0; l < 32; ++l) {
        if ((before.exec() >> l & 1) == 0) continue;
        one(m, l, part, element_(m, l, part));
      }
    return m;
  }

 private:
  uint32_t bits32() { return static_cast<uint32_t>(random_()); }
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  // Bits that matter: small numbers, signs, ordinary floats.
  uint32_t value() {
    switch (pick(6)) {
      case 0: return pick(4);
      case 1: return 0u - pick(4);
      case 2: return std::bit_cast<uint32_t>(static_cast<float>(pick(2000)) / 8 - 100);
      case 3: return 0x80000000u >> pick(32);
      default: return bits32();
    }
  }

  void choose_registers() {
    const unsigned dwords = spec_.data_dwords();
    o_.address = 2 + pick(4);
    o_.data = pick(12);
    o_.data1 = pick(12);
    o_.dst = pick(3) == 0 ? o_.address : pick(12);
    o_.returns = spec_.returns;
    if (row_.encoding != "DS" && spec_.type == AccessType::kAtomic) o_.returns = pick(2) == 0;
    // Refused by name: the first result over the second operand.
    if (spec_.parts == 2 && spec_.type == AccessType::kAtomic) {
      o_.data = pick(4);
      o_.data1 = 4 + pick(4);
      o_.address = 8;
      o_.dst = 12;
    }
    static_cast<void>(dwords);
  }

  bool float_atomic() const { return spec_.operation.starts_with("f"); }

  // A multiple of the alignment that the access needs.
  uint32_t offset_below(uint32_t limit) {
    const uint32_t alignment = spec_.type == AccessType::kAtomic ? spec_.bytes : 1u << pick(3);
    return pick(limit / alignment) * alignment;
  }
  void set_address(unsigned l, uint64_t address, bool wide) {
    before.vgpr[o_.address][l] = static_cast<uint32_t>(address);
    if (wide) before.vgpr[o_.address + 1][l] = static_cast<uint32_t>(address >> 32);
  }
  bool active(unsigned l) const { return (before.exec() >> l & 1) != 0; }

  static Bytes flat_bytes(std::vector<uint8_t>& in, uint64_t at, unsigned count) {
    if (at + count > in.size()) return {};
    Bytes r;
    for (unsigned b = 0; b < count; ++b) r.push_back(in.data() + at + b);
    return r;
  }
  // Private bytes: dwords of 32 lanes side by side.
  static Bytes private_bytes(Machine& m, unsigned l, uint64_t at, unsigned count) {
    Bytes r;
    for (unsigned b = 0; b < count; ++b)
      r.push_back(m.scratch.data() + (at + b) / 4 * 128 + l * 4 + (at + b) % 4);
    return r;
  }

  void ds() {
    const uint32_t op = row_.opcode;
    uint32_t imm = pick(3) == 0 ? 0 : pick(256);
    const uint32_t second = pick(64);
    if (spec_.parts == 2) imm = pick(16) | second << 8;
    if (spec_.type == AccessType::kAtomic && spec_.parts == 1) imm = imm / 8 * 8;
    for (unsigned l = 0; l < 32; ++l) {
      // Now and then past the end; addresses may wrap around with the offset.
      uint32_t at = offset_below(pick(8) == 0 ? 2 * kRowLdsBytes : 2048);
      if (spec_.type == AccessType::kAtomic && spec_.parts == 1) at -= imm;
      set_address(l, active(l) ? at : bits32(), false);
    }
    words = {0xd8000000u | op << 18 | imm,
             o_.address | o_.data << 8 | o_.data1 << 16 | o_.dst << 24};
    const auto source = o_.address;
    const MemorySpec spec = spec_;
    const Machine* start = &before;
    element_ = [=](Machine& m, unsigned l, unsigned part) {
      const uint32_t offset =
          spec.parts == 1 ? imm : (imm >> (8 * part) & 255) * spec.bytes * spec.scale;
      return flat_bytes(m.lds, start->vgpr[source][l] + offset, spec.bytes);
    };
  }

  void flat_words(uint32_t base, uint32_t imm, uint32_t saddr) {
    words = {base | row_.opcode << 18 |
                 (o_.returns && spec_.type == AccessType::kAtomic ? 1u << 16 : 0) | imm,
             o_.address | o_.data << 8 | saddr << 16 | o_.dst << 24};
  }

  void global() {
    int32_t imm = static_cast<int32_t>(pick(4096)) - 2048;
    if (spec_.type == AccessType::kAtomic) imm = imm / 8 * 8;
    const bool scalar = pick(2) == 0;
    const uint64_t base = base_;
    std::array<uint64_t, 32> at{};
    // Dwords one after the other take a shorter way; also with one lane elsewhere.
    const bool row = pick(3) == 0;
    const uint32_t first = offset_below(2048);
    const unsigned stray = pick(64);
    for (unsigned l = 0; l < 32; ++l) {
      at[l] = 4096 + (row && l != stray ? first + 4 * l : offset_below(4096));
      if (row && spec_.type == AccessType::kAtomic) at[l] = at[l] / 8 * 8;
      const uint64_t address = base + at[l] - static_cast<uint64_t>(int64_t{imm});
      if (scalar)
        set_address(l, active(l) ? static_cast<uint32_t>(at[l]) : bits32(), false);
      else
        set_address(l, active(l) ? address : random_(), true);
    }
    if (scalar) {
      const uint64_t s = base - static_cast<uint64_t>(int64_t{imm});
      before.sgpr[30] = static_cast<uint32_t>(s);
      before.sgpr[31] = static_cast<uint32_t>(s >> 32);
    }
    flat_words(0xdc008000u, static_cast<uint32_t>(imm) & 0xfff, scalar ? 30 : 0x7d);
    const unsigned bytes = spec_.bytes;
    element_ = [=](Machine& m, unsigned l, unsigned) { return flat_bytes(m.memory, at[l], bytes); };
  }

  void flat() {
    const uint32_t imm = spec_.type == AccessType::kAtomic ? pick(128) * 8 : pick(2048);
    const unsigned mix = pick(4);  // 3: lanes in all apertures
    std::array<unsigned, 32> space{};
    std::array<uint64_t, 32> at{};
    for (unsigned l = 0; l < 32; ++l) {
      space[l] = mix == 3 ? pick(3) : mix;
      // Atomics on private memory go through it a dword at a time.
      if (space[l] == 2 && spec_.type == AccessType::kAtomic) space[l] = 0;
      uint64_t address = 0;
      if (space[l] == 0) {
        at[l] = 4096 + offset_below(4096);
        address = base_ + at[l];
      } else if (space[l] == 1) {
        at[l] = 2048 + offset_below(1024);
        address = (uint64_t{Dispatch::kDefaultGroupApertureHi} << 32) + at[l];
      } else {
        at[l] = offset_below(64);
        address = (uint64_t{Dispatch::kDefaultPrivateApertureHi} << 32) + at[l];
      }
      // The offset must not carry into an aperture's upper half.
      const bool carries = (address & 0xffffffff) < imm && space[l] != 0;
      if (carries) {
        at[l] += imm;
        address += imm;
        if (space[l] == 2) at[l] = at[l] % 64 + imm;
        if (space[l] == 2) address = (address >> 32 << 32) + at[l];
      }
      address -= imm;
      set_address(l, active(l) ? address : random_(), true);
      if (space[l] == 2 && at[l] + spec_.bytes > kRowScratchBytes / 32) {
        space[l] = 0;
        at[l] = 4096;
        if (active(l)) set_address(l, base_ + 4096 - imm, true);
      }
    }
    flat_words(0xdc000000u, imm, 0x7d);
    const unsigned bytes = spec_.bytes;
    element_ = [=](Machine& m, unsigned l, unsigned) {
      if (space[l] == 0) return flat_bytes(m.memory, at[l], bytes);
      if (space[l] == 1) return flat_bytes(m.lds, at[l], bytes);
      return private_bytes(m, l, at[l], bytes);
    };
  }

  void scratch() {
    const unsigned mode = pick(3);  // VGPR, SGPR, immediate only
    const uint32_t imm = pick(32);
    before.sgpr[20] = pick(32);
    std::array<uint64_t, 32> at{};
    for (unsigned l = 0; l < 32; ++l) {
      const uint32_t v = pick(48);
      set_address(l, active(l) ? v : bits32(), false);
      at[l] = imm + (mode == 0 ? v : mode == 1 ? before.sgpr[20] : 0);
    }
    flat_words(0xdc004000u, imm, mode == 0 ? 0x7d : mode == 1 ? 20 : 0x7f);
    const unsigned bytes = spec_.bytes;
    element_ = [=](Machine& m, unsigned l, unsigned) { return private_bytes(m, l, at[l], bytes); };
  }

  void mubuf();

  void one(Machine& m, unsigned l, unsigned part, const Bytes& at) const {
    const unsigned dwords = spec_.data_dwords();
    uint8_t element[16] = {};
    for (size_t b = 0; b < at.size(); ++b)
      if (at[b] != nullptr) element[b] = *at[b];
    const auto reg = [&](unsigned base, unsigned d) { return before.vgpr[base + d][l]; };
    const auto put = [&](uint64_t v, unsigned d) {
      m.vgpr[o_.dst + d][l] = static_cast<uint32_t>(v);
    };
    if (spec_.type == AccessType::kLoad) {
      uint32_t word[4];
      std::memcpy(word, element, 16);
      if (spec_.bytes < 4) return put(narrow_result(spec_, word[0], before.vgpr[o_.dst][l]), 0);
      for (unsigned d = 0; d < dwords; ++d) put(word[d], part * dwords + d);
    } else if (spec_.type == AccessType::kStore) {
      uint32_t word[4] = {};
      const unsigned from = part == 0 ? o_.data : o_.data1;
      for (unsigned d = 0; d < dwords; ++d) word[d] = reg(from, d) >> (spec_.upper ? 16 : 0);
      uint8_t bytes[16];
      std::memcpy(bytes, word, 16);
      for (size_t b = 0; b < at.size(); ++b)
        if (at[b] != nullptr) *at[b] = bytes[b];
    } else {
      const auto operand = [&](unsigned base) {
        return dwords == 2 ? reg(base, 0) | uint64_t{reg(base, 1)} << 32 : reg(base, 0);
      };
      uint64_t old = 0;
      std::memcpy(&old, element, spec_.bytes);
      const bool ds = row_.encoding == "DS";
      const uint64_t first = operand(part == 0 ? o_.data : o_.data1);
      const uint64_t result =
          atomic_result(spec_, old, first, operand(ds ? o_.data1 : o_.data + dwords));
      for (size_t b = 0; b < at.size(); ++b) *at[b] = static_cast<uint8_t>(result >> (8 * b));
      if (!o_.returns) return;
      for (unsigned d = 0; d < dwords; ++d) put(old >> (32 * d), part * dwords + d);
    }
  }

  Random& random_;
  const MemoryRow& row_;
  const MemorySpec& spec_;
  uint64_t base_ = 0;
  Operands o_;
  std::function<Bytes(Machine&, unsigned, unsigned)> element_;
};

void MemoryCase::mubuf() {
  const bool offen = pick(3) != 0;
  const bool idxen = pick(2) == 0;
  const bool narrow = spec_.bytes <= 4;
  const bool swizzle = narrow && pick(3) == 0;
  const bool add_tid = pick(4) == 0;
  const uint32_t select = pick(4);
  const uint32_t stride = 4 * pick(5);
  const uint32_t index_stride = pick(4);
  uint32_t imm = spec_.type == AccessType::kAtomic ? pick(4) * 8 : pick(40);
  const bool whole_stride = spec_.type == AccessType::kAtomic && stride % spec_.bytes != 0;
  const uint32_t used_stride = whole_stride ? 8 : stride;
  const bool inline_soffset = pick(2) == 0;
  const uint32_t soffset = spec_.type == AccessType::kAtomic ? pick(8) * 8 : pick(64);
  const uint32_t records = select == 3 ? pick(1500) : pick(5) == 0 ? 0 : pick(90);
  before.sgpr[12] = soffset;
  const uint64_t base = base_ + 16;
  before.sgpr[8] = static_cast<uint32_t>(base);
  before.sgpr[9] = static_cast<uint32_t>(base >> 32) | used_stride << 16 | (swizzle ? 1u << 31 : 0);
  before.sgpr[10] = records;
  before.sgpr[11] = index_stride << 21 | (add_tid ? 1u << 23 : 0) | select << 28;
  std::array<uint32_t, 32> index{}, offset{};
  for (unsigned l = 0; l < 32; ++l) {
    index[l] = idxen ? pick(64) : 0;
    // Swizzled atomics and dwords stay in their element.
    offset[l] = offen ? offset_below(swizzle ? 48 : 512) : 0;
    if (swizzle && spec_.bytes == 4) offset[l] &= ~3u;
    if (swizzle && spec_.bytes == 2) offset[l] &= ~1u;
    unsigned at = o_.address;
    if (idxen) before.vgpr[at++][l] = active(l) ? index[l] : bits32();
    if (offen) before.vgpr[at][l] = active(l) ? offset[l] : bits32();
  }
  if (swizzle) imm &= ~3u;
  words = {0xe0000000u | row_.opcode << 18 | imm | (offen ? 1u << 12 : 0) | (idxen ? 1u << 13 : 0) |
               (o_.returns && spec_.type == AccessType::kAtomic ? 1u << 14 : 0),
           o_.address | (spec_.type == AccessType::kLoad ? o_.dst : o_.data) << 8 | 2u << 16 |
               (inline_soffset ? 128 + soffset : 12) << 24};
  // Atomics return into their data.
  if (spec_.type == AccessType::kAtomic) o_.dst = o_.data;
  const MemorySpec spec = spec_;
  element_ = [=](Machine& m, unsigned l, unsigned) {
    const uint64_t i = index[l] + (add_tid ? l : 0);
    const uint64_t o = offset[l] + imm;
    uint64_t at = i * used_stride + o;
    if (swizzle) {
      const uint64_t lanes = 8u << index_stride;
      at = (i / lanes * used_stride + o / 4 * 4) * lanes + i % lanes * 4 + o % 4;
    }
    bool in = true;
    const bool structured = select == 0 || (select == 3 && swizzle && used_stride != 0);
    if (structured) in = i < records && o + spec.bytes <= used_stride;
    if (select == 1) in = i < records;
    if (select == 2) in = records != 0;
    Bytes r;
    if (in) r = flat_bytes(m.memory, 16 + soffset + at, spec.bytes);
    if (select == 3 && !structured) {
      // Raw: dwords by themselves; smaller elements and atomics as a whole.
      const uint64_t limit = records > soffset ? records - soffset : 0;
      const unsigned step =
          spec.type == AccessType::kAtomic ? spec.bytes : std::min(spec.bytes, 4u);
      for (unsigned b = 0; b < spec.bytes; ++b)
        if (at + b / step * step + step > limit) r[b] = nullptr;
      if (spec.type == AccessType::kAtomic && !r.empty() && r[0] == nullptr) r.clear();
    }
    return r;
  };
}

std::string difference(const Machine& a, RowHost& host) {
  for (unsigned n = 0; n < kVgprs; ++n)
    for (unsigned l = 0; l < 32; ++l)
      if (host.wave().vgpr[n].lane[l] != a.vgpr[n][l])
        return fmt::format("v{} lane {}: {:08x}, expected {:08x}", n, l,
                           host.wave().vgpr[n].lane[l], a.vgpr[n][l]);
  for (unsigned n = 0; n < 128; ++n)
    if (host.wave().sgpr[n] != a.sgpr[n])
      return fmt::format("s{}: {:08x}, expected {:08x}", n, host.wave().sgpr[n], a.sgpr[n]);
  const auto memory = [](const char* name, const std::vector<uint8_t>& want, const uint8_t* got) {
    for (size_t b = 0; b < want.size(); ++b)
      if (want[b] != got[b])
        return fmt::format("{} byte {}: {:02x}, expected {:02x}", name, b, got[b], want[b]);
    return std::string();
  };
  std::string r = memory("memory", a.memory, host.memory());
  if (r.empty()) r = memory("LDS", a.lds, host.lds());
  if (r.empty()) r = memory("scratch", a.scratch, host.scratch());
  return r;
}

void load(const Machine& m, RowHost& host) {
  Wave& w = host.wave();
  for (unsigned n = 0; n < kVgprs; ++n) std::memcpy(w.vgpr[n].lane, m.vgpr[n], sizeof(m.vgpr[n]));
  std::memcpy(w.sgpr, m.sgpr, sizeof(m.sgpr));
  w.set_exec(m.exec());
  std::memcpy(host.memory(), m.memory.data(), m.memory.size());
  std::memcpy(host.lds(), m.lds.data(), m.lds.size());
  std::memcpy(host.scratch(), m.scratch.data(), m.scratch.size());
}

// NaNs of float atomics: which one comes out is not defined.
bool has_nan_case(const MemorySpec& spec) { return spec.operation.starts_with("f"); }

TEST(MemoryRow, EveryLoadStoreAndAtomic) {
  RowHost host;
  unsigned tested = 0;
  unsigned failed = 0;
  uint64_t seed = 1;
  for (const MemoryRow& row : memory_rows()) {
    const auto spec = memory_spec(row.mnemonic);
    if (!spec) continue;
    ++tested;
    Random random(seed++);
    for (unsigned round = 0; round < 40; ++round) {
      MemoryCase c(random, row, *spec);
      c.generate(host.memory_address());
      if (has_nan_case(*spec))
        for (auto* bytes : {&c.before.memory, &c.before.lds}) {
          // Numbers: no exponent of ones in either width.
          for (size_t b = 3; b < bytes->size(); b += 4) (*bytes)[b] &= 0xbf;
        }
      const Machine expected = c.expected();
      for (const Backend* backend : row_backends()) {
        load(c.before, host);
        std::string wrong = host.run(*backend, c.words);
        if (wrong.empty()) wrong = difference(expected, host);
        if (wrong.empty()) continue;
        ADD_FAILURE() << row.encoding << " " << row.mnemonic << " on " << backend->isa << " round "
                      << round << ": " << wrong
                      << fmt::format("\n  words {:08x} {:08x} exec {:08x}", c.words[0], c.words[1],
                                     c.before.exec());
        round = 1000;
        ++failed;
        break;
      }
    }
    if (failed > 25) FAIL() << "too many failures";
  }
  EXPECT_GT(tested, 250u);
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
