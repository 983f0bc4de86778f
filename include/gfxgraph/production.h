/* gfxgraph: parts for services that run one kind of work at many sizes. Over gfxgraph.h, whose
 * rules for errors, structures, ownership and processes apply; include it beside gfxgraph.h.
 *
 * A pool holds captured steps (gfxgraph/capture.h) in buckets by size, say batches of 8, 32 and 128
 * rows. A run of n rows takes the smallest bucket that is large enough: its rows are copied into
 * the bucket's own buffers, the rest of them becomes zeros, the bucket's step runs, and the first n
 * rows of each output are copied to the caller's memory.
 *
 *   gfxgraph_pool_create   sizes, tensors, and a function of the caller that submits the work
 *   gfxgraph_pool_warm     captures every bucket now; otherwise the first run of each does
 *   gfxgraph_pool_run      n rows on a stream
 *   gfxgraph_pool_info     what was done, by bucket; gfxgraph_pool_metrics: the same as text
 *
 * Ways. A bucket runs its step as a graph; if that is impossible as a batch; then call by call
 * (eager); then the pool calls the caller's function again for each run. What one bucket gives up
 * changes no other bucket. Each run is counted by the way that it went, and by the reason if that
 * was not the first one. With GFXGRAPH_CHOOSE_MEASURED the first runs of a bucket take turns in all
 * ways that exist, and the next ones take the fastest.
 *
 * Validation. Every n-th run of a bucket may be compared with the function's own work.
 *
 * Capturing needs gfxgraph's hooks in the process (gfxgraph/capture.h). Without them the pool works
 * by the caller's function alone, and says so.
 *
 * Threads: any thread may call any function of a pool at any time, but gfxgraph_pool_create and
 * _destroy. Runs of different buckets are submitted concurrently; runs of one bucket follow each
 * other, on the host by the bucket's lock and on the device in the order of submission, whatever
 * their streams. A run waits on the host only for that lock; a bucket's first run holds it while
 * it captures. On HIP 5 runs of steps also take turns (kGraphKernelsMix in docs/runtime-quirks.md).
 *
 * A stream that a bucket ran on lives until the pool is destroyed, or until the bucket ran on
 * another one after it. hipStreamPerThread is refused: it names another stream in each thread, and
 * ends with that.
 */
#ifndef GFXGRAPH_PRODUCTION_H
#define GFXGRAPH_PRODUCTION_H

#include <gfxgraph/gfxgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gfxgraph_pool_s* gfxgraph_pool_t;

/* Elements of arrays by way, reason, result or type: there is room for later ones, which are 0. */
#define GFXGRAPH_KINDS 16

/* ---- what the pool runs --------------------------------------------------------------------- */

#define GFXGRAPH_TENSOR_INPUT 1u  /* copied in before the work, padded with zeros */
#define GFXGRAPH_TENSOR_OUTPUT 2u /* copied out after it; with _INPUT: both, in one buffer */
/* What numbers are, for gfxgraph_pool_options_t.validate_every. */
enum {
  GFXGRAPH_TYPE_BYTES = 0, /* integers and everything else: compared bit by bit */
  GFXGRAPH_TYPE_F16 = 1,
  GFXGRAPH_TYPE_BF16 = 2,
  GFXGRAPH_TYPE_F32 = 3,
  GFXGRAPH_TYPE_F64 = 4,
  GFXGRAPH_TYPES = 5
};
/* Rows without gaps: as many as the size of the run. */
typedef struct gfxgraph_tensor_t {
  const char* name;   /* for messages; NULL: its number */
  uint64_t row_bytes; /* not 0; whole numbers of `type` */
  uint32_t use;       /* GFXGRAPH_TENSOR_... */
  uint32_t type;      /* GFXGRAPH_TYPE_... */
} gfxgraph_tensor_t;

/* Device memory of the caller beside the tensors that the work changes from run to run, say a cache
 * of keys and values. A warm-up leaves it as it was. */
typedef struct gfxgraph_state_t {
  const char* name;  /* for messages; NULL: its number */
  void* memory;      /* lives as long as the pool */
  uint64_t bytes;    /* not 0; whole numbers of `type` */
  uint32_t type;     /* GFXGRAPH_TYPE_... */
  uint32_t reserved; /* zero */
} gfxgraph_state_t;

