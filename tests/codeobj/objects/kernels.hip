// Two kernels and three variables without any header, so that every clang can compile them.
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define CONSTANT __attribute__((constant))

DEVICE float g_table[16];
CONSTANT int c_bias = 3;
DEVICE float* g_pointer = g_table;  // needs a dynamic relocation

DEVICE __attribute__((always_inline)) float doubled(const float* a, int i) {
  return a[i] * 2.0f;  // line 11: the tests look for it
}

DEVICE __attribute__((always_inline)) float quadrupled(const float* a, int i) {
  return doubled(a, i) * 2.0f;  // line 15
}

struct Pair {
  float* values;
  int count;
};

extern "C" GLOBAL void vadd(const float* a, const float* b, float* c, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
          __builtin_amdgcn_workitem_id_x();
  if (i < n) c[i] = doubled(a, i) + quadrupled(b, i) + g_table[i & 15] + c_bias;  // line 26
}

extern "C" GLOBAL void by_value(Pair p, char c, double d) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i < p.count) p.values[i] = c + d;
}
