/* The exported functions: each row's name jumps to its wrapper and keeps all arguments. */

    .hidden gfxgraph_hip_error_wrappers

#define STUB(name) \
    .globl name; .p2align 4; .type name, @function; \
    name: .Lstub_##name: .cfi_startproc; endbr64; \
    jmp *gfxgraph_hip_error_wrappers + 8 * stub_index(%rip); .cfi_endproc; \
    .size name, . - name; .set stub_index, stub_index + 1;
#define GFXGRAPH_HIP_CALL(moment, name) STUB(name)
#define GFXGRAPH_HIP_OVERLOADED(moment, name, ...) STUB(name)
#define GFXGRAPH_HIP_UNDECLARED(moment, name, ...) STUB(name)
#define GFXGRAPH_HIP_OWN(name) STUB(name)

    .text
    .set stub_index, 0
#include "hsa/hip_errors/hip_errors.inc"

/* Also exported under its own name: the recorder, which has its own dlsym, calls this one next. */
#include "base/process/dlsym_hook.inc"
    gfxgraph_lookup_hook dlsym, gfxgraph_resolve_dlsym
    .globl gfxgraph_hip_errors_dlsym
    .type gfxgraph_hip_errors_dlsym, @function
    .set gfxgraph_hip_errors_dlsym, dlsym

#undef STUB
#define STUB(name) .quad .Lstub_##name;
    .section .data.rel.ro, "aw", @progbits
    .p2align 3
    .globl gfxgraph_hip_error_stubs
    .hidden gfxgraph_hip_error_stubs
    .type gfxgraph_hip_error_stubs, @object
gfxgraph_hip_error_stubs:
#include "hsa/hip_errors/hip_errors.inc"
    .size gfxgraph_hip_error_stubs, . - gfxgraph_hip_error_stubs

    .section .note.GNU-stack, "", @progbits
