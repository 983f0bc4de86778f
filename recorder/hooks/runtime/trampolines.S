#include "base/process/dlsym_hook.inc"
#include "base/process/trampoline.inc"
#include "recorder/hooks/runtime/unknown_calls.h"

/* Hooks that need no signature: the calls that are passed on but not recorded (policy UNSUPPORTED), and the
   functions of the runtime that have no row. The common part calls the real function with the registers that may
   hold an argument and a copy of the caller's stack arguments, then hands its result to the recorder: a call that
   HIP refused changed nothing. A jump instead of a call would need no copy, but would not come back.

   STACK_ARGUMENTS is four times what the longest of these calls has (hipMemcpy3DBatchAsync, extents by value). */

#define STACK_ARGUMENTS 128
#define FRAME (208+STACK_ARGUMENTS)

    .text
    .p2align 4
    .hidden gfxgraph_enter_passed_call
    .hidden gfxgraph_leave_passed_call
    .type gfxgraph_trampoline, @function
gfxgraph_trampoline:
    .cfi_startproc
    gfxgraph_keep_arguments FRAME
    movq %r10, -200(%rbp)
    movq %r11, -208(%rbp)
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
    gfxgraph_restore_arguments
    movq -200(%rbp), %r10
    call *%r11
    movq %rax, -192(%rbp)
    movq %rdx, -184(%rbp)
    movups %xmm0, -128(%rbp)
    movups %xmm1, -112(%rbp)
    movl -208(%rbp), %edi
    movl %eax, %esi
    call gfxgraph_leave_passed_call
    movq -192(%rbp), %rax
    movq -184(%rbp), %rdx
    movups -128(%rbp), %xmm0
    movups -112(%rbp), %xmm1
    gfxgraph_leave_frame
    ret
    .cfi_endproc
    .size gfxgraph_trampoline, . - gfxgraph_trampoline

    gfxgraph_lookup_hook dlsym, gfxgraph_resolve_dlsym
    gfxgraph_lookup_hook dlvsym, gfxgraph_resolve_dlvsym

#define HOOK_RECORD(name)
#define HOOK_CONDITIONAL(name)
#define HOOK_PASS(name)
#define HOOK_UNSUPPORTED(name) gfxgraph_hook name, gfxgraph_trampoline;
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
