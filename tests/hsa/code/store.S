// A kernel that stores 42, for a target that the command line names (TARGET), with or without a
// list of printf's formats (PRINTF).
.text
.globl store
.p2align 8
.type store,@function
store:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_mov_b32 v0, 0
  v_mov_b32 v1, 42
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.size store, . - store
.rodata
.p2align 6
.amdhsa_kernel store
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: TARGET
#ifdef PRINTF
amdhsa.printf: ["1:1:4:%d\\n"]
#endif
amdhsa.kernels:
  - .name: store
    .symbol: store.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args:
      - .name: pointer
        .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: generic
...
.end_amdgpu_metadata
