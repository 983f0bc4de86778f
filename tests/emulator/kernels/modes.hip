// Kernels in float modes other than the default one: compiled with flushed binary32 denormals, or
// changing MODE while they run.
#define KERNEL extern "C" __attribute__((global)) void
#define ITEM (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

// Divisions switch denormals on and off again.
KERNEL arithmetic(const float* a, const float* b, float* out) {
  const unsigned i = ITEM;
  const float x = a[i], y = b[i];
  out[4 * i] = x * y;
  out[4 * i + 1] = x + y;
  out[4 * i + 2] = x / y;
  out[4 * i + 3] = x < y ? 1.0f : 2.0f;
}

KERNEL doubles(const double* a, const double* b, double* out) {
  const unsigned i = ITEM;
  out[2 * i] = a[i] * b[i];
  out[2 * i + 1] = a[i] / b[i];
}

// x + y rounded in each of the four directions, then again as the kernel began.
KERNEL directions(const float* a, const float* b, float* out) {
  const unsigned i = ITEM;
  const float x = a[i], y = b[i];
  float r0, r1, r2, r3, r4, r5;
  asm volatile(
      "s_round_mode 1\n v_add_f32 %0, %6, %7\n"
      "s_round_mode 2\n v_add_f32 %1, %6, %7\n"
      "s_round_mode 3\n v_add_f32 %2, %6, %7\n"
      "s_round_mode 0\n v_add_f32 %3, %6, %7\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n v_add_f32 %4, %6, %7\n"
      "s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 10)\n v_mov_b32 %5, s20\n"
      "s_mov_b32 s20, 0\n s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s20"
      : "=&v"(r0), "=&v"(r1), "=&v"(r2), "=&v"(r3), "=&v"(r4), "=&v"(r5)
      : "v"(x), "v"(y)
      : "s20");
  out[7 * i] = r0;
  out[7 * i + 1] = r1;
  out[7 * i + 2] = r2;
  out[7 * i + 3] = r3;
  out[7 * i + 4] = r4;
  out[7 * i + 5] = r5;
  out[7 * i + 6] = x + y;
}

// In a loop whose rounds alternate between two modes: code that both modes run.
KERNEL alternating(const float* a, float* out, int rounds) {
  const unsigned i = ITEM;
  float up = a[i];
  for (int k = 0; k < rounds; ++k) {
    asm volatile("s_round_mode 1" ::: "memory");
    asm volatile("v_add_f32 %0, %0, 0.5" : "+v"(up));
    asm volatile("s_round_mode 0" ::: "memory");
    asm volatile("v_add_f32 %0, %0, 0.5" : "+v"(up));
  }
  out[i] = up;
}

KERNEL exceptions(float* out) {
  asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 1), 1");
  out[ITEM] = 1;
}

KERNEL lds_sum(const float* a, float* out) {
  __attribute__((shared)) static float sums[64];
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  sums[i] = 0x1p-149f;
  asm volatile("ds_add_f32 %0, %1\n s_waitcnt lgkmcnt(0)" ::"v"(i * 4), "v"(a[i]) : "memory");
  out[i] = sums[i];
}
