// Random operands for every scalar ALU row against scalar_model.h, on every instruction set of this
// host; and hints that must change nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "fmt/format.h"
#include "tests/emulator/row_host.h"
#include "tests/emulator/scalar/scalar_model.h"

namespace gfxgraph::emulator::spec {
namespace {

using testing::row_backends;
using testing::RowHost;
using Random = std::mt19937_64;

struct ScalarRow {
  std::string encoding, mnemonic;
  uint32_t opcode;
};
const std::vector<ScalarRow>& scalar_rows() {
  static const std::vector<ScalarRow> table = {
#define X(encoding, opcode, mnemonic, ...) {#encoding, #mnemonic, opcode},
#include "emulator/table/gfx1030.inc"
#undef X
  };
  return table;
}
bool is_scalar(const ScalarRow& row) { return row.encoding[0] == 'S' && row.encoding[1] == 'O'; }

constexpr unsigned kM0 = 124, kNull = 125, kExec = 126, kLiteral = 255;

class ScalarCase {
 public:
  ScalarCase(Random& random, const ScalarRow& row, const ScalarSpec& spec)
      : random_(random), row_(row), spec_(spec) {
    for (unsigned n = 0; n < 108; ++n) before[n] = value();
    before[kM0] = value();
    before[kExec] = value();
    before[kExec + 1] = value();
    scc = pick(2) != 0;
    encode();
  }

  std::vector<uint32_t> words;
  uint32_t before[128] = {};
  bool scc = false;

  // The registers after it.
  void expect(uint32_t (&sgpr)[128], bool& scc_out) const {
    ScalarState s;
    s.a = source(src_[0], spec_.src0);
    s.b = row_.encoding == "SOPK" ? immediate_ : source(src_[1], spec_.src1);
    s.d = dst_ == kNull ? 0 : source(dst_, spec_.dst);
    s.exec = before[kExec] | uint64_t{before[kExec + 1]} << 32;
    s.scc = scc;
    spec_.run(s);
    std::memcpy(sgpr, before, sizeof(before));
    sgpr[kExec] = static_cast<uint32_t>(s.exec);
    sgpr[kExec + 1] = static_cast<uint32_t>(s.exec >> 32);
    const bool compares = row_.mnemonic.starts_with("s_cmpk");
    for (unsigned d = 0; d < spec_.dst && dst_ != kNull && !compares; ++d)
      sgpr[dst_ + d] = static_cast<uint32_t>(s.d >> (32 * d));
    scc_out = s.scc;
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  uint32_t value() {
    switch (pick(7)) {
      case 0: return pick(3);
      case 1: return 0u - pick(3);
      case 2: return 1u << pick(32);
      case 3: return 0x80000000u - pick(2);
      case 4: return pick(70) | pick(70) << 16;  // a bit field's place
      default: return static_cast<uint32_t>(random_());
    }
  }
  unsigned choose_source(unsigned dwords) {
    switch (pick(8)) {
      case 0: return 128 + pick(65);  // 0..64
      case 1: return 193 + pick(16);  // -1..-16
      case 2: return kLiteral;
      case 3: return 106;
      case 4: return dwords == 1 ? kM0 : kExec;
      case 5: return kExec;
      default: return pick(24) * 2;
    }
  }
  unsigned choose_destination() {
    const bool execs = row_.mnemonic.find("exec") != row_.mnemonic.npos;
    switch (pick(8)) {
      case 0: return 106;
      case 1: return row_.encoding == "SOPK" ? 4 : kNull;
      case 2: return execs ? 8 : kExec;
      case 3: return spec_.dst == 1 ? kM0 : 10;
      default: return pick(24) * 2;
    }
  }
  uint64_t source(unsigned code, unsigned dwords) const {
    if (dwords == 0) return 0;
    const bool wide = dwords == 2;
    const auto small = [&](int64_t v) {
      return static_cast<uint64_t>(v) & (wide ? ~uint64_t{0} : 0xffffffffu);
    };
    if (code < 128)
      return before[code] | (wide && code != kNull ? uint64_t{before[code + 1]} << 32 : 0);
    if (code == kLiteral) {
      const bool sign = wide && row_.mnemonic.find("i64") != row_.mnemonic.npos;
      return sign ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal_)}) : literal_;
    }
    return small(code <= 192 ? static_cast<int64_t>(code) - 128 : 192 - static_cast<int64_t>(code));
  }

