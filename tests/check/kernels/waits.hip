// Loads in inline assembly, whose registers are used with and without a wait. Each gets a buffer and a number.
#include <hip/hip_runtime.h>

#define LANE static_cast<int>(threadIdx.x)
#define KERNEL(name, text)                                                                                     \
  extern "C" __global__ void name(int* to, int number) {                                                       \
    int value = number;                                                                                        \
    const int* at = to + LANE;                                                                                 \
    asm volatile(text "\n s_waitcnt vmcnt(0) lgkmcnt(0)"                                                       \
                 : "+v"(value)                                                                                 \
                 : "v"(at), "s"(to)                                                                            \
                 : "v20", "v21", "v22", "s40", "s41", "s42", "s43", "scc", "vcc", "memory");                   \
    to[LANE] = value;                                                                                          \
  }

#define LOAD(to) "global_load_dword " to ", %1, off\n"
KERNEL(vector_load, LOAD("v20") "v_add_nc_u32 %0, v20, %0")
KERNEL(vector_load_safe, LOAD("v20") "s_waitcnt vmcnt(0)\n v_add_nc_u32 %0, v20, %0")
// The second of two loads is used after a wait for the first.
KERNEL(second_load, LOAD("v20") LOAD("v21") "s_waitcnt vmcnt(1)\n v_add_nc_u32 %0, v21, %0")
KERNEL(second_load_safe, LOAD("v20") LOAD("v21") "s_waitcnt vmcnt(1)\n v_add_nc_u32 %0, v20, %0")
// A store does not count.
KERNEL(behind_store, LOAD("v20") "global_store_dword %1, %0, off\n s_waitcnt vmcnt(1)\n v_add_nc_u32 %0, v20, %0")
KERNEL(behind_store_safe, LOAD("v20") "global_store_dword %1, %0, off\n s_waitcnt vmcnt(0)\n v_add_nc_u32 %0, v20, %0")
KERNEL(wrong_counter, LOAD("v20") "s_waitcnt lgkmcnt(0)\n v_add_nc_u32 %0, v20, %0")
KERNEL(wrong_counter_safe, LOAD("v20") "s_waitcnt_vmcnt null, 0x0\n v_add_nc_u32 %0, v20, %0")
KERNEL(overwritten, LOAD("v20") "v_mov_b32 v20, 1")
KERNEL(overwritten_safe, LOAD("v20") "s_waitcnt vmcnt(0)\n v_mov_b32 v20, 1")
KERNEL(scalar_load, "s_load_dword s40, %2, 0x0\n v_add_nc_u32 %0, s40, %0")
KERNEL(scalar_load_safe, "s_load_dword s40, %2, 0x0\n s_waitcnt lgkmcnt(0)\n v_add_nc_u32 %0, s40, %0")
// Scalar loads arrive in any order.
KERNEL(first_scalar, "s_load_dword s40, %2, 0x0\n s_load_dword s41, %2, 0x4\n s_waitcnt lgkmcnt(1)\n s_add_u32 s42, s40, s40")
KERNEL(first_scalar_safe, "s_load_dword s40, %2, 0x0\n s_load_dword s41, %2, 0x4\n s_waitcnt lgkmcnt(0)\n s_add_u32 s42, s40, s40")
KERNEL(lds_load, "v_mov_b32 v22, 0\n ds_bpermute_b32 v20, v22, %0\n v_add_nc_u32 %0, v20, %0")
KERNEL(lds_load_safe, "v_mov_b32 v22, 0\n ds_bpermute_b32 v20, v22, %0\n s_waitcnt lgkmcnt(0)\n v_add_nc_u32 %0, v20, %0")
KERNEL(chained, "v_mov_b32 v22, 0\n ds_bpermute_b32 v20, v22, %0\n ds_bpermute_b32 v20, v20, %0")
KERNEL(chained_safe, "v_mov_b32 v22, 0\n ds_bpermute_b32 v20, v22, %0\n s_waitcnt lgkmcnt(0)\n ds_bpermute_b32 v20, v20, %0")
KERNEL(stored, LOAD("v20") "global_store_dword %1, v20, off")
KERNEL(stored_safe, LOAD("v20") "s_waitcnt vmcnt(0)\n global_store_dword %1, v20, off")
KERNEL(atomic_result, "v_mov_b32 v22, 1\n global_atomic_add v20, %1, v22, off glc\n v_add_nc_u32 %0, v20, %0")
KERNEL(atomic_result_safe, "v_mov_b32 v22, 1\n global_atomic_add %1, v22, off\n v_add_nc_u32 %0, v20, %0")
// Around a loop: what its last round loaded is used in the next one.
KERNEL(loop, "s_mov_b32 s40, 3\n v_mov_b32 v20, 0\n"
             "1: v_add_nc_u32 %0, v20, %0\n" LOAD("v20") "s_sub_u32 s40, s40, 1\n s_cmp_lg_u32 s40, 0\n s_cbranch_scc1 1b")
