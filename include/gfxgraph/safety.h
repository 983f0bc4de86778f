/* gfxgraph: what proves that a pool (gfxgraph/production.h) ran what it should.
 *
 *   gfxgraph_pool_lint          what a capture of the pool's function bakes in, and should not
 *   gfxgraph_pool_options_t.safety   what is checked while the pool runs
 *   gfxgraph_pool_fingerprint   device, runtime, code and steps as a text, to compare later pools
 *   gfxgraph_pool_report        what ran, as JSON
 */
#ifndef GFXGRAPH_SAFETY_H
#define GFXGRAPH_SAFETY_H

#include <gfxgraph/production.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- levels ----------------------------------------------------------------------------------
 * Each has what those before it have. */
enum {
  GFXGRAPH_SAFETY_OFF = 0,
  /* Each capture of a bucket gets a hash of its sequence: kernels, grids, arguments, copies,
   * memsets and their order, with addresses as the place in memory that they point to. A later
   * capture of the bucket with another hash is counted, and told in gfxgraph_pool_report. */
  GFXGRAPH_SAFETY_IDENTITY = 1,
  /* gfxgraph_pool_options_t.fingerprint is compared: gfxgraph_pool_create returns
   * GFXGRAPH_MISMATCH if device, runtime or driver is another one, and a bucket that the
   * fingerprint has, with other code or another sequence, falls to the function
   * (GFXGRAPH_FALL_FINGERPRINT). */
  GFXGRAPH_SAFETY_FINGERPRINT = 2,
  /* Runs are validated beside the function: every validate_every-th; 0 means each. */
  GFXGRAPH_SAFETY_SHADOW = 3,
  /* What would fall, is due and cannot be compared, or differs, is an error of the run, which names
   * it: GFXGRAPH_MISMATCH, and the function is not called in place of the step. So is a later
   * capture with another hash, and one that the fingerprint does not have. A bucket that gave up a
   * way returns the error in each run until gfxgraph_pool_recapture. A first run beside another
   * thread's capture that does not end: GFXGRAPH_NOT_READY. A run whose outputs differ has those of
   * the function. Not with GFXGRAPH_BEYOND_WORK and GFXGRAPH_WAY_WORK, which run no
   * step. */
  GFXGRAPH_SAFETY_STRICT = 4
};

/* Texts as in gfxgraph/production.h. */

/* Device, runtime and driver, and code and sequence of each bucket that is captured. Needs
 * GFXGRAPH_SAFETY_IDENTITY for the buckets. The same program on the same machine writes the
 * same. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_fingerprint(gfxgraph_pool_t pool, char* text,
                                                         uint64_t capacity,
                                                         uint64_t* size) GFXGRAPH_NOEXCEPT;
/* JSON, as docs/schemas/pool.json: runs by way, falls by reason, validations by result, hashes of
 * sequence, code and outputs of each bucket, and whether all of it is clean: no run fell, failed or
 * differed, and no capture was another one than before. Waits for no run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_report(gfxgraph_pool_t pool, char* text,
                                                    uint64_t capacity,
                                                    uint64_t* size) GFXGRAPH_NOEXCEPT;

/* ---- lint ----------------------------------------------------------------------------------- */

/* What differs between two captures of one bucket, so that a step of either is wrong in the place
 * of the other. */
enum {
  GFXGRAPH_BAKED_NUMBER = 1,   /* a word of a kernel's arguments */
  GFXGRAPH_BAKED_ADDRESS = 2,  /* the same, which points to other memory or another place in it */
  GFXGRAPH_BAKED_GRID = 3,     /* grid, block or dynamic LDS of a launch */
  GFXGRAPH_BAKED_COPY = 4,     /* place or size of a copy */
  GFXGRAPH_BAKED_FILL = 5,     /* place, size or value of a memset */
  GFXGRAPH_BAKED_BYTES = 6,    /* what a copy took from plain host memory */
  GFXGRAPH_BAKED_SEQUENCE = 7, /* the captures are not the same kernels, copies and memsets in the
                                  same order: nothing else could be compared */
  GFXGRAPH_BAKED_KINDS = 8
};
typedef struct gfxgraph_baked_t {
  uint32_t kind;         /* GFXGRAPH_BAKED_... */
  uint32_t argument;     /* of the kernel, from 0; UINT32_MAX: none */
  uint64_t work;         /* number in the step, from 0, among launches, copies, memsets, graphs */
  uint32_t offset_bytes; /* of the word in the kernarg segment */
  uint32_t size_bytes;   /* of the word; of _BYTES: of the copy */
  int64_t first;         /* in the first capture; of an address: the offset in its memory */
  int64_t second;
  char
      place[160]; /* "attention argument 'length' at 0x18"; ends with a zero, cut if it is longer */
  char text[352]; /* all of it, with both values and what to do */
} gfxgraph_baked_t;

/* Makes ready what differs between two runs, before the first capture (`which` 0) and before the
 * second one (1): the values of the host that the function reads, and if wished the bucket's
 * buffers, which hold zeros before the first one, by asynchronous work on the call's stream. That
 * work is not captured. Returns 0, or a status of the caller's, which gfxgraph_pool_lint returns.
 */
typedef int32_t (*gfxgraph_vary_t)(void* context, uint32_t which, const gfxgraph_call_t* call);

typedef struct gfxgraph_lint_t {
  uint32_t struct_size;
  uint32_t bucket;      /* its number */
  void* hip_stream;     /* as of a run */
  gfxgraph_vary_t vary; /* NULL: nothing is made to differ; what the function itself counts does */
  void* vary_context;
} gfxgraph_lint_t;
GFXGRAPH_API gfxgraph_lint_t gfxgraph_lint_default(void) GFXGRAPH_NOEXCEPT;

/* Captures the function twice over the buffers of a bucket, compares the two word by word, and
 * gives up both: the bucket's step, way and counts stay as they are. The work is done twice;
 * declared states are put back, other memory that the work changes is not. Waits for the stream.
 * `baked` receives at most `capacity` findings, each `item_bytes` apart
 * (sizeof(gfxgraph_baked_t)); `count` how many there are. GFXGRAPH_OK: there are none.
 * GFXGRAPH_MISMATCH: there are, and the text has the first. Other errors: those of a capture; the
 * status of the function, unchanged; GFXGRAPH_OUT_OF_MEMORY: no room for the bucket's buffers or
 * for a copy of the states. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_lint(gfxgraph_pool_t pool, const gfxgraph_lint_t* lint,
                                                  gfxgraph_baked_t* baked, uint32_t capacity,
                                                  uint32_t item_bytes,
                                                  uint32_t* count) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_SAFETY_H */
