/* Hooks that need no signature. A call that is passed on costs two loads while nothing is held or looked for; otherwise
   the common part tells the holder (lookup.cpp), and jumps to the runtime's function: the caller's stack arguments
   stay where they are. */
#include "base/process/dlsym_hook.inc"
#include "base/process/trampoline.inc"

    .text
    .p2align 4
    .hidden gfxgraph_accelerate_enter
    .hidden gfxgraph_accelerate_failed
    .hidden gfxgraph_accelerate_real
    .hidden gfxgraph_accelerate_attention
    .type gfxgraph_accelerate_trampoline, @function
gfxgraph_accelerate_trampoline:
    .cfi_startproc
    gfxgraph_keep_arguments 192
    movl %r11d, %edi
    movq 8(%rbp), %rsi
    call gfxgraph_accelerate_enter
    movq %rax, %r11
    movl %edx, %r10d
    gfxgraph_restore_arguments
    gfxgraph_leave_frame
    testl %r10d, %r10d
    jnz 1f
    jmp *%r11
    /* CHECK: its result counts. Such calls have no argument on the stack. */
1:  subq $24, %rsp
    .cfi_adjust_cfa_offset 24
    call *%r11
    testl %eax, %eax
    jz 2f
    movl %eax, 8(%rsp)
    call gfxgraph_accelerate_failed
    movl 8(%rsp), %eax
2:  addq $24, %rsp
    .cfi_adjust_cfa_offset -24
    ret
    .cfi_endproc
    .size gfxgraph_accelerate_trampoline, . - gfxgraph_accelerate_trampoline

    gfxgraph_lookup_hook dlsym, gfxgraph_accelerate_dlsym

/* Always told. */
#define TOLD(name) gfxgraph_hook name, gfxgraph_accelerate_trampoline;
/* Told while something is held or looked for. */
#define TOLD_IF_HELD(name) \
    .globl name; .p2align 4; .type name, @function; \
    name: .cfi_startproc; endbr64; cmpl $0, gfxgraph_accelerate_attention(%rip); jne 1f; \
    movq gfxgraph_accelerate_real + 8 * call_index(%rip), %r11; testq %r11, %r11; jz 1f; jmp *%r11; \
    1: movl $call_index, %r11d; jmp gfxgraph_accelerate_trampoline; .cfi_endproc; \
    .size name, . - name;
#define HOOK_HOOK(name) .set index_of_##name, call_index;
#define HOOK_PASS(name)
#define HOOK_FLUSH(name) TOLD_IF_HELD(name)
#define HOOK_CHECK(name) TOLD_IF_HELD(name)
#define HOOK_KERNELS(name) TOLD(name)
#define HOOK_DROP(name) TOLD(name)
#define HOOK_RESET(name) TOLD(name)
#define HOOK_STOP(name) TOLD(name)
#define GFXGRAPH_ACCELERATE_CALL(rule, name) HOOK_##rule(name) .set call_index, call_index + 1;
#define GFXGRAPH_ACCELERATE_END(kind, name) TOLD(name) .set call_index, call_index + 1;

    .set call_index, 0
#include "accelerate/hooks/calls.inc"
#include "accelerate/hooks/ends.inc"

/* Launches while none is looked at: a counter of the thread, and a jump. Each 65,536th one, and all others, go to the
   hook proper. */
    .macro launch_hook name, index, hook
    .globl \name
    .p2align 4
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    cmpb $0, gfxgraph_accelerate_resting(%rip)
    je 1f
    movq gfxgraph_accelerate_unseen@gottpoff(%rip), %r11
    incw %fs:(%r11)
    jz 1f
    movq gfxgraph_accelerate_real + 8 * \index(%rip), %r11
    testq %r11, %r11
    jz 1f
    jmp *%r11
1:  jmp \hook
    .cfi_endproc
    .size \name, . - \name
    .endm
    .hidden gfxgraph_accelerate_resting
    .hidden gfxgraph_accelerate_unseen
    .hidden gfxgraph_accelerate_launch_kernel
    .hidden gfxgraph_accelerate_launch_function
    launch_hook hipLaunchKernel, index_of_hipLaunchKernel, gfxgraph_accelerate_launch_kernel
    launch_hook hipModuleLaunchKernel, index_of_hipModuleLaunchKernel, gfxgraph_accelerate_launch_function

    .section .note.GNU-stack, "", @progbits
