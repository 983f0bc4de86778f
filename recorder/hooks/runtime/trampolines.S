#include "recorder/hooks/runtime/unknown_calls.h"

/* Hooks that need no signature: the calls that are passed on but not recorded (policy UNSUPPORTED), and the
   functions of the runtime that have no row. Each one loads its index; the common part calls the real function
   with the registers that may hold an argument (System V AMD64 ABI, 3.2.3) and a copy of the caller's stack
   arguments, then hands its result to the recorder: a call that HIP refused changed nothing. A jump instead of
   a call would need no copy, but would not come back.

   STACK_ARGUMENTS is four times what the longest of these calls has (hipMemcpy3DBatchAsync, extents by value). */

#define STACK_ARGUMENTS 128

    .text
    .p2align 4
    .hidden gfxgraph_enter_passed_call
    .hidden gfxgraph_leave_passed_call
    .type gfxgraph_trampoline, @function
gfxgraph_trampoline:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $208 + STACK_ARGUMENTS, %rsp
    movq %rdi, -8(%rbp)
    movq %rsi, -16(%rbp)
    movq %rdx, -24(%rbp)
    movq %rcx, -32(%rbp)
    movq %r8, -40(%rbp)
    movq %r9, -48(%rbp)
    movq %rax, -56(%rbp)
    movq %r10, -64(%rbp)
    movq %r11, -72(%rbp)
    movups %xmm0, -96(%rbp)
    movups %xmm1, -112(%rbp)
    movups %xmm2, -128(%rbp)
    movups %xmm3, -144(%rbp)
    movups %xmm4, -160(%rbp)
    movups %xmm5, -176(%rbp)
    movups %xmm6, -192(%rbp)
    movups %xmm7, -208(%rbp)
    movl %r11d, %edi
    movq 8(%rbp), %rsi
    call gfxgraph_enter_passed_call
    movq %rax, %r11
    .set at, 0
    .rept STACK_ARGUMENTS / 16
    movups 16 + at(%rbp), %xmm0
    movups %xmm0, at(%rsp)
    .set at, at + 16
    .endr
    movq -8(%rbp), %rdi
    movq -16(%rbp), %rsi
    movq -24(%rbp), %rdx
    movq -32(%rbp), %rcx
    movq -40(%rbp), %r8
    movq -48(%rbp), %r9
    movq -56(%rbp), %rax
    movq -64(%rbp), %r10
    movups -96(%rbp), %xmm0
    movups -112(%rbp), %xmm1
    movups -128(%rbp), %xmm2
    movups -144(%rbp), %xmm3
    movups -160(%rbp), %xmm4
    movups -176(%rbp), %xmm5
    movups -192(%rbp), %xmm6
    movups -208(%rbp), %xmm7
    call *%r11
    movq %rax, -8(%rbp)
    movq %rdx, -16(%rbp)
    movups %xmm0, -96(%rbp)
    movups %xmm1, -112(%rbp)
    movl -72(%rbp), %edi
    movl %eax, %esi
    call gfxgraph_leave_passed_call
    movq -8(%rbp), %rax
    movq -16(%rbp), %rdx
    movups -96(%rbp), %xmm0
    movups -112(%rbp), %xmm1
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size gfxgraph_trampoline, . - gfxgraph_trampoline

#include "base/process/dlsym_hook.inc"
    gfxgraph_lookup_hook dlsym, gfxgraph_resolve_dlsym
    gfxgraph_lookup_hook dlvsym, gfxgraph_resolve_dlvsym

#define HOOK_RECORD(name)
#define HOOK_CONDITIONAL(name)
#define HOOK_PASS(name)
#define HOOK_UNSUPPORTED(name) \
    .globl name; .p2align 4; .type name, @function; \
    name: .cfi_startproc; endbr64; movl $call_index, %r11d; jmp gfxgraph_trampoline; .cfi_endproc; \
    .size name, . - name;
#define GFXGRAPH_HIP_CALL(policy, name, ...) HOOK_##policy(name) .set call_index, call_index + 1;

    .set call_index, 0
#include "recorder/hooks/calls/hip_calls.inc"

/* The functions without a row take the indices behind the table, 16 bytes of code each. */
    .globl gfxgraph_unknown_hooks
    .hidden gfxgraph_unknown_hooks
    .type gfxgraph_unknown_hooks, @function
    .p2align 4
gfxgraph_unknown_hooks:
    .rept GFXGRAPH_UNKNOWN_CALLS
    .cfi_startproc
    endbr64
    movl $call_index, %r11d
    jmp gfxgraph_trampoline
    .p2align 4
    .cfi_endproc
    .set call_index, call_index + 1
    .endr
    .size gfxgraph_unknown_hooks, . - gfxgraph_unknown_hooks

    .section .note.GNU-stack, "", @progbits
