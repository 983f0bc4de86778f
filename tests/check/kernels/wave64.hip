// Guards in wave64, and registers that M0 chooses. Without HIP's headers, which refuse wave64 on
// gfx10. Workgroups are 128 items.
#define KERNEL extern "C" __attribute__((global)) void
#define PIN(pointer) asm volatile("" : "+v"(pointer))
#define ITEM static_cast<int>(__builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x())

KERNEL plain_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  if (i < n) c[i] = a[i] + b[i];
}

KERNEL late_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  const float* from_a = a + i;
  const float* from_b = b + i;
  float* to = c + i;
  PIN(from_a);
  PIN(from_b);
  PIN(to);
  const bool mask = i < n;
  float x = 0, y = 0;
  if (mask) x = *from_a;
  if (mask) y = *from_b;
  if (mask) *to = x + y;
}

KERNEL clamped_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  const bool mask = i < n;
  const int safe = mask ? i : 0;
  const float* from_a = a + safe;
  const float* from_b = b + safe;
  float* to = c + safe;
  PIN(from_a);
  PIN(from_b);
  PIN(to);
  float x = 0, y = 0;
  if (mask) x = *from_a;
  if (mask) y = *from_b;
  if (mask) *to = x + y;
}

// Active lanes of both halves leave the buffer.
KERNEL no_guard(const float* a, float* c) {
  const int i = ITEM;
  c[i] = a[i];
}

// The base comes from lane 40 of a vector register; it is defined.
KERNEL from_lane(const float* a, float* c, int n) {
  const int i = ITEM;
  const int base = __builtin_amdgcn_readlane(i - i % 128, 40);
  const float* from = a + base + i % 128;
  PIN(from);
  float x = 0;
  if (i < n) x = *from;
  if (i < n) c[i] = x;
}

// The offset goes through a register that M0 chooses as destination (v41) ...
KERNEL relative_destination(const float* a, float* c, int n) {
  int i = ITEM;
  asm volatile(
      "s_mov_b32 m0, 1\n v_movreld_b32 v40, %0\n v_mov_b32 %0, v41"
      : "+v"(i)
      :
      : "v40", "v41");
  const float* from = a + i;
  PIN(from);
  float x = 0;
  if (i < n) x = *from;
  if (i < n) c[i] = x;
}

// ... or as source; v40 itself is never written.
KERNEL relative_source(const float* a, float* c, int n) {
  int i = ITEM;
  asm volatile(
      "s_mov_b32 m0, 1\n v_mov_b32 v41, %0\n v_movrels_b32 %0, v40"
      : "+v"(i)
      :
      : "v40", "v41");
  const float* from = a + i;
  PIN(from);
  float x = 0;
  if (i < n) x = *from;
  if (i < n) c[i] = x;
}

// Source and destination: v43 = v41.
KERNEL relative_both(const float* a, float* c, int n) {
  int i = ITEM;
  asm volatile(
      "s_mov_b32 m0, 1\n v_mov_b32 v41, %0\n v_movrelsd_b32 v42, v40\n v_mov_b32 %0, v43"
      : "+v"(i)
      :
      : "v40", "v41", "v42", "v43");
  const float* from = a + i;
  PIN(from);
  float x = 0;
  if (i < n) x = *from;
  if (i < n) c[i] = x;
}

// v40 is written, what M0 reaches (v41) never was: nothing is known of masked lanes.
KERNEL relative_undefined(const float* a, float* c, int n) {
  int i = ITEM;
  asm volatile(
      "s_mov_b32 m0, 0x10001\n v_mov_b32 v40, %0\n v_movrelsd_2_b32 v42, v40\n v_add_nc_u32 %0, v43, %0"
      : "+v"(i)
      :
      : "v40", "v41", "v42", "v43");
  const float* from = a + i;
  PIN(from);
  float x = 0;
  if (i < n) x = *from;
  if (i < n) c[i] = x;
}