KERNEL(loop_safe, "s_mov_b32 s40, 3\n v_mov_b32 v20, 0\n"
                  "1: s_waitcnt vmcnt(0)\n v_add_nc_u32 %0, v20, %0\n" LOAD("v20")
                  "s_sub_u32 s40, s40, 1\n s_cmp_lg_u32 s40, 0\n s_cbranch_scc1 1b")
// Code that no wave reaches.
KERNEL(not_reached, LOAD("v20") "s_cmp_eq_u32 0, 0\n s_cbranch_scc1 1f\n v_add_nc_u32 %0, v20, %0\n1: s_nop 0\n v_add_nc_u32 %0, v20, %0")
KERNEL(not_reached_safe, LOAD("v20") "s_cmp_eq_u32 0, 0\n s_cbranch_scc1 1f\n v_add_nc_u32 %0, v20, %0\n1: s_nop 0")

// Scalar loads overtake each other, and those of memory and LDS.
KERNEL(scalar_twice, "s_load_dword s40, %2, 0x0\n s_load_dword s40, %2, 0x4")
KERNEL(scalar_twice_safe, "s_load_dword s40, %2, 0x0\n s_waitcnt lgkmcnt(0)\n s_load_dword s40, %2, 0x4")
KERNEL(two_counters, LOAD("v20") "v_mov_b32 v22, 0\n ds_bpermute_b32 v20, v22, %0")
KERNEL(two_counters_safe, LOAD("v20") "v_mov_b32 v22, 0\n s_waitcnt vmcnt(0)\n ds_bpermute_b32 v20, v22, %0")

// ---- stores before barriers and fences, and loads to LDS ----
#define ORDER(name, text)                                                                                      \
  extern "C" __global__ void name(int* to, int number) {                                                       \
    __shared__ int tile[64];                                                                                   \
    const unsigned place = static_cast<unsigned>(reinterpret_cast<uintptr_t>(tile + LANE));                    \
    asm volatile(text "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_waitcnt_vscnt null, 0x0"                           \
                 :                                                                                             \
                 : "v"(place), "v"(number), "v"(to + LANE), "s"(to)                                            \
                 : "v20", "v21", "v22", "s40", "s41", "s42", "s43", "s44", "s45", "memory");                                         \
  }
#define TO_LDS                                                                                                 \
  "s_mov_b64 s[40:41], %3\n s_mov_b32 s42, 256\n s_mov_b32 s43, 0x31014fac\n s_mov_b32 m0, 0\n"                \
  "buffer_load_dword %0, s[40:43], 0 offen lds\n"

