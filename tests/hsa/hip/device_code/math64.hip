// Double precision: what the device library computes with v_fma_f64 and its kind, against the host.
// Exactly rounded where the standard says so, else within the stated units in the last place of what
// the host has in 80 bits.
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "../array.h"

enum Function {
  kAdd, kMultiply, kDivide, kFma, kSqrt, kFmod, kRint, kTruncate,  // exact
  kSin, kCos, kTan, kExp, kExp2, kLog, kLog10, kLog1p, kPow, kCbrt, kHypot, kAtan2, kTanh, kErf, kGamma
};

struct Row {
  Function function;
  const char* name;
  double bound;  // units in the last place
};

constexpr Row kRows[] = {
    {kAdd, "add", 0},       {kMultiply, "multiply", 0}, {kDivide, "divide", 0}, {kFma, "fma", 0},
    {kSqrt, "sqrt", 0},     {kFmod, "fmod", 0},         {kRint, "rint", 0},     {kTruncate, "trunc", 0},
    {kSin, "sin", 1},       {kCos, "cos", 1},           {kTan, "tan", 1},       {kExp, "exp", 1},
    {kExp2, "exp2", 1},     {kLog, "log", 1},           {kLog10, "log10", 1},   {kLog1p, "log1p", 1},
    {kPow, "pow", 1},       {kCbrt, "cbrt", 1},         {kHypot, "hypot", 1},   {kAtan2, "atan2", 1},
    {kTanh, "tanh", 1},     {kErf, "erf", 1},           {kGamma, "tgamma", 8},
};

__host__ __device__ double compute(Function function, double a, double b, double c) {
  switch (function) {
    case kAdd: return a + b;
    case kMultiply: return a * b;
    case kDivide: return a / b;
    case kFma: return fma(a, b, c);
    case kSqrt: return sqrt(a);
    case kFmod: return fmod(a, b);
    case kRint: return rint(a);
    case kTruncate: return trunc(a);
    case kSin: return sin(a);
    case kCos: return cos(a);
    case kTan: return tan(a);
    case kExp: return exp(a);
    case kExp2: return exp2(a);
    case kLog: return log(a);
    case kLog10: return log10(a);
    case kLog1p: return log1p(a);
    case kPow: return pow(a, b);
    case kCbrt: return cbrt(a);
    case kHypot: return hypot(a, b);
    case kAtan2: return atan2(a, b);
    case kTanh: return tanh(a);
    case kErf: return erf(a);
    case kGamma: return tgamma(a);
  }
  return 0;
}

static double reference(Function function, double a, double b, double c) {
  const long double x = a;
  switch (function) {
    case kSin: return static_cast<double>(sinl(x));
    case kCos: return static_cast<double>(cosl(x));
    case kTan: return static_cast<double>(tanl(x));
    case kExp: return static_cast<double>(expl(x));
    case kExp2: return static_cast<double>(exp2l(x));
    case kLog: return static_cast<double>(logl(x));
    case kLog10: return static_cast<double>(log10l(x));
    case kLog1p: return static_cast<double>(log1pl(x));
    case kPow: return static_cast<double>(powl(x, b));
    case kCbrt: return static_cast<double>(cbrtl(x));
    case kHypot: return static_cast<double>(hypotl(x, b));
    case kAtan2: return static_cast<double>(atan2l(x, b));
    case kTanh: return static_cast<double>(tanhl(x));
    case kErf: return static_cast<double>(erfl(x));
    case kGamma: return static_cast<double>(tgammal(x));
    default: return compute(function, a, b, c);
  }
}

__global__ void run(Function function, const double* a, const double* b, const double* c, double* out,
                    unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = compute(function, a[i], b[i], c[i]);
}

// The number's place among all doubles, so that neighbours differ by one.
static int64_t place(double x) {
  int64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits < 0 ? INT64_MIN - bits : bits;
}

static double distance(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (std::isnan(got) || std::isnan(want)) return HUGE_VAL;
  return std::fabs(static_cast<double>(static_cast<__int128>(place(got)) - place(want)));
}

static std::vector<double> edges() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> list = {0,       1,       2,      0.5,        3,           M_PI,   M_PI_2, 10,
                              DBL_MIN, DBL_MAX, 0x1p-1074, 0x1.fffffffffffffp-1023, 0x1p52, 0x1p53,
                              1e22,    709.78,  -745.1, 0.1,        1 + DBL_EPSILON, 1e-300, inf};
  for (size_t i = list.size(); i-- > 0;) list.push_back(-list[i]);
  list.push_back(std::nan(""));
  return list;
}

int main() {
  std::vector<double> a, b, c;
  for (const double x : edges())
    for (const double y : edges()) {
      a.push_back(x);
      b.push_back(y);
      c.push_back(a.size() % 3 == 0 ? -x * y : x);
    }
  // Every exponent, then the range where most of the functions do something.
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> mantissa(-2, 2), moderate(-40, 40);
  for (int i = 0; i < 2000; ++i) {
    a.push_back(std::ldexp(mantissa(generator), static_cast<int>(generator() % 2098) - 1074));
    b.push_back(std::ldexp(mantissa(generator), static_cast<int>(generator() % 2098) - 1074));
    c.push_back(std::ldexp(mantissa(generator), static_cast<int>(generator() % 2098) - 1074));
    a.push_back(moderate(generator));
    b.push_back(moderate(generator));
    c.push_back(-a.back() * b.back());
  }
  const auto n = static_cast<unsigned>(a.size());
  const DeviceArray<double> da(a), db(b), dc(c), out(n);
  Digest digest;
  bool good = true;
  for (const Row& row : kRows) {
    run<<<(n + 255) / 256, 256>>>(row.function, da.data(), db.data(), dc.data(), out.data(), n);
    const std::vector<double> got = out.read();
    digest.add(got);
    double worst = 0;
    unsigned where = 0;
    for (unsigned i = 0; i < n; ++i) {
      const double error = distance(got[i], reference(row.function, a[i], b[i], c[i]));
      if (error > worst) worst = error, where = i;
    }
    std::printf("%-8s %g of %g units in the last place\n", row.name, worst, row.bound);
    if (worst <= row.bound) continue;
    good = false;
    std::printf("%s(%a, %a, %a) is %a and must be %a\n", row.name, a[where], b[where], c[where],
                got[where], reference(row.function, a[where], b[where], c[where]));
  }
  CHECK(good);
  digest.print();
  return done();
}
