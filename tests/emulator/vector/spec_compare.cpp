// v_cmp and v_cmpx: relation, type and class by name.
#include <string>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {
namespace {

using std::string;

// The relation of a and b as one of less, equal, greater, unordered; a name stands for a set of
// them.
enum : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

unsigned relation_set(const string& name) {
  if (name == "f") return 0;
  if (name == "lt") return kLess;
  if (name == "eq") return kEqual;
  if (name == "le") return kLess | kEqual;
  if (name == "gt") return kGreater;
  if (name == "lg") return kLess | kGreater;
  if (name == "ge") return kGreater | kEqual;
  if (name == "o") return kLess | kEqual | kGreater;
  if (name == "t" || name == "tru") return 15;
  if (name == "ne") return kLess | kGreater;
  return 15 & ~relation_set(name == "u" ? "o" : name.substr(1));  // nge, nlg, ngt, nle, neq, nlt
}

template <class V>
unsigned relation(V a, V b) {
  return a < b ? kLess : a == b ? kEqual : a > b ? kGreater : kUnordered;
}

void relations(Specs& s, const string& suffix, const string& names, char type, auto value) {
  size_t at = 0;
  while (at < names.size()) {
    const size_t end = names.find(' ', at);
    const string name = names.substr(at, end - at);
    at = end == string::npos ? names.size() : end + 1;
    const unsigned set = relation_set(name);
    for (const char* prefix : {"v_cmp_", "v_cmpx_"}) {
      s.add(prefix + name + "_" + suffix, string("c=") + type + type,
            [set, value](const In& in, Out& out) {
              out.bit = (relation(value(in.s[0]), value(in.s[1])) & set) != 0;
            });
    }
  }
}

unsigned class_of(double v, bool subnormal, bool quiet) {
  if (std::isnan(v)) return quiet ? 1 : 0;
  const bool negative = std::signbit(v);
  if (std::isinf(v)) return negative ? 2 : 9;
  if (v == 0) return negative ? 5 : 6;
  if (subnormal) return negative ? 4 : 7;
  return negative ? 3 : 8;
}

void classes(Specs& s) {
  for (const char* prefix : {"v_cmp_class_", "v_cmpx_class_"}) {
    const string p = prefix;
    s.add(p + "f16", "c=hu", [](const In& in, Out& out) {
      const double v = f16(in.s[0]);
      out.bit = (in.s[1] >> class_of(v, std::fabs(v) < 0x1p-14, (in.s[0] & 0x200) != 0) & 1) != 0;
    });
    s.add(p + "f32", "c=fu", [](const In& in, Out& out) {
      const float v = f32(in.s[0]);
      out.bit = (in.s[1] >> class_of(std::isnan(v) ? NAN : v, std::fpclassify(v) == FP_SUBNORMAL,
                                     (in.s[0] & 0x400000) != 0) &
                 1) != 0;
    });
    s.add(p + "f64", "c=du", [](const In& in, Out& out) {
      const double v = f64(in.s[0]);
      out.bit = (in.s[1] >> class_of(v, std::fpclassify(v) == FP_SUBNORMAL,
                                     (in.s[0] & 0x8000000000000) != 0) &
                 1) != 0;
    });
  }
}

}  // namespace

void add_compare_specs(Specs& s) {
  const string floats = "f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru";
  relations(s, "f16", floats, 'h', [](uint64_t b) { return f16(b); });
  relations(s, "f32", floats, 'f', [](uint64_t b) { return f32(b); });
  relations(s, "f64", floats, 'd', [](uint64_t b) { return f64(b); });
  const string integers = "f lt eq le gt ne ge t";
  relations(s, "i32", integers, 'u', [](uint64_t b) { return i32(b); });
  relations(s, "u32", integers, 'u', [](uint64_t b) { return u32(b); });
  relations(s, "i64", integers, 'q', [](uint64_t b) { return static_cast<int64_t>(b); });
  relations(s, "u64", integers, 'q', [](uint64_t b) { return b; });
  const string shorts = "lt eq le gt ne ge";
  relations(s, "i16", shorts, 'w', [](uint64_t b) { return i16(b); });
  relations(s, "u16", shorts, 'w', [](uint64_t b) { return static_cast<uint16_t>(b); });
  classes(s);
}

}  // namespace gfxgraph::emulator::spec
