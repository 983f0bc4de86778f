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