/* One call of the caller's function. */
typedef struct gfxgraph_call_t {
  uint32_t struct_size;
  uint32_t captured;   /* 1: what it submits becomes the bucket's step */
  uint64_t size;       /* in rows: all that the buffers have, padding included */
  void* const* memory; /* the device address of each tensor, in their order */
  void* hip_stream;
  /* Of decode pools (gfxgraph/decode.h), otherwise zero: the bucket's longest sequence, the lengths
   * [size] and the block table [size][max_blocks] in device memory. */
  uint64_t max_length;
  int32_t* lengths;
  int32_t* block_table;
} gfxgraph_call_t;
/* Submits the work for `size` rows to the stream. Returns 0, or a status of the caller's, which the
 * run returns unchanged. It is called by the thread that runs or warms the pool, by several threads
 * at once for different buckets, and must not throw, use the pool or run steps.
 * A step repeats what the captured call submitted: what the function read on the host is as it was
 * then. Values that change belong in an input. Memory beside the tensors may be used; once it is
 * freed, the bucket's step refuses and its runs go by the function. */
typedef int32_t (*gfxgraph_work_t)(void* context, const gfxgraph_call_t* call);
/* Does what the function's host did at a border of a bucket's step (gfxgraph/capture.h): where it
 * waited, got bytes of the device, or had a function called, and at each gfxgraph_capture_break.
 * All work before it has ended. `call`: as for the function, with the bucket's buffers and the
 * stream of the run; `captured` is 0. It may read and write memory and submit work to that stream,
 * by the thread that runs the pool. Not 0: the run ends there, and returns that status unchanged,
 * as that of the function; the bucket keeps its way. It must not throw, use the pool or run steps.
 */
typedef int32_t (*gfxgraph_pool_border_t)(void* context, const gfxgraph_border_t* border,
                                          const gfxgraph_call_t* call);

/* ---- ways and reasons ----------------------------------------------------------------------- */

enum {
  GFXGRAPH_WAY_GRAPH = 0,
  GFXGRAPH_WAY_BATCH = 1,
  GFXGRAPH_WAY_EAGER = 2,   /* the step, call by call: the run waits for its work */
  GFXGRAPH_WAY_WORK = 3,    /* the caller's function */
  GFXGRAPH_WAY_CAPTURE = 4, /* the caller's function, which was captured: the work is done once */
  GFXGRAPH_WAY_PACKETS = 5, /* AQL packets in a queue of the step; falls to the graph */
  GFXGRAPH_WAYS = 6
};

/* Why a way was given up. */
enum {
  GFXGRAPH_FALL_NONE = 0,
  GFXGRAPH_FALL_CAPTURE = 1,     /* the work could not be captured */
  GFXGRAPH_FALL_PREPARE = 2,     /* there is no step of it in this way */
  GFXGRAPH_FALL_RUN = 3,         /* a run of the step failed */
  GFXGRAPH_FALL_CAP = 4,         /* the bucket needs more than max_device_bytes leaves */
  GFXGRAPH_FALL_ALLOCATION = 5,  /* the device has no memory for the bucket */
  GFXGRAPH_FALL_BEYOND = 6,      /* more rows than the largest bucket has */
  GFXGRAPH_FALL_MEASURED = 7,    /* another way was faster; no run is counted under it */
  GFXGRAPH_FALL_FINGERPRINT = 8, /* what was captured is not what the saved fingerprint has */
  GFXGRAPH_FALLS = 9
};
/* "graph", "batch", "eager", "work", "capture", "packets"; "capture", "prepare", "run", "cap",
 * "allocation", "beyond", "measured", "fingerprint", "none". Never NULL. */
GFXGRAPH_API const char* gfxgraph_way_name(uint32_t way) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API const char* gfxgraph_fall_name(uint32_t fall) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_fall_t {
  uint32_t struct_size;
  uint32_t bucket;      /* its number, or GFXGRAPH_BUCKET_BEYOND */
  uint64_t bucket_size; /* in rows; 0: beyond */
  uint32_t way;         /* that was given up */
  uint32_t next_way;
  uint32_t fall; /* GFXGRAPH_FALL_... */
  uint32_t reserved;
  const char* text; /* the reason; during the call */
} gfxgraph_fall_t;
/* Called once for each way of a bucket that is given up or was found slower, and for the first run
 * beyond the largest bucket, by the thread that found it, within its call. Must not use the pool,
 * nor throw. */
