/* gfxgraph: pools of decode steps. A decode step of an inference engine works on one token of each
 * sequence of a batch, and finds the earlier ones in blocks of a cache: it needs the length of each
 * sequence and the table of its blocks. A step that was captured with these as arguments repeats
 * the lengths of the capture. So they stand at fixed addresses: each bucket has an array of lengths
 * and a block table, each run copies its own there, and kernels read them.
 *
 *   gfxgraph_decode_pool_create   a gfxgraph_pool_t with buckets by batch and, if wished, by the
 *                                 longest sequence
 *   gfxgraph_decode_run           in place of gfxgraph_pool_run
 *   gfxgraph_pool_lint            (gfxgraph/safety.h) what a capture of the function bakes in
 *
 * All other functions of gfxgraph/production.h take such a pool, whose rules apply. Rows of padding
 * have the length 0 and a block table of zeros: kernels must do nothing for them.
 */
#ifndef GFXGRAPH_DECODE_H
#define GFXGRAPH_DECODE_H

#include <gfxgraph/production.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gfxgraph_decode_options_t {
  uint32_t struct_size;
  uint32_t max_blocks; /* of one sequence: the columns of the block table; not 0 */
  /* Tokens in a block. Lengths from the host beyond max_blocks * block_tokens are refused; 0: they
   * are not checked for that. */
  uint32_t block_tokens;
  uint32_t max_length_count;
  /* Buckets by the longest sequence of a run, for each size: ascending, none twice; copied. Say a
   * kernel splits its work by it: gfxgraph_call_t.max_length is that of the bucket. NULL: one for
   * all, whose max_length is 0. Bucket number b + l * size_count has the b-th size and the l-th
   * length. */
  const uint64_t* max_lengths;
} gfxgraph_decode_options_t;
GFXGRAPH_API gfxgraph_decode_options_t gfxgraph_decode_options_default(void) GFXGRAPH_NOEXCEPT;

/* `options`: as of gfxgraph_pool_create; sizes are batches, in sequences; there may be no tensors.
 * The function gets gfxgraph_call_t.lengths and .block_table beside the tensors. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_decode_pool_create(const gfxgraph_pool_options_t* options,
                                                           const gfxgraph_decode_options_t* decode,
                                                           gfxgraph_pool_t* pool) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_decode_run_t {
  uint32_t struct_size;
  uint32_t timed;      /* as in gfxgraph_pool_run_t, and so memory and hip_stream */
  uint64_t batch;      /* sequences, from 1 */
  void* const* memory; /* of the tensors: `batch` rows each; NULL if the pool has none */
  void* hip_stream;
  const int32_t* lengths;     /* [batch]: tokens of each sequence, from 0 */
  const int32_t* block_table; /* [batch][block_columns] */
  uint32_t block_columns;     /* 0: max_blocks; fewer only from the host: the others become 0 */
  /* 0: both are host memory of any kind, checked, and free when the call returns: they are copied
   * to pinned memory of the bucket, which has room for 4 to 8 runs in flight; then a run waits for
   * earlier ones. 1: memory that kernels reach, which belongs to the run as that of tensors
   * does, and is not checked. */
  uint32_t on_device;
  /* At least the longest sequence. Needed if the pool has max_lengths and `on_device` is 1; from
   * the host 0 means the longest of them. */
  uint64_t max_length;
} gfxgraph_decode_run_t;
GFXGRAPH_API gfxgraph_decode_run_t gfxgraph_decode_run_default(void) GFXGRAPH_NOEXCEPT;

/* As gfxgraph_pool_run. Errors besides: GFXGRAPH_INVALID_ARGUMENT, which names the sequence: a
 * length is negative, or beyond max_length or the block table. GFXGRAPH_UNSUPPORTED: the pool is no
 * decode pool; or values of the host in a run that is larger than the largest bucket
 * (GFXGRAPH_BEYOND_WORK), which has no memory for them. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_decode_run(gfxgraph_pool_t pool, const gfxgraph_decode_run_t* run,
                    gfxgraph_pool_result_t* result) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_DECODE_H */
