/* gfxgraph: several sets of arguments for one step. Steps that are the same work over other buffers
 * or of other sizes (a decode step for 1, 2, 4 and 8 sequences, say) need not have code, graphs and
 * packets of their own: capture each once, keep what it is set to, and let one step run them all.
 * Part of gfxgraph.h, which includes this file; its rules for errors, ownership and threads apply.
 *
 *   gfxgraph_sets_create   for a step
 *   gfxgraph_sets_keep     what a step of the same work is set to, for work of a size
 *   gfxgraph_sets_use      sets the step to the smallest kept set that is large enough
 *   gfxgraph_step_run
 */
#ifndef GFXGRAPH_SETS_H
#define GFXGRAPH_SETS_H

#include <gfxgraph/gfxgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gfxgraph_sets_s* gfxgraph_sets_t;

/* `max_bytes`: of host memory; what was not used for longest is dropped beyond it. 0: no limit. The
 * calls below return GFXGRAPH_INVALID_ARGUMENT when the step is destroyed. Not thread-safe, and not
 * while the step is used. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_sets_create(gfxgraph_step_t step, uint64_t max_bytes,
                                                    gfxgraph_sets_t* sets) GFXGRAPH_NOEXCEPT;
/* The step stays as it is set. Takes NULL. */
GFXGRAPH_API void gfxgraph_sets_destroy(gfxgraph_sets_t sets) GFXGRAPH_NOEXCEPT;

/* Keeps what `other` is set to now, for work of `size` items (of what, the caller knows), in place
 * of an earlier set of this size. `other` is the sets' own step, or one with the same kernels,
 * copies and fills in the same order on one device; it may be destroyed afterwards, its captured
 * trace and session live on. Sizes of launches may differ; inputs and outputs stay those of the
 * sets' step, so that their sizes must not. Waits for `other`'s work.
 * GFXGRAPH_UNSUPPORTED: they are not the same work, and the message has the first difference; or
 * the set alone is beyond `max_bytes`. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_sets_keep(gfxgraph_sets_t sets, uint64_t size,
                                                  gfxgraph_step_t other) GFXGRAPH_NOEXCEPT;
/* The next runs of the step are those of the smallest set of at least `size`, whose size goes to
 * `chosen` (may be NULL). Memory that the program freed since makes them refuse, as those of the
 * step that it was kept from. GFXGRAPH_NOT_FOUND: there is none, or it was dropped.
 * GFXGRAPH_UNSUPPORTED: memory was bound in that step's session since. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_sets_use(gfxgraph_sets_t sets, uint64_t size,
                                                 uint64_t* chosen) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_sets_info_t {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t sets;
  uint64_t bytes;   /* of host memory */
  uint64_t used;    /* how often one was */
  uint64_t missed;  /* how often there was none */
  uint64_t dropped; /* for want of bytes */
  uint64_t items;   /* the sizes that were asked for, of those that there were, summed */
  uint64_t padding; /* what the chosen sets have beyond them: wasted work is padding / (items +
                       padding) */
} gfxgraph_sets_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_sets_info(gfxgraph_sets_t sets,
                                                  gfxgraph_sets_info_t* info) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_SETS_H */
