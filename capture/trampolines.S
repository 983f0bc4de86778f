/* Hooks that need no signature: calls that are passed on as they are, or refused. The common part asks which function
   to go on with (lookup.cpp), and jumps there: the caller's stack arguments stay where they are, and nothing comes
   back here. */
#include "base/process/dlsym_hook.inc"
#include "base/process/trampoline.inc"

    .text
    .p2align 4
    .hidden gfxgraph_capture_enter
    .type gfxgraph_capture_trampoline, @function
gfxgraph_capture_trampoline:
    .cfi_startproc
    gfxgraph_keep_arguments 192
    movl %r11d, %edi
    leaq -192(%rbp), %rsi
    leaq 16(%rbp), %rdx
    call gfxgraph_capture_enter
    movq %rax, %r11
    gfxgraph_restore_arguments
    gfxgraph_leave_frame
    jmp *%r11
    .cfi_endproc
    .size gfxgraph_capture_trampoline, . - gfxgraph_capture_trampoline

#ifndef GFXGRAPH_WITHOUT_LOOKUPS /* a sanitizer looks up functions of its own before it can run ours */
    gfxgraph_lookup_hook dlsym, gfxgraph_capture_dlsym
#endif

#define HOOK_HOOK(name)
#define HOOK_UNSAFE(name) gfxgraph_hook name, gfxgraph_capture_trampoline;
#define HOOK_LEGACY(name) HOOK_UNSAFE(name)
#define HOOK_DEVICE(name) HOOK_UNSAFE(name)
#define HOOK_STREAM(name) HOOK_UNSAFE(name)
#define HOOK_GRAPH(name) HOOK_UNSAFE(name)
#define HOOK_EXEC(name) HOOK_UNSAFE(name)
#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) HOOK_##rule(name) .set call_index, call_index + 1;

    .set call_index, 0
#include "capture/calls.inc"

    .section .note.GNU-stack, "", @progbits
