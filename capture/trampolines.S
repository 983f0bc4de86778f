/* Hooks that need no signature: calls that are passed on as they are, or refused. Each loads its index; the common
   part keeps the registers that may hold an argument (System V AMD64 ABI, 3.2.3), asks which function to go on with
   (lookup.cpp), and jumps there: the caller's stack arguments stay where they are, and nothing comes back here. */

    .text
    .p2align 4
    .hidden gfxgraph_capture_enter
    .type gfxgraph_capture_trampoline, @function
gfxgraph_capture_trampoline:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    /* The integer arguments as an array that rises, with what lies on the stack reachable by the frame. */
    movq %rdi, -192(%rbp)
    movq %rsi, -184(%rbp)
    movq %rdx, -176(%rbp)
    movq %rcx, -168(%rbp)
    movq %r8, -160(%rbp)
    movq %r9, -152(%rbp)
    movq %rax, -144(%rbp)
    movups %xmm0, -128(%rbp)
    movups %xmm1, -112(%rbp)
    movups %xmm2, -96(%rbp)
    movups %xmm3, -80(%rbp)
    movups %xmm4, -64(%rbp)
    movups %xmm5, -48(%rbp)
    movups %xmm6, -32(%rbp)
    movups %xmm7, -16(%rbp)
    movl %r11d, %edi
    leaq -192(%rbp), %rsi
    leaq 16(%rbp), %rdx
    call gfxgraph_capture_enter
    movq %rax, %r11
    movq -192(%rbp), %rdi
    movq -184(%rbp), %rsi
    movq -176(%rbp), %rdx
    movq -168(%rbp), %rcx
    movq -160(%rbp), %r8
    movq -152(%rbp), %r9
    movq -144(%rbp), %rax
    movups -128(%rbp), %xmm0
    movups -112(%rbp), %xmm1
    movups -96(%rbp), %xmm2
    movups -80(%rbp), %xmm3
    movups -64(%rbp), %xmm4
    movups -48(%rbp), %xmm5
    movups -32(%rbp), %xmm6
    movups -16(%rbp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc
    .size gfxgraph_capture_trampoline, . - gfxgraph_capture_trampoline

#include "base/process/dlsym_hook.inc"
    gfxgraph_lookup_hook dlsym, gfxgraph_capture_dlsym

#define HOOK_HOOK(name)
#define HOOK_UNSAFE(name) \
    .globl name; .p2align 4; .type name, @function; \
    name: .cfi_startproc; endbr64; movl $call_index, %r11d; jmp gfxgraph_capture_trampoline; .cfi_endproc; \
    .size name, . - name;
#define HOOK_LEGACY(name) HOOK_UNSAFE(name)
#define HOOK_DEVICE(name) HOOK_UNSAFE(name)
#define HOOK_STREAM(name) HOOK_UNSAFE(name)
#define HOOK_GRAPH(name) HOOK_UNSAFE(name)
#define HOOK_EXEC(name) HOOK_UNSAFE(name)
#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) HOOK_##rule(name) .set call_index, call_index + 1;

    .set call_index, 0
#include "capture/calls.inc"

    .section .note.GNU-stack, "", @progbits
