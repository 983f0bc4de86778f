// Comparisons of integers, and v_cmpx for all types through the same kernels. One lane-mask result:
// bits of inactive lanes are 0 (the handler masks them).
#include "emulator/isa/vector/vector_compare.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

template <T type, auto F>
void add(VectorTable& t, Op op, Op op_exec) {
  t[op] = t[op_exec] = comparison<type, type, F>();
}

#define GFXGRAPH_COMPARE(name, type, expression) \
  add<type, [](auto a, auto b) {                 \
    (void)a;                                     \
    (void)b;                                     \
    return (expression);                         \
  }>(t, Op::v_cmp_##name, Op::v_cmpx_##name)
#define GFXGRAPH_ORDERS(suffix, type)          \
  GFXGRAPH_COMPARE(lt_##suffix, type, a < b);  \
  GFXGRAPH_COMPARE(eq_##suffix, type, a == b); \
  GFXGRAPH_COMPARE(le_##suffix, type, a <= b); \
  GFXGRAPH_COMPARE(gt_##suffix, type, a > b);  \
  GFXGRAPH_COMPARE(ne_##suffix, type, a != b); \
  GFXGRAPH_COMPARE(ge_##suffix, type, a >= b)
#define GFXGRAPH_ALL(suffix, type)           \
  GFXGRAPH_ORDERS(suffix, type);             \
  GFXGRAPH_COMPARE(f_##suffix, type, false); \
  GFXGRAPH_COMPARE(t_##suffix, type, true)

}  // namespace

void add_compare(VectorTable& t) {
  GFXGRAPH_ALL(i32, T::kI32);
  GFXGRAPH_ALL(u32, T::kU32);
  GFXGRAPH_ALL(i64, T::kI64);
  GFXGRAPH_ALL(u64, T::kU64);
  GFXGRAPH_ORDERS(i16, T::kI16);
  GFXGRAPH_ORDERS(u16, T::kU16);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