  void encode() {
    src_[0] = choose_source(spec_.src0);
    src_[1] = choose_source(spec_.src1);
    dst_ = choose_destination();
    immediate_ = value() & 0xffff;
    literal_ = value();
    const uint32_t op = row_.opcode;
    bool literal = src_[0] == kLiteral;
    if (row_.encoding == "SOP1") {
      words = {0xbe800000u | dst_ << 16 | op << 8 | src_[0]};
    } else if (row_.encoding == "SOP2") {
      words = {0x80000000u | op << 23 | dst_ << 16 | src_[1] << 8 | src_[0]};
      literal = literal || src_[1] == kLiteral;
    } else if (row_.encoding == "SOPC") {
      words = {0xbf000000u | op << 16 | src_[1] << 8 | src_[0]};
      literal = literal || src_[1] == kLiteral;
    } else {
      words = {0xb0000000u | op << 23 | dst_ << 16 | immediate_};
      literal = false;
    }
    if (literal) words.push_back(literal_);
  }

  Random& random_;
  const ScalarRow& row_;
  const ScalarSpec& spec_;
  unsigned src_[2] = {0, 0};
  unsigned dst_ = 0;
  uint32_t immediate_ = 0, literal_ = 0;
};

std::string run(RowHost& host, const Backend& backend, const ScalarCase& c) {
  Wave& w = host.wave();
  std::memcpy(w.sgpr, c.before, sizeof(c.before));
  w.set_exec(c.before[kExec]);
  w.scc = c.scc ? 1 : 0;
  uint32_t sgpr[128];
  bool scc = false;
  c.expect(sgpr, scc);
  std::string wrong = host.run(backend, c.words);
  if (!wrong.empty()) return wrong;
  for (unsigned n = 0; n < 128; ++n)
    if (w.sgpr[n] != sgpr[n])
      return fmt::format("s{}: {:08x}, expected {:08x}", n, w.sgpr[n], sgpr[n]);
  return w.scc == (scc ? 1u : 0u) ? "" : fmt::format("SCC: {}, expected {}", w.scc, scc);
}

TEST(ScalarRow, EveryAluRow) {
  RowHost host;
  uint64_t seed = 1;
  unsigned failed = 0;
  size_t tested = 0;
  for (const ScalarRow& row : scalar_rows()) {
    const auto spec = scalar_specs().find(row.mnemonic);
    if (!is_scalar(row) || spec == scalar_specs().end()) continue;
    ++tested;
    Random random(seed++);
    for (unsigned round = 0; round < 600; ++round) {
      const ScalarCase c(random, row, spec->second);
      std::string wrong;
      for (const Backend* backend : row_backends()) {
        wrong = run(host, *backend, c);
        if (wrong.empty()) continue;
        ADD_FAILURE() << row.encoding << " " << row.mnemonic << " on " << backend->isa << ": "
                      << wrong << fmt::format("; words {:08x} scc {}", c.words[0], c.scc);
        break;
      }
      if (!wrong.empty()) {
        ++failed;
        break;
      }
    }
    if (failed > 25) FAIL() << "too many failures";
  }
  EXPECT_EQ(tested, scalar_specs().size());
}

TEST(ScalarRow, HintsChangeNothing) {
  RowHost host;
  Wave& w = host.wave();
  for (const ScalarRow& row : scalar_rows()) {
    const auto hint = scalar_hints().find(row.mnemonic);
    if (!is_scalar(row) || hint == scalar_hints().end()) continue;
    for (unsigned n = 0; n < 128; ++n) w.sgpr[n] = n * 0x01010101u;
    w.sgpr[kNull] = 0;
    w.set_exec(0x12345678);
    w.scc = 1;
    uint32_t before[136];
    std::memcpy(before, w.sgpr, sizeof(before));
    const uint32_t base = row.encoding == "SOPK" ? 0xb0000000u | row.opcode << 23 | kNull << 16
                                                 : 0xbf800000u | row.opcode << 16;
    EXPECT_EQ(host.run(*row_backends().front(), {base | hint->second}), "") << row.mnemonic;
    EXPECT_EQ(std::memcmp(before, w.sgpr, sizeof(before)), 0) << row.mnemonic;
    EXPECT_EQ(w.scc, 1u) << row.mnemonic;
  }
}

// A row that runs has a test by name.
TEST(ScalarRow, EveryRowThatRunsIsTested) {
  RowHost host;
  for (const ScalarRow& row : scalar_rows()) {
    if (!is_scalar(row) || how_scalar_tested(row.mnemonic) != nullptr) continue;
    const uint32_t base = row.encoding == "SOP1"   ? 0xbe800000u | 4u << 16 | row.opcode << 8
                          : row.encoding == "SOP2" ? 0x80000000u | row.opcode << 23 | 4u << 16
                          : row.encoding == "SOPC" ? 0xbf000000u | row.opcode << 16
                          : row.encoding == "SOPK" ? 0xb0000000u | row.opcode << 23 | 4u << 16
                                                   : 0xbf800000u | row.opcode << 16;
    EXPECT_EQ(host.run(*row_backends().front(), {base}), "not supported") << row.mnemonic;
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