ORDER(lds_store, "ds_write_b32 %0, %1\n s_barrier")
ORDER(lds_store_safe, "ds_write_b32 %0, %1\n s_waitcnt lgkmcnt(0)\n s_barrier")
ORDER(lds_atomic, "ds_add_u32 %0, %1\n s_waitcnt vmcnt(0)\n s_barrier")
ORDER(lds_atomic_safe, "ds_add_u32 %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_barrier")
ORDER(memory_store, "global_store_dword %2, %1, off\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_barrier\n buffer_gl0_inv")
ORDER(memory_store_safe, "global_store_dword %2, %1, off\n s_waitcnt_vscnt null, 0x0\n s_barrier\n buffer_gl0_inv")
ORDER(fenced_store, "global_store_dword %2, %1, off\n s_waitcnt vmcnt(0) lgkmcnt(0)\n buffer_gl1_inv\n buffer_gl0_inv")
// An acquire does not wait for earlier stores.
ORDER(fenced_store_safe, "global_store_dword %2, %1, off\n global_load_dword v20, %2, off glc dlc\n"
                         "s_waitcnt vmcnt(0)\n buffer_gl1_inv\n buffer_gl0_inv")
ORDER(fenced_atomic, "global_atomic_add %2, %1, off\n s_waitcnt vmcnt(0) lgkmcnt(0)\n buffer_gl1_inv\n buffer_gl0_inv")
ORDER(fenced_atomic_safe, "global_atomic_add %2, %1, off\n global_load_dword v20, %2, off glc dlc\n"
                          "s_waitcnt vmcnt(0)\n buffer_gl1_inv\n buffer_gl0_inv\n global_atomic_add %2, %1, off\n"
                          "s_waitcnt_vscnt null, 0x0\n buffer_gl1_inv\n buffer_gl0_inv")
// An acquire waits for its own load.
ORDER(acquired_load, "global_load_dword v20, %2, off glc dlc\n buffer_gl1_inv\n buffer_gl0_inv")
ORDER(acquired_load_safe, "global_load_dword v20, %2, off glc dlc\n s_waitcnt vmcnt(0)\n buffer_gl1_inv\n buffer_gl0_inv")
ORDER(load_to_lds, TO_LDS "ds_read_b32 v20, %0")
ORDER(load_to_lds_safe, TO_LDS "s_waitcnt vmcnt(0)\n ds_read_b32 v20, %0")
// A FLAT load may be one from LDS, and lgkmcnt counts it, but not the load to LDS. Its addresses decide.
#define LDS_POINTER "s_mov_b64 s[44:45], src_shared_base\n v_mov_b32 v21, s45\n v_mov_b32 v20, %0\n"
ORDER(flat_load_of_lds, TO_LDS LDS_POINTER "s_waitcnt lgkmcnt(0)\n flat_load_dword v20, v[20:21]")
ORDER(flat_load_of_lds_safe, TO_LDS LDS_POINTER "s_waitcnt vmcnt(0)\n flat_load_dword v20, v[20:21]")
ORDER(flat_load_of_any, TO_LDS LDS_POINTER "flat_load_dword v22, %2\n flat_load_dword v20, v[20:21]")
ORDER(flat_load_of_any_safe, TO_LDS "flat_load_dword v22, %2\n global_load_dword v20, %2, off\n flat_store_dword %2, %1")
// What a FLAT load gets from LDS is counted by lgkmcnt; what it gets from memory, by vmcnt.
ORDER(flat_result_of_lds, LDS_POINTER "flat_load_dword v22, v[20:21]\n s_waitcnt vmcnt(0)\n v_mov_b32 v20, v22")
ORDER(flat_result_of_lds_safe, LDS_POINTER "flat_load_dword v22, v[20:21]\n s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v20, v22")
ORDER(flat_result, "flat_load_dword v22, %2\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v20, v22")
ORDER(flat_result_safe, "flat_load_dword v22, %2\n s_waitcnt vmcnt(0)\n v_mov_b32 v20, v22")

// The halves of a register that two D16 loads fill.
ORDER(half, "global_load_short_d16 v20, %2, off\n global_load_short_d16_hi v20, %2, off offset:2\n s_waitcnt vmcnt(1)\n"
            "global_store_short_d16_hi %2, v20, off")