typedef void (*gfxgraph_fell_t)(void* context, const gfxgraph_fall_t* fall);

/* ---- pool ----------------------------------------------------------------------------------- */

/* Runs of more rows than the largest bucket has. */
enum {
  GFXGRAPH_BEYOND_REFUSE = 0, /* GFXGRAPH_NOT_FOUND */
  GFXGRAPH_BEYOND_WORK = 1    /* the caller's function, over the caller's memory */
};

/* Which way a bucket takes. */
enum {
  GFXGRAPH_CHOOSE_FIRST = 0, /* first_way, or the next one that is possible */
  /* The first runs of a bucket take turns in the ways that exist, each in stream order and done
   * once, as any run; the next ones take the way whose median is the lowest. A run's cost is its
   * submit, or its time end to end if that is longer: what holds up a service is the slower of host
   * and device. A way is preferred to an earlier one of graph, batch, eager and packets only if it
   * is faster by more than the spread of both. While it is measured a bucket holds the steps of all
   * ways; runs that are call by call wait for their work. Measured again after
   * gfxgraph_pool_recapture, else never. A runtime without hipEventElapsedTime measures submits
   * alone, and only of ways that do not wait. */
  GFXGRAPH_CHOOSE_MEASURED = 1
};

typedef struct gfxgraph_pool_options_t {
  uint32_t struct_size;
  uint32_t size_count;
  const uint64_t* sizes;            /* of the buckets, in rows: ascending, none twice; copied */
  const gfxgraph_tensor_t* tensors; /* copied, with their names */
  uint32_t tensor_count;
  uint32_t first_way; /* of CHOOSE_FIRST: default _GRAPH; _WORK captures nothing; not _CAPTURE */
  gfxgraph_work_t work;
  void* work_context;
  gfxgraph_fell_t fell; /* may be NULL */
  void* fell_context;
  const char* name; /* a label of the metrics; NULL: "pool"; copied */
  uint32_t beyond;  /* GFXGRAPH_BEYOND_... */
  /* Every n-th run of a bucket is validated; 0, the default: none. The function does the same work
   * again over copies of the inputs and of `states`, and the outputs and states of both are
   * compared on the host. Where they differ, the run's outputs and the states are those of the
   * function. Such a run waits for its stream. It needs a second set of buffers, and two of
   * `states`, beneath max_device_bytes. */
  uint32_t validate_every;
  /* Of device memory for all buckets: their buffers, and what their steps allocate (memory that the
   * work allocates and frees). A bucket that needs more than is left is refused before it is
   * allocated or captured. Its runs call the function over the caller's memory, with the run's own
   * size. 0: no cap. */
  uint64_t max_device_bytes;
  /* To wait for a capture of another thread; 0: 10,000. A run that waited in vain goes by the
   * function, and the next one captures. */
  uint32_t capture_milliseconds;
  uint32_t state_count;
  /* Copied. With states, runs of all buckets are submitted one after the other; their order on the
   * device is the caller's matter. */
  const gfxgraph_state_t* states;
  /* By GFXGRAPH_TYPE_...: numbers are equal if |a - b| <= tolerance * max(1, |b|), b the
   * function's, or if both are NaN. Not of _BYTES. */
  double tolerance[GFXGRAPH_KINDS];
  uint32_t choose;       /* GFXGRAPH_CHOOSE_... */
  uint32_t measure_ways; /* bits 1u << GFXGRAPH_WAY_...: those that _MEASURED measures; 0: graph,
                            batch, eager and packets */
  uint32_t
      measure_runs; /* of each way, behind a first one that does not count; 0: 9; at most 1000 */
  /* 1: gfxgraph_pool_warm measures, over zeros, and waits for each of these runs. */
  uint32_t warm_measures;
  /* A bucket is refused that would leave more than this share of the device's memory in use, by
   * whatever process (hipMemGetInfo); 0.8, say. 0, the default: no such cap. */
  double max_device_share;
  uint32_t safety; /* GFXGRAPH_SAFETY_... (gfxgraph/safety.h) */
  /* 1: gfxgraph_pool_report has a hash of the outputs of each bucket. A run then waits for its
   * stream and reads its outputs. */
  uint32_t digest;
  /* What gfxgraph_pool_fingerprint wrote, to be compared with; copied. NULL: nothing is. Needs
   * GFXGRAPH_SAFETY_FINGERPRINT. */
  const char* fingerprint;
  /* Steps with borders need it: without it a bucket whose work has borders falls to the function
   * (GFXGRAPH_FALL_PREPARE). Runs with borders wait for their work there. */
  gfxgraph_pool_border_t border;
  void* border_context;
} gfxgraph_pool_options_t;
GFXGRAPH_API gfxgraph_pool_options_t gfxgraph_pool_options_default(void) GFXGRAPH_NOEXCEPT;

