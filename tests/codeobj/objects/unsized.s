// A kernel as Tensile writes them: a descriptor, but no sized function symbol.
.amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
.text
.globl unsized
.p2align 8
unsized:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  s_endpgm
// A function that kernels call: not in .dynsym.
.type helper,@function
helper:
  s_nop 0
  s_setpc_b64 s[30:31]
.size helper, . - helper
.rodata
.p2align 6
.amdhsa_kernel unsized
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 40
  .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--gfx1030
amdhsa.kernels:
  - .name: unsized
    .symbol: unsized.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 40
    .max_flat_workgroup_size: 256
    .args:
      - .name: pointer
        .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: generic
...
.end_amdgpu_metadata
