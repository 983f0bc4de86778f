#include "tests/emulator/memory/memory_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>

namespace gfxgraph::emulator::spec {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}
bool take_end(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// "ubyte", "i16", "dwordx3", "b96", ...
bool data_type(std::string_view t, MemorySpec& s) {
  s.upper = take_end(t, "_d16_hi");
  s.d16 = s.upper || take_end(t, "_d16");
  struct Type {
    std::string_view name;
    unsigned bytes;
    bool sign;
  };
  static constexpr Type kTypes[] = {
      {"ubyte", 1, false},    {"sbyte", 1, true},     {"byte", 1, false},  {"ushort", 2, false},
      {"sshort", 2, true},    {"short", 2, false},    {"dword", 4, false}, {"dwordx2", 8, false},
      {"dwordx3", 12, false}, {"dwordx4", 16, false}, {"u8", 1, false},    {"i8", 1, true},
      {"u16", 2, false},      {"i16", 2, true},       {"b8", 1, false},    {"b16", 2, false},
      {"b32", 4, false},      {"b64", 8, false},      {"b96", 12, false},  {"b128", 16, false}};
  for (const Type& type : kTypes) {
    if (t != type.name) continue;
    s.bytes = type.bytes;
    s.sign = type.sign;
    return true;
  }
  return false;
}

std::optional<MemorySpec> flat_spec(std::string_view rest) {
  MemorySpec s;
  if (take(rest, "load_")) return data_type(rest, s) ? std::optional(s) : std::nullopt;
  if (take(rest, "store_")) {
    s.type = AccessType::kStore;
    return data_type(rest, s) ? std::optional(s) : std::nullopt;
  }
  if (!take(rest, "atomic_")) return std::nullopt;
  s.type = AccessType::kAtomic;
  s.bytes = take_end(rest, "_x2") ? 8 : 4;
  s.operation = rest;
  return s;
}

std::optional<MemorySpec> ds_atomic(std::string_view rest) {
  MemorySpec s;
  s.type = AccessType::kAtomic;
  const size_t at = rest.rfind('_');
  const std::string_view type = rest.substr(at + 1);
  rest = rest.substr(0, at);
  s.returns = take_end(rest, "_rtn");
  s.bytes = type.ends_with("64") ? 8 : 4;
  static const std::set<std::string_view> operations = {"add",   "sub",   "rsub",   "inc", "dec",
                                                        "min",   "max",   "and",    "or",  "xor",
                                                        "mskor", "cmpst", "wrxchg", "wrap"};
  if (!operations.contains(rest) || type.empty()) return std::nullopt;
  s.operation = rest;
  if (rest == "min" || rest == "max")
    s.operation = std::string(type[0] == 'i' ? "s" : type[0] == 'f' ? "f" : "u") + s.operation;
  else if (type[0] == 'f')
    s.operation = "f" + s.operation;
  return s;
}

std::optional<MemorySpec> ds_spec(std::string_view rest) {
  MemorySpec s;
  const auto two = [&](AccessType type) {
    s.type = type;
    s.parts = 2;
    s.scale = take(rest, "st64") ? 64 : 1;
    if (type == AccessType::kAtomic) {
      s.operation = "swap";
      take(rest, "_rtn");
    }
    take(rest, "_");
    return data_type(rest, s) ? std::optional(s) : std::nullopt;
  };
  if (take(rest, "read2")) return two(AccessType::kLoad);
  if (take(rest, "write2")) return two(AccessType::kStore);
  if (take(rest, "wrxchg2")) return two(AccessType::kAtomic);
  if (rest.find("addtid") != rest.npos) return std::nullopt;
  if (take(rest, "read_")) return data_type(rest, s) ? std::optional(s) : std::nullopt;
  if (take(rest, "write_")) {
    s.type = AccessType::kStore;
    return data_type(rest, s) ? std::optional(s) : std::nullopt;
  }
  return ds_atomic(rest);
}

// Numbers before NaNs, -0 before +0.
template <typename F>
F smaller(F a, F b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename F>
F larger(F a, F b) {
  return -smaller(-a, -b);
}

// Of two NaNs the first one, made quiet: with a + b alone the compiler would choose.
template <typename F>
F sum(F a, F b) {
  return std::isnan(a) ? a + F{0} : a + b;
}

template <typename U, typename S, typename F>
U apply(const MemorySpec& spec, U old, U data, U second) {
  const std::string& op = spec.operation;
  const auto f = [](U bits) { return std::bit_cast<F>(bits); };
  const auto u = [](F value) { return std::bit_cast<U>(value); };
  const auto s = [](U value) { return static_cast<S>(value); };
  if (op == "swap" || op == "wrxchg") return data;
  if (op == "cmpswap") return old == second ? data : old;
  if (op == "fcmpswap") return f(old) == f(second) ? data : old;
  if (op == "cmpst") return old == data ? second : old;
  if (op == "fcmpst") return f(old) == f(data) ? second : old;
  if (op == "add") return old + data;
  if (op == "sub") return old - data;
  if (op == "rsub") return data - old;
  if (op == "csub") return data > old ? 0 : old - data;
  if (op == "smin") return static_cast<U>(std::min(s(old), s(data)));
  if (op == "smax") return static_cast<U>(std::max(s(old), s(data)));
  if (op == "umin") return std::min(old, data);
  if (op == "umax") return std::max(old, data);
  if (op == "and") return old & data;
  if (op == "or") return old | data;
  if (op == "xor") return old ^ data;
  if (op == "inc") return old < data ? old + 1 : 0;
  if (op == "dec") return old == 0 || old > data ? data : old - 1;
  if (op == "mskor") return (old & ~data) | second;
  if (op == "wrap") return old >= data ? old - data : old + second;
  if (op == "fadd") return u(sum(f(old), f(data)));
  if (op == "fmin") return u(smaller(f(old), f(data)));
  return u(larger(f(old), f(data)));
}

}  // namespace

std::optional<MemorySpec> memory_spec(const std::string& mnemonic) {
  std::string_view rest = mnemonic;
  if (rest.find("addtid") != rest.npos || rest.find("format") != rest.npos) return std::nullopt;
  if (take(rest, "ds_")) return ds_spec(rest);
  if (take(rest, "flat_") || take(rest, "global_") || take(rest, "scratch_") ||
      take(rest, "buffer_"))
    return flat_spec(rest);
  return std::nullopt;
}

uint32_t narrow_result(const MemorySpec& spec, uint32_t value, uint32_t old) {
  if (spec.sign)
    value =
        static_cast<uint32_t>(spec.bytes == 1 ? static_cast<int32_t>(static_cast<int8_t>(value))
                                              : static_cast<int32_t>(static_cast<int16_t>(value)));
  if (!spec.d16) return value;
  const uint32_t half = value & 0xffff;
  return spec.upper ? half << 16 | (old & 0xffff) : half | (old & 0xffff0000u);
}

uint64_t atomic_result(const MemorySpec& spec, uint64_t old, uint64_t data, uint64_t second) {
  if (spec.bytes == 8) return apply<uint64_t, int64_t, double>(spec, old, data, second);
  return apply<uint32_t, int32_t, float>(
      spec, static_cast<uint32_t>(old), static_cast<uint32_t>(data), static_cast<uint32_t>(second));
}

const char* how_memory_tested(const std::string& mnemonic) {
  if (memory_spec(mnemonic)) return "memory_row_test";
  const std::string_view m = mnemonic;
  if (m.starts_with("s_load") || m.starts_with("s_buffer_load") || m.find("addtid") != m.npos)
    return "memory_row_test";
  if (m.find("_format_") != m.npos) return "buffer_format_test";
  if (m.starts_with("image_")) return "image_test";
  static const std::set<std::string_view> others = {
      "ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32", "ds_append",
      "ds_consume",      "ds_nop",         "buffer_gl0_inv", "buffer_gl1_inv",
      "s_dcache_inv",    "s_gl1_inv",      "s_memtime",      "s_memrealtime"};
  if (others.contains(m)) return "memory_row_test";
  if (m.starts_with("ds_gws_")) return "engine_test";
  return nullptr;
}

}  // namespace gfxgraph::emulator::spec