/* On the calling thread's current HIP device. Allocates nothing there yet. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_create(const gfxgraph_pool_options_t* options,
                                                    gfxgraph_pool_t* pool) GFXGRAPH_NOEXCEPT;
/* Waits for the pool's runs, not for other work of the device, and frees its memory. Takes NULL. */
GFXGRAPH_API void gfxgraph_pool_destroy(gfxgraph_pool_t pool) GFXGRAPH_NOEXCEPT;

/* Captures every bucket that has no step yet: calls the function once for each, whose work is done
 * over inputs of zeros. With states it copies these before, puts them back after, and waits for
 * that. It needs device memory for the copy, which max_device_bytes does not count; without it:
 * GFXGRAPH_OUT_OF_MEMORY, and nothing is called. A bucket whose function fails stays as it is, the
 * others are captured, and the first such status is returned. A bucket that cannot be captured is
 * no error: it falls. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_warm(gfxgraph_pool_t pool,
                                                  void* hip_stream) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_pool_run_t {
  uint32_t struct_size;
  uint32_t timed; /* 1: measure the time end to end (gfxgraph_bucket_info_t), with two events */
  uint64_t size;  /* in rows, from 1 */
  void* const* memory; /* of the caller, for each tensor: `size` rows to read, to write, or both */
  void* hip_stream;    /* NULL: HIP's null stream */
} gfxgraph_pool_run_t;
GFXGRAPH_API gfxgraph_pool_run_t gfxgraph_pool_run_default(void) GFXGRAPH_NOEXCEPT;

enum {
  GFXGRAPH_VALIDATION_NONE = 0, /* it was not due */
  GFXGRAPH_VALIDATION_EQUAL = 1,
  GFXGRAPH_VALIDATION_DIFFERENT = 2,  /* the run's results are those of the function */
  GFXGRAPH_VALIDATION_UNCOMPARED = 3, /* no step ran, or there was no room for other buffers */
  GFXGRAPH_VALIDATIONS = 4
};
typedef struct gfxgraph_pool_result_t {
  uint32_t struct_size;
  uint32_t way;         /* GFXGRAPH_WAY_... */
  uint32_t bucket;      /* its number, or GFXGRAPH_BUCKET_BEYOND */
  uint32_t fall;        /* why not the first way; GFXGRAPH_FALL_NONE: it was, or it was captured */
  uint64_t bucket_size; /* in rows; 0: beyond */
  int32_t work_status;  /* of the caller's function, or that at a border; 0 if it was not called */
  uint32_t validation;  /* GFXGRAPH_VALIDATION_... */
} gfxgraph_pool_result_t;
/* Submits one run behind what the stream holds. The caller's memory belongs to the run until the
 * stream has done its work. Kernels must reach it (device, managed or pinned memory): a bucket that
 * fell for want of memory, and GFXGRAPH_BEYOND_WORK, give it to the function. Allocates nothing and
 * waits for nothing in the ways graph and batch, once the bucket is captured.
 * `result` may be NULL; it is filled also if the function fails.
 * Errors: the status of the caller's function, unchanged, with work_status set to it; outputs
 * and states then are undefined. GFXGRAPH_NOT_FOUND: no bucket is large enough.
 * GFXGRAPH_UNSUPPORTED, and nothing is submitted: the stream is capturing, or the thread has a
 * capture open. Otherwise the copies or the step failed: where it is not certain that a failed step
 * submitted nothing, no other way repeats it in this run; the next runs take the next way. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_run(gfxgraph_pool_t pool,
                                                 const gfxgraph_pool_run_t* run,
                                                 gfxgraph_pool_result_t* result) GFXGRAPH_NOEXCEPT;

/* Gives up what the bucket has captured, its buffers and its reasons: the next run begins with the
 * first way again, say after memory that its step used was replaced. Waits for its runs. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_recapture(gfxgraph_pool_t pool,
                                                       uint32_t bucket) GFXGRAPH_NOEXCEPT;

/* ---- statistics -----------------------------------------------------------------------------
 * None of these waits for a run or stops one. Counts of one call may be of slightly different
 * moments while runs go on. */

