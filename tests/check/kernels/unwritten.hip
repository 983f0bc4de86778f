// Kernels that use what nobody wrote, and their right twins.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define ITEM (static_cast<int>(threadIdx.x))
#define INDEX (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x))

// `from` is the buffer that may be unwritten; the twins differ in who launches them.
#define PAIR(name, from_type, ...)                                  \
  KERNEL name(int* to, from_type* from) { __VA_ARGS__ }             \
  KERNEL name##_safe(int* to, from_type* from) { __VA_ARGS__ }

PAIR(as_index, const int, to[from[INDEX] & 31] = INDEX;)
PAIR(as_pointer, int* const, if (INDEX == 0) *to = reinterpret_cast<uintptr_t>(from[3]) >> 60 ? 1 : to[(reinterpret_cast<uintptr_t>(from[3]) & 31)];)
PAIR(as_condition, const int, if (from[INDEX] > 3) to[INDEX] = 7;)
PAIR(as_uniform_condition, const int, if (from[blockIdx.x] > 3) to[INDEX] = 7;)
PAIR(as_bound, const int, for (int n = 0; n < from[0] % 4; ++n) to[INDEX] += n;)
PAIR(as_byte, const unsigned char, to[from[INDEX] & 15] = INDEX;)
PAIR(as_wide, const int4, to[(from[ITEM % 8].z & 31)] = INDEX;)
PAIR(as_strided_index, const int, to[from[INDEX * 2] & 31] = INDEX;)
PAIR(as_masked_index, const int, if (ITEM % 3 != 0) to[from[INDEX] & 31] = INDEX;)
PAIR(as_next_index, const int,
     int at = 0;
     _Pragma("unroll 1") for (int n = 0; n < 3; ++n) at = from[at & 1];
     to[at & 31] = ITEM;)
__constant__ int squares[4] = {0, 1, 4, 9};
PAIR(as_scalar_index, const int, to[INDEX] = squares[from[blockIdx.x] & 3];)
PAIR(computed, const int, to[INDEX] = from[INDEX] * 3 + INDEX;)
PAIR(counted, int, if (ITEM < 4) to[atomicAdd(&from[ITEM], 1) & 31] = ITEM;)

KERNEL lds_as_index(int* to, const int* from) {
  __shared__ int tile[64];
  if (ITEM < 32) tile[ITEM] = from[ITEM] & 31;
  __syncthreads();
  to[tile[(ITEM + 1) % 64] & 31] = ITEM;
}
KERNEL lds_as_index_safe(int* to, const int* from) {
  __shared__ int tile[64];
  tile[ITEM] = from[ITEM] & 31;
  __syncthreads();
  to[tile[(ITEM + 1) % 64] & 31] = ITEM;
}
KERNEL lds_as_condition(int* to, const int*) {
  __shared__ int flag;
  if (to[ITEM] == 12345) flag = 1;
  __syncthreads();
  if (flag != 0) to[ITEM] = 3;
}
KERNEL lds_as_condition_safe(int* to, const int*) {
  __shared__ int flag;
  if (ITEM == 0) flag = 0;
  __syncthreads();
  if (to[ITEM] == 12345) flag = 1;
  __syncthreads();
  if (flag != 0) to[ITEM] = 3;
}

// One instruction loads two dwords, of which nobody wrote the second.
#define TWO_OF_LDS(name, shift)                                                                       \
  KERNEL name(int* to, const int*) {                                                                  \
    __shared__ int tile[128];                                                                         \
    tile[ITEM] = 5;                                                                                   \
    __syncthreads();                                                                                  \
    long both;                                                                                        \
    asm volatile("ds_read2_b32 %0, %1 offset1:64\n s_waitcnt lgkmcnt(0)"                              \
                 : "=v"(both)                                                                         \
                 : "v"(static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile + ITEM))));             \
    to[(both >> (shift)) & 31] = ITEM;                                                                \
  }
TWO_OF_LDS(second_of_two, 32)
TWO_OF_LDS(second_of_two_safe, 0)

// Odd lanes load from LDS, the others from memory, by one instruction.
PAIR(as_index_beside_lds, const int,
     __shared__ int tile[64];
     tile[ITEM % 64] = 5;
     __syncthreads();
     const int* const place = ITEM % 2 != 0 ? tile + ITEM % 64 : from + ITEM;
     int index;
     asm volatile("flat_load_dword %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=v"(index) : "v"(place));
     to[index & 31] = ITEM;)

// Registers, by hand: compilers choose a value where the source has none.
KERNEL register_as_index(int* to, const int*) {
  int index;
  asm volatile("v_lshlrev_b32 %0, 2, v77\n v_and_b32 %0, 60, %0" : "=v"(index)::"v77");
  to[index / 4] = ITEM;
}
KERNEL register_as_index_safe(int* to, const int*) {
  int index;
  asm volatile("v_mov_b32 v77, 3\n v_lshlrev_b32 %0, 2, v77\n v_and_b32 %0, 60, %0" : "=v"(index)::"v77");
  to[index / 4] = ITEM;
}
KERNEL scalar_as_condition(int* to, const int*) {
  asm volatile("s_cmp_eq_u32 s66, 7\n s_cbranch_scc1 1\n s_nop 0" ::: "s66", "scc");
  to[ITEM] = 1;
}
KERNEL scalar_as_condition_safe(int* to, const int*) {
  asm volatile("s_mov_b32 s66, 3\n s_cmp_eq_u32 s66, 7\n s_cbranch_scc1 1\n s_nop 0" ::: "s66", "scc");
  to[ITEM] = 1;
}

