// Reciprocals, roots, exponentials, logarithms, sine and cosine against MPFR: how far the results
// are from the exact values, in units of the last place. The bounds are those of accuracy(), which
// docs/isa-coverage.md prints.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/emulator/vector/vector_host.h"
#include "tests/emulator/vector/vector_model.h"
#include "tests/emulator/vector/vector_tested.h"

namespace gfxgraph::emulator::spec {
namespace {

class WideReal {
 public:
  WideReal() { mpfr_init2(v_, 400); }
  WideReal(const WideReal&) = delete;
  WideReal& operator=(const WideReal&) = delete;
  ~WideReal() { mpfr_clear(v_); }
  operator mpfr_ptr() { return v_; }

 private:
  mpfr_t v_;
};

void exact(const std::string& function, double x, mpfr_ptr r) {
  WideReal v;
  mpfr_set_d(v, x, MPFR_RNDN);
  if (function == "rcp" || function == "rcp_iflag")
    mpfr_ui_div(r, 1, v, MPFR_RNDN);
  else if (function == "rsq")
    mpfr_rec_sqrt(r, v, MPFR_RNDN);
  else if (function == "sqrt")
    mpfr_sqrt(r, v, MPFR_RNDN);
  else if (function == "exp")
    mpfr_exp2(r, v, MPFR_RNDN);
  else if (function == "log")
    mpfr_log2(r, v, MPFR_RNDN);
  else if (function == "sin")
    mpfr_sinu(r, v, 1, MPFR_RNDN);  // in revolutions
  else
    mpfr_cosu(r, v, 1, MPFR_RNDN);
}

// Distance in units of the last place of the format at the exact value; huge for another kind of
// result. `flushes`: denormals count as zeros, in and out.
double error_of(const std::string& function, char type, double x, double got, bool flushes) {
  const Layout l = layout_of(type);
  const double smallest = std::ldexp(1.0, l.smallest);
  if (flushes && std::fabs(x) < smallest) x = std::copysign(0.0, x);
  WideReal value;
  const mpfr_ptr r = value;
  exact(function, x, r);
  if (mpfr_nan_p(r) || std::isnan(got)) return mpfr_nan_p(r) && std::isnan(got) ? 0 : INFINITY;
  if (mpfr_inf_p(r)) {
    // -0 has the reciprocal -inf, and so has its root.
    const bool negative = x == 0 && function != "log" ? std::signbit(x) : mpfr_sgn(r) < 0;
    return std::isinf(got) && std::signbit(got) == negative ? 0 : INFINITY;
  }
  const double near = mpfr_get_d(r, MPFR_RNDN);
  if (std::isinf(got)) {
    const double most = std::ldexp(2 - std::ldexp(1.0, -l.precision), l.largest - 1);
    return std::fabs(near) >= most && std::signbit(got) == (near < 0) ? 0 : INFINITY;
  }
  if (flushes && mpfr_cmp_d(r, smallest) < 0 && mpfr_cmp_d(r, -smallest) > 0 && got == 0) return 0;
  const int exponent = mpfr_zero_p(r)
                           ? l.smallest
                           : std::max<int>(static_cast<int>(mpfr_get_exp(r)) - 1, l.smallest);
  mpfr_sub_d(r, r, got, MPFR_RNDN);
  mpfr_mul_2si(r, r, l.precision - 1 - exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(r, MPFR_RNDN));
}

std::vector<uint64_t> inputs(char type, const std::string& function, Random& random) {
  std::vector<uint64_t> r;
  if (type == 'h') {
    for (uint64_t v = 0; v < 0x10000; ++v) r.push_back(v);  // all there are
    return r;
  }
  const unsigned mantissa = type == 'd' ? 52 : 23;
  const uint64_t ones = (uint64_t{1} << mantissa) - 1;
  const uint64_t exponents = type == 'd' ? 2047 : 255, sign = (exponents + 1) << mantissa;
  for (uint64_t e = 0; e <= exponents; e += e < 4 || e > exponents - 4 ? 1 : type == 'd' ? 37 : 3)
    for (const uint64_t m :
         {uint64_t{0}, uint64_t{1}, ones, ones / 2 + 1, ones / 2, random() & ones}) {
      r.push_back(e << mantissa | m);
      r.push_back(e << mantissa | m | sign);
    }
  // Where the function is interesting: around one, quarter turns, small integers.
  for (int n = 0; n < 6000; ++n) {
    double v = std::ldexp(static_cast<double>(random() >> 11), -53) * (n % 3 == 0 ? 2 : 300) -
               (n % 2 == 0 ? 0 : 150);
    if (n % 50 == 0) v = (n / 50 - 60) * 0.25;
    if (n % 50 == 1) v = std::nextafter(static_cast<float>((n / 50 - 60) * 0.25), INFINITY);
    if (function == "rsq" || function == "sqrt" || function == "log") v = std::fabs(v);
    r.push_back(type == 'd' ? bits(v) : bits(static_cast<float>(v)));
  }
  return r;
}

class Transcendental : public ::testing::TestWithParam<const TableRow*> {};

TEST_P(Transcendental, StaysWithinItsBound) {
  const TableRow& row = *GetParam();
  const double bound = ulp_bound(row.mnemonic);
  const char type = row.mnemonic.ends_with("f64") ? 'd' : row.mnemonic.ends_with("f16") ? 'h' : 'f';
  const std::string function = row.mnemonic.substr(2, row.mnemonic.rfind('_') - 2);
  Random random(1);
  const std::vector<uint64_t> values = inputs(type, function, random);
  const std::vector<uint32_t> words = {0x7e000000u | 2u << 17 | row.opcode << 9 | 256};
  for (const HostIsa& isa : host_isas()) {
    double worst = 0;
    for (size_t first = 0; first < values.size(); first += kWaveLanes) {
      State s{};
      s.sgpr[126] = ~0u;
      const auto value = [&](unsigned lane) {
        return values[std::min(first + lane, values.size() - 1)];
      };
      for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
        s.vgpr[0][lane] = static_cast<uint32_t>(value(lane));
        s.vgpr[1][lane] = static_cast<uint32_t>(value(lane) >> 32);
      }
      ASSERT_EQ(run_vector(isa, words, s), "");
      for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
        uint64_t got = s.vgpr[2][lane];
        if (type == 'd') got |= uint64_t{s.vgpr[3][lane]} << 32;
        if (type == 'h') got &= 0xffff;
        const double x = decode(type, value(lane));
        const double error = error_of(function, type, x, decode(type, got), type == 'f');
        worst = std::max(worst, error);
        ASSERT_LE(error, bound) << row.mnemonic << " of " << fmt::format("{:a}", x) << " is "
                                << fmt::format("{:a}", decode(type, got)) << " on " << isa.name;
      }
    }
    // A bound far above what happens would prove little.
    EXPECT_GT(worst, bound / 3) << row.mnemonic << " on " << isa.name;
  }
}

std::vector<const TableRow*> bounded_rows() {
  std::vector<const TableRow*> r;
  for (const TableRow& row : table_rows())
    if (row.encoding == "VOP1" && ulp_bound(row.mnemonic) != 0) r.push_back(&row);
  return r;
}
INSTANTIATE_TEST_SUITE_P(Rows, Transcendental, ::testing::ValuesIn(bounded_rows()),
                         [](const auto& i) { return i.param->mnemonic; });

}  // namespace
}  // namespace gfxgraph::emulator::spec
