/* Hooks for the calls that are passed on but not recorded (policy UNSUPPORTED): no signature is
   needed. Each one loads its row's index; the common part keeps every register that may hold an argument
   (System V AMD64 ABI, 3.2.3), lets the recorder note the call, and jumps to the real function. */

    .text
    .p2align 4
    .hidden gfxgraph_note_unsupported
    .type gfxgraph_trampoline, @function
gfxgraph_trampoline:
    .cfi_startproc
    endbr64
    subq $200, %rsp
    .cfi_adjust_cfa_offset 200
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r10, 56(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movl %r11d, %edi
    call gfxgraph_note_unsupported
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 56(%rsp), %r10
    movups 64(%rsp), %xmm0
    movups 80(%rsp), %xmm1
    movups 96(%rsp), %xmm2
    movups 112(%rsp), %xmm3
    movups 128(%rsp), %xmm4
    movups 144(%rsp), %xmm5
    movups 160(%rsp), %xmm6
    movups 176(%rsp), %xmm7
    addq $200, %rsp
    .cfi_adjust_cfa_offset -200
    jmp *%r11
    .cfi_endproc
    .size gfxgraph_trampoline, . - gfxgraph_trampoline

#include "base/dlsym_hook.inc"

#define HOOK_RECORD(name)
#define HOOK_CONDITIONAL(name)
#define HOOK_PASS(name)
#define HOOK_UNSUPPORTED(name) \
    .globl name; .p2align 4; .type name, @function; \
    name: .cfi_startproc; endbr64; movl $call_index, %r11d; jmp gfxgraph_trampoline; .cfi_endproc; \
    .size name, . - name;
#define GFXGRAPH_HIP_CALL(policy, name) HOOK_##policy(name) .set call_index, call_index + 1;

    .set call_index, 0
#include "recorder/hip_calls.inc"

    .section .note.GNU-stack, "", @progbits
