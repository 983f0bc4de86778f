// One kernel per way in which code is reached, for coverage_test.cpp.
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
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 40
    .amdhsa_float_denorm_mode_32 3
  .end_amdhsa_kernel
.endm
begin plain
  s_cbranch_vccz 1f
  v_mov_b32 v0, 1
1:
  s_endpgm
  image_load_pck v0, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D  // behind the end
end plain

begin branch_to_missing
  s_cbranch_execz 1f
  s_endpgm
1:
  image_load_pck v0, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_endpgm
end branch_to_missing

begin calls_missing
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, has_missing@rel32@lo+4
  s_addc_u32 s5, s5, has_missing@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
end calls_missing

begin calls_noreturn
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, stops@rel32@lo+4
  s_addc_u32 s5, s5, stops@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  .long 0xffffffff
end calls_noreturn

begin missing_behind_call
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, returns@rel32@lo+4
  s_addc_u32 s5, s5, returns@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  image_load_pck v0, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_endpgm
end missing_behind_call

// A long jump back, with both signs of the distance handled as Tensile's kernels do.
begin long_jump
  s_branch 2f
1:
  image_load_pck v0, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_endpgm
2:
  s_getpc_b64 s[4:5]
3:
  s_mov_b32 s6, 1b-3b
  s_cmp_ge_i32 s6, 0
  s_cbranch_scc1 4f
  s_abs_i32 s6, s6
  s_sub_u32 s4, s4, s6
  s_subb_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
4:
  s_add_u32 s4, s4, s6
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
end long_jump

begin function_pointer
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
end function_pointer

begin runs_off
  v_mov_b32 v0, 1
  .long 0xbf9f0000  // s_code_end
end runs_off

begin illegal
  .long 0xffffffff
  s_endpgm
end illegal

begin sets_mode
  s_movk_i32 s4, 0x3f
  s_setreg_b32 hwreg(HW_REG_MODE), s4
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s5
  s_endpgm
end sets_mode

begin sets_other_mode
  s_mov_b32 s4, 0x800000
  s_setreg_b32 hwreg(HW_REG_MODE), s4
  s_endpgm
end sets_other_mode

begin may_set_other_mode
  s_setreg_b32 hwreg(HW_REG_MODE), s4
  s_endpgm
end may_set_other_mode

.text
.p2align 8
has_missing:
  image_load_pck v0, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D
  s_setpc_b64 s[30:31]
stops:
  s_trap 2
  .long 0xffffffff
// Calls another function itself: the return address goes through a vector register.
returns:
  v_writelane_b32 v4, s30, 0
  v_writelane_b32 v4, s31, 1
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, leaf@rel32@lo+4
  s_addc_u32 s5, s5, leaf@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  v_readlane_b32 s30, v4, 0
  v_readlane_b32 s31, v4, 1
  s_setpc_b64 s[30:31]
leaf:
  s_mov_b64 s[6:7], s[30:31]
  s_setpc_b64 s[6:7]

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--gfx1030
amdhsa.kernels:
  - {.name: plain, .symbol: plain.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: branch_to_missing, .symbol: branch_to_missing.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: calls_missing, .symbol: calls_missing.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: calls_noreturn, .symbol: calls_noreturn.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: missing_behind_call, .symbol: missing_behind_call.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: long_jump, .symbol: long_jump.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: function_pointer, .symbol: function_pointer.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: runs_off, .symbol: runs_off.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: illegal, .symbol: illegal.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: sets_mode, .symbol: sets_mode.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: sets_other_mode, .symbol: sets_other_mode.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
  - {.name: may_set_other_mode, .symbol: may_set_other_mode.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 40, .vgpr_count: 8, .max_flat_workgroup_size: 256}
...
.end_amdgpu_metadata