// A lane mask of which only the bits of active lanes are defined, kept in a lane of a VGPR: code
// without optimisation does so. The twin that is at fault takes all of its bits.
#define SPILLED(name, combine)                                                                        \
  KERNEL name(int* to, const int*) {                                                                  \
    int value = 1;                                                                                    \
    if (ITEM % 32 < 5)                                                                                \
      asm volatile("v_readlane_b32 s60, v60, 7\n" combine                                             \
                   "v_writelane_b32 v61, s60, 3\n s_mov_b32 s60, 0\n v_readlane_b32 s60, v61, 3\n"     \
                   "s_mov_b32 s61, exec_lo\n s_and_b32 exec_lo, exec_lo, s60\n"                       \
                   "s_cbranch_execz 1f\n v_mov_b32 %0, 7\n1:\n s_mov_b32 exec_lo, s61"                 \
                   : "+v"(value)::"s60", "s61", "v60", "v61", "scc");                                 \
    to[ITEM] = value;                                                                                 \
  }
SPILLED(spilled_mask, "s_nop 0\n")
SPILLED(spilled_mask_safe, "s_or_b32 s60, s60, exec_lo\n")

// The first lane of a row has nothing to read, and keeps what the register held.
#define OLD_VALUE(name, before, more)                                                                 \
  KERNEL name(int* to, const int*) {                                                                  \
    int index;                                                                                        \
    asm volatile(before "v_mov_b32_dpp v77, %1 row_shr:1 row_mask:0xf bank_mask:0xf" more "\n"        \
                 "v_and_b32 %0, 15, v77" : "=v"(index) : "v"(ITEM) : "v77");                          \
    to[index] = ITEM;                                                                                 \
  }
OLD_VALUE(dpp_old, "", "")
OLD_VALUE(dpp_old_safe, "v_mov_b32 v77, 0\n", "")
OLD_VALUE(dpp_zero, "", "")
OLD_VALUE(dpp_zero_safe, "", " bound_ctrl:0")

// A selection of the first source, which each lane has from its neighbour; lanes of one parity have something there.
#define SELECTED(name, parity)                                                                        \
  KERNEL name(int* to, const int*) {                                                                  \
    int index;                                                                                        \
    if (ITEM % 2 == 1) asm volatile("v_mov_b32 v77, 3" ::: "v77");                                    \
    asm volatile("s_mov_b32 vcc_lo, 0\n"                                                              \
                 "v_cndmask_b32_dpp v78, v77, %1, vcc_lo quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n" \
                 "v_and_b32 %0, 15, v78" : "=v"(index) : "v"(ITEM) : "v77", "v78", "vcc");            \
    if (ITEM % 2 == (parity)) to[index] = ITEM;                                                       \
  }
SELECTED(dpp_selected, 1)
SELECTED(dpp_selected_safe, 0)

// One operand is VCC, which the instruction does not name.
#define SCALED(name, vcc)                                                                             \
  KERNEL name(int* to, const int*) {                                                                  \
    int index;                                                                                        \
    asm volatile("s_mov_b32 vcc_lo, " vcc "\n v_div_fmas_f32 v77, %1, %1, %1\n v_and_b32 %0, 15, v77"  \
                 : "=v"(index) : "v"(ITEM) : "v77", "vcc", "s66");                                    \
    to[index] = ITEM;                                                                                 \
  }
SCALED(by_vcc, "s66")
SCALED(by_vcc_safe, "0")

// One instruction exchanges two dwords with LDS; only one of its two registers was written.
#define EXCHANGED(name, written)                                                                      \
  KERNEL name(int* to, const int*) {                                                                  \
    __shared__ int tile[128];                                                                         \
    tile[ITEM] = tile[ITEM + 64] = 5;                                                                 \
    __syncthreads();                                                                                  \
    int index;                                                                                        \
    asm volatile("v_mov_b32 " written ", 3\n ds_wrxchg2_rtn_b32 v[74:75], %1, v76, v77 offset1:64\n"   \
                 "ds_read_b32 %0, %1 offset:256\n s_waitcnt lgkmcnt(0)"                                \
                 : "=&v"(index)                                                                       \
                 : "v"(static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile + ITEM)))               \
                 : "v74", "v75", "v76", "v77", "memory");                                             \
    to[index & 31] = ITEM;                                                                            \
  }
EXCHANGED(exchanged_second, "v76")
EXCHANGED(exchanged_second_safe, "v77")

PAIR(as_index_by_lds, const int,
     __shared__ int tile[64];
     const auto place = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile + ITEM % 64));
     int index;
     asm volatile("s_mov_b64 s[40:41], %2\n s_mov_b32 s42, 256\n s_mov_b32 s43, 0x31014fac\n s_mov_b32 m0, 0\n"
                  "buffer_load_dword %1, s[40:43], 0 offen lds\n s_waitcnt vmcnt(0)\n s_and_b32 s40, 0, 0\n"
                  "v_and_b32 v20, 127, %1\n ds_read_b32 %0, v20\n s_waitcnt lgkmcnt(0)"
                  : "=v"(index) : "v"(place), "s"(from) : "v20", "s40", "s41", "s42", "s43", "scc", "memory");
     to[index & 31] = ITEM;)

// ---- right code that looks wrong ----

struct Padded {
  double value;
  int count;  // and 4 bytes that nobody writes
};
KERNEL copy_padded(Padded* to, const Padded* from) { to[ITEM] = from[ITEM]; }
KERNEL make_padded(Padded* to, int count) {
  to[ITEM].value = count;
  to[ITEM].count = count;
}
KERNEL use_padded(int* to, const Padded* from) { to[from[ITEM].count & 31] = ITEM; }
KERNEL half_of_it(short* to, const int* from) {
  if (ITEM < 33) to[ITEM] = static_cast<short>(from[ITEM]);
}
KERNEL read_halves(int* to, const short* from) {
  if (ITEM < 33) to[from[ITEM] & 31] = ITEM;
}