ORDER(half_safe, "global_load_short_d16 v20, %2, off\n global_load_short_d16_hi v20, %2, off offset:2\n s_waitcnt vmcnt(1)\n"
                 "global_store_short %2, v20, off")
// The low half from memory, the upper one from LDS: neither load writes over the other.
ORDER(half_overtaken, "ds_write_b32 %0, %1\n global_load_short_d16 v20, %2, off\n ds_read_u16_d16 v20, %0")
ORDER(half_overtaken_safe, "ds_write_b32 %0, %1\n global_load_short_d16 v20, %2, off\n ds_read_u16_d16_hi v20, %0")
ORDER(whole_of_halves, "ds_write_b32 %0, %1\n global_load_short_d16 v20, %2, off\n ds_read_u16_d16_hi v20, %0\n"
                       "s_waitcnt vmcnt(0)\n v_mov_b32 v21, v20")
ORDER(whole_of_halves_safe, "ds_write_b32 %0, %1\n global_load_short_d16 v20, %2, off\n ds_read_u16_d16_hi v20, %0\n"
                            "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v21, v20")

// ---- exchanges between lanes ----
#define PAST(name, exchange, lane)                                                                             \
  extern "C" __global__ void name(int* to, int number) {                                                       \
    to[LANE] = __builtin_amdgcn_ds_##exchange(4 * (lane), LANE + number);                                      \
  }
PAST(read_past, bpermute, LANE % 32 ^ 32)
PAST(read_past_safe, bpermute, LANE % 32 ^ 16)
PAST(write_past, permute, LANE % 32 + 1)
PAST(write_past_safe, permute, (LANE + 1) % 32)
#define INACTIVE(name, before, after)                                                                          \
  extern "C" __global__ void name(int* to, int number) {                                                       \
    int value = LANE + number;                                                                                 \
    before;                                                                                                    \
    if (LANE % 32 < 20) {                                                                                      \
      after;                                                                                                   \
      to[LANE] = value;                                                                                        \
    }                                                                                                          \
  }
#define EXCHANGE value = __builtin_amdgcn_ds_bpermute(4 * (LANE % 32 ^ 16), value)
INACTIVE(read_inactive, , EXCHANGE)
INACTIVE(read_inactive_safe, EXCHANGE, )
#define MIRROR(more) asm volatile("v_mov_b32_dpp %0, %0 row_mirror row_mask:0xf bank_mask:0xf" more : "+v"(value))
INACTIVE(mirror_inactive, , MIRROR(""))
INACTIVE(mirror_inactive_safe, , MIRROR(" bound_ctrl:0"))
#define SWIZZLE value = __builtin_amdgcn_ds_swizzle(value, 0x401f)  // LANE ^ 16
INACTIVE(swizzle_inactive, , SWIZZLE)
INACTIVE(swizzle_inactive_safe, SWIZZLE, )
// number is 1.
#define ONE_LANE(name, text, lane)                                                                             \
  extern "C" __global__ void name(int* to, int number) {                                                       \
    int value = LANE;                                                                                          \
    asm volatile("v_mov_b32 v20, %1\n s_mov_b32 s40, %2\n s_nop 4\n" text "\n v_add_nc_u32 %0, s41, v20"       \
                 : "=v"(value)                                                                                 \
                 : "v"(value), "s"(lane)                                                                       \
                 : "v20", "s40", "s41");                                                                       \
    to[LANE] = value;                                                                                          \
  }
ONE_LANE(one_lane_past, "v_readlane_b32 s41, v20, s40", 31 + number)
ONE_LANE(one_lane_past_safe, "v_readlane_b32 s41, v20, s40", 30 + number)
ONE_LANE(put_lane_past, "s_mov_b32 s41, 1\n v_writelane_b32 v20, 7, s40", 31 + number)
ONE_LANE(put_lane_past_safe, "s_mov_b32 s41, 1\n v_writelane_b32 v20, 7, s40", 30 + number)
