// Kernels of which each one misses a wait, with a twin (_safe) that does not, for coverage_waits_test.cpp.
// tests/check/kernels/waits.hip has those within one function of a kernel.
.amdgcn_target "amdgcn-amd-amdhsa--gfx1030"

.macro begin name
  .text
  .globl \name
  .p2align 8
  .type \name,@function
\name:
.endm
.macro end name
  .size \name, . - \name
  .section .rodata
  .p2align 6
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr 24
    .amdhsa_next_free_sgpr 40
    .amdhsa_float_denorm_mode_32 3
  .end_amdhsa_kernel
.endm
.macro call name
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, \name@rel32@lo+4
  s_addc_u32 s5, s5, \name@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
.endm
.macro function name
  .text
  .p2align 8
  .type \name,@function
\name:
.endm

// ---- calls and jumps through registers ----
function uses_v5
  v_add_nc_u32 v6, v5, v5
  s_setpc_b64 s[30:31]
function waits_for_v5
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_add_nc_u32 v6, v5, v5
  s_setpc_b64 s[30:31]
function leaves_v7
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  global_load_dword v7, v[0:1], off
  s_setpc_b64 s[30:31]
function loads_v7
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  global_load_dword v7, v[0:1], off
  s_waitcnt vmcnt(0)
  s_setpc_b64 s[30:31]

begin argument
  global_load_dword v5, v[0:1], off
  call uses_v5
  s_endpgm
end argument
begin argument_safe
  global_load_dword v5, v[0:1], off
  call waits_for_v5
  s_endpgm
end argument_safe
begin result
  call leaves_v7
  s_endpgm
end result
begin result_safe
  call loads_v7
  v_mov_b32 v8, v7
  s_endpgm
end result_safe
begin long_jump
  global_load_dword v5, v[0:1], off
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, 64
  s_addc_u32 s7, s7, 0
  s_setpc_b64 s[6:7]
  s_endpgm
  .fill 12, 4, 0xbf800000
  v_mov_b32 v6, v5
  s_endpgm
end long_jump
begin long_jump_safe
  global_load_dword v5, v[0:1], off
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, 64
  s_addc_u32 s7, s7, 0
  s_setpc_b64 s[6:7]
  s_endpgm
  .fill 12, 4, 0xbf800000
  s_waitcnt vmcnt(0)
  v_mov_b32 v6, v5
  s_endpgm
end long_jump_safe

// ---- operations that overtake each other ----
begin sampled
  image_load v5, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D
  image_sample v5, v[0:1], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_endpgm
end sampled
begin sampled_safe
  image_load v5, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D
  global_load_dword v5, v[0:1], off
  image_sample v6, v[0:1], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_endpgm
end sampled_safe
// LDS and GDS are counted by lgkmcnt, each in its own order.
begin global_share
  ds_add_rtn_u32 v5, v0, v1 gds
  ds_read_b32 v6, v0
  s_waitcnt lgkmcnt(1)
  v_mov_b32 v7, v5
  s_endpgm
end global_share
begin global_share_safe
  ds_add_rtn_u32 v5, v0, v1 gds
  ds_read_b32 v6, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v7, v5
  s_endpgm
end global_share_safe
begin read_late
  ds_add_u32 v0, v1 gds
  v_mov_b32 v1, 0
  s_endpgm
end read_late
begin read_late_safe
  ds_add_u32 v0, v1 gds
  s_waitcnt expcnt(0)
  v_mov_b32 v1, 0
  s_endpgm
end read_late_safe

// ---- counts ----
begin too_many
  global_load_dword v5, v[0:1], off
  global_load_dword v6, v[0:1], off
  global_load_dword v7, v[0:1], off
  s_waitcnt vmcnt(2)
  v_mov_b32 v8, v6
  s_endpgm
end too_many
begin too_many_safe
  global_load_dword v5, v[0:1], off
  global_load_dword v6, v[0:1], off
  global_load_dword v7, v[0:1], off
  s_waitcnt vmcnt(1)
  v_mov_b32 v8, v6
  s_endpgm
end too_many_safe

// ---- branches by one condition ----
// Loads that are skipped, and later a jump past the wait, where a register is 0; the fault: another register.
.macro prefetch other
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 1f
  global_load_dword v5, v[0:1], off
1:
  v_mov_b32 v6, 0
  s_cmp_lg_u32 \other, 0
  s_cbranch_scc0 2f
  s_waitcnt vmcnt(0)
2:
  v_mov_b32 v5, v6
  s_endpgm
.endm
begin other_condition
  prefetch s3
end other_condition
begin other_condition_safe
  prefetch s2
end other_condition_safe

// ---- acquire ----
begin acquired
  global_load_dword v5, v[0:1], off glc dlc
  buffer_gl1_inv
  buffer_gl0_inv
  s_endpgm
end acquired
begin acquired_safe
  global_load_dword v5, v[0:1], off glc dlc
  s_waitcnt vmcnt(0)
  buffer_gl1_inv
  buffer_gl0_inv
  s_endpgm
end acquired_safe

// ---- what is not analysed ----
begin unknown_jump
  s_setpc_b64 s[2:3]
end unknown_jump
begin exports
  exp mrt0 v0, v1, v2, v3 done vm
  s_endpgm
end exports
begin counts_by_register
  s_waitcnt_vmcnt s4, 0x0
  s_endpgm
end counts_by_register
begin not_code
  .long 0xffffffff
end not_code

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--gfx1030
amdhsa.kernels:
  - {.name: argument, .symbol: argument.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: argument_safe, .symbol: argument_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: result, .symbol: result.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: result_safe, .symbol: result_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: long_jump, .symbol: long_jump.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: long_jump_safe, .symbol: long_jump_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: sampled, .symbol: sampled.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: sampled_safe, .symbol: sampled_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: global_share, .symbol: global_share.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: global_share_safe, .symbol: global_share_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: read_late, .symbol: read_late.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: read_late_safe, .symbol: read_late_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: too_many, .symbol: too_many.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: too_many_safe, .symbol: too_many_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: other_condition, .symbol: other_condition.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: other_condition_safe, .symbol: other_condition_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: acquired, .symbol: acquired.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: acquired_safe, .symbol: acquired_safe.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: unknown_jump, .symbol: unknown_jump.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: exports, .symbol: exports.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: counts_by_register, .symbol: counts_by_register.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
  - {.name: not_code, .symbol: not_code.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 24, .max_flat_workgroup_size: 256}
...
.end_amdgpu_metadata
