/* gfxgraph: the order that the work of a step needs, by proof, in place of the recorded one. A
 * stream is a chain, though most launches do not touch what the one before them touched. `gfxgraph
 * info TRACE --order -o FILE` finds what each launch can access by its kernel's code, and writes
 * which earlier work each needs; docs/production/order.md has the rules. The rules of gfxgraph.h
 * for errors, ownership and threads apply.
 *
 *   gfxgraph_session_use_order   before the steps are created
 *   gfxgraph_step_create         in mode graph, packets or auto
 *   gfxgraph_step_order_info     which order it keeps, and why
 */
#ifndef GFXGRAPH_ORDER_H
#define GFXGRAPH_ORDER_H

#include <gfxgraph/gfxgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Steps that are created from now on keep the order of such a file in modes graph and packets;
 * eager and batch keep the recorded one. `bytes`: those of the file; they are copied, and believed
 * as the trace is. NULL: the recorded order. Loads the session.
 *
 * The proof is one for the recorded arguments and sizes. A step of which others are set, or whose
 * buffers share bytes that they did not share when recorded, keeps the recorded order from then on:
 * the call that applies the change (run, commit) builds it anew, and the log has the reason.
 *
 * GFXGRAPH_CORRUPT, GFXGRAPH_VERSION: not such a file. GFXGRAPH_INVALID_ARGUMENT: of another trace,
 * or of this one with other words taken as pointers. GFXGRAPH_UNSUPPORTED: the session packs its
 * memory, or its device needs other code than was analysed. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_use_order(gfxgraph_session_t session,
                                                          const void* bytes,
                                                          uint64_t size_bytes) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_order_info_t {
  uint32_t struct_size;
  uint32_t proven;    /* 1: its runs keep the proven order; 0: the recorded one */
  const char* reason; /* why the recorded one; NULL: no other was asked for, or the mode has none */
  uint64_t edges_recorded; /* pairs of operations of which one waits for the other, reduced; 0 where
                              no other order was asked for */
  uint64_t edges_needed;   /* of those that are kept now */
  uint64_t packets;        /* mode packets: of a run */
  uint64_t barriers;       /* of them with the barrier bit */
} gfxgraph_order_info_t;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_step_order_info(gfxgraph_step_t step, gfxgraph_order_info_t* info) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_ORDER_H */