/* In place of a bucket's number: runs of more rows than the largest bucket has; the whole pool. */
#define GFXGRAPH_BUCKET_BEYOND (UINT32_MAX - 1)
#define GFXGRAPH_BUCKET_ALL UINT32_MAX

/* Microseconds. Percentiles are at most 6.25 % above the true ones. */
typedef struct gfxgraph_latency_t {
  uint64_t count;
  double sum_us;
  double p50_us; /* 0 if there are none, and so the others */
  double p90_us;
  double p99_us;
  double max_us;
} gfxgraph_latency_t;

/* What was measured of a way: medians. A runtime that times no events: end_to_end_us is 0. */
typedef struct gfxgraph_way_figures_t {
  uint64_t runs;
  double submit_us;
  double end_to_end_us;
} gfxgraph_way_figures_t;
enum {
  GFXGRAPH_CHOICE_NONE = 0, /* the bucket's way was not measured */
  GFXGRAPH_CHOICE_OPEN = 1, /* it is to be, or is being measured */
  GFXGRAPH_CHOICE_MADE = 2
};

typedef struct gfxgraph_bucket_info_t {
  uint32_t struct_size;
  uint32_t way;  /* that the next run takes; _CAPTURE: it captures; of _ALL: the first way */
  uint64_t size; /* in rows; 0: beyond, or all */
  uint64_t device_bytes;         /* that it holds now */
  uint64_t runs[GFXGRAPH_KINDS]; /* that succeeded, by way */
  /* Runs that took another way than the first, by the reason why that was given up. */
  uint64_t falls[GFXGRAPH_KINDS];
  uint64_t captures;      /* that succeeded */
  uint64_t work_failures; /* runs and captures that ended with a status of the function */
  uint64_t failures;      /* runs that ended with another one, after a bucket was found */
  uint64_t rows;          /* of runs that succeeded; what was refused is in none of these */
  uint64_t padded_rows;
  uint64_t padded_bytes;                /* those rows, of all tensors */
  uint64_t validations[GFXGRAPH_KINDS]; /* runs that were due, by result */
  uint64_t untimed; /* runs with `timed` while four such runs of the bucket were in flight */
  gfxgraph_latency_t submit;     /* the call on the host, of runs that succeeded */
  gfxgraph_latency_t end_to_end; /* runs with `timed`: from where the stream reaches the run to the
                                    end of its copies, seen at the next timed run or info */
  uint32_t choice;               /* GFXGRAPH_CHOICE_...; of _ALL and _BEYOND: _NONE */
  uint32_t reserved;
  gfxgraph_way_figures_t figures[GFXGRAPH_KINDS]; /* by way; 0 until the choice is made */
  uint64_t max_length;                            /* of a bucket of a decode pool */
} gfxgraph_bucket_info_t;
/* `bucket` counts from 0 by size; also GFXGRAPH_BUCKET_BEYOND and _ALL. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_info(gfxgraph_pool_t pool, uint32_t bucket,
                                                  gfxgraph_bucket_info_t* info) GFXGRAPH_NOEXCEPT;

/* Texts go to the caller's memory with a terminating zero. `size` (may be NULL) receives their
 * length without it. GFXGRAPH_INVALID_ARGUMENT: `capacity` is too small; `size` is set and nothing
 * is written. */

/* Why the bucket gave up the way, or the measurement that it lost; "" if it did not. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_reason(gfxgraph_pool_t pool, uint32_t bucket,
                                                    uint32_t way, char* text, uint64_t capacity,
                                                    uint64_t* size) GFXGRAPH_NOEXCEPT;
/* The statistics of pools, each with another name, as one OpenMetrics text
 * (application/openmetrics-text; version=1.0.0). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pool_metrics(const gfxgraph_pool_t* pools, uint32_t count,
                                                     char* text, uint64_t capacity,
                                                     uint64_t* size) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_PRODUCTION_H */
