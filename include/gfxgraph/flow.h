/* gfxgraph: control flow over captured steps: branches, loops, compositions and pipelines. Over
 * gfxgraph.h and production.h, whose rules for errors, structures, ownership, processes, functions
 * of the caller (gfxgraph_work_t), ways and reasons apply.
 *
 *   branches      one of several pieces of work, chosen per run by the host or by the device
 *   loops         one piece, as often as the host says or while a flag of the device is set
 *   compositions  steps in sequence or beside each other, as one graph
 *   pipelines     one piece over several sets of buffers, whose runs overlap
 *
 * Work is a function of the caller, which is captured when it runs first and then repeated as a
 * graph, a batch or call by call; or a step that the caller captured. What cannot be captured, or
 * whose step fails, goes by the function, alone: nothing else changes its way, and it is counted
 * with the reason. A status of the function is the status of the run, unchanged.
 *
 * What the device decides is read by the host: a flag is an int32 in memory that the device
 * reaches. It is copied to pinned memory on the run's stream, and the call waits for that stream,
 * and for no other work. This is a border of the host, on every runtime: graphs with conditional
 * nodes are not used.
 *
 * Threads: any thread may call any function at any time, but those that create and destroy. Runs of
 * one piece of work are submitted one after the other and follow each other on the device, whatever
 * their streams. Streams of runs live until the handle is destroyed, or until the same work ran on
 * another one. hipStreamPerThread is refused. Runs on a stream that is captured, or by a thread
 * with a capture open, return GFXGRAPH_UNSUPPORTED and submit nothing.
 *
 * A handle belongs to the HIP device that was the thread's current one when it was created.
 * Destroying waits for its runs.
 */
#ifndef GFXGRAPH_FLOW_H
#define GFXGRAPH_FLOW_H

#include <gfxgraph/production.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gfxgraph_branches_s* gfxgraph_branches_t;
typedef struct gfxgraph_loop_s* gfxgraph_loop_t;
typedef struct gfxgraph_composition_s* gfxgraph_composition_t;
typedef struct gfxgraph_pipeline_s* gfxgraph_pipeline_t;

/* What a piece of work has done. Any thread reads it while runs go on. */
typedef struct gfxgraph_counts_t {
  uint64_t runs[GFXGRAPH_KINDS];  /* that succeeded, by way */
  uint64_t falls[GFXGRAPH_KINDS]; /* of these not by the first way, by the reason */
  uint64_t captures;              /* that succeeded */
  uint64_t work_failures;         /* runs that ended with a status of the function */
  uint64_t failures;              /* that ended with another error */
  gfxgraph_latency_t submit;      /* the call on the host, of runs that succeeded */
} gfxgraph_counts_t;

/* A piece of work: a function, a step, or a step with the function that does the same. The step is
 * the caller's: it lives as long as what it is given to, is used by nothing else meanwhile, and is
 * of a mode other than packets. It falls from its mode to the function. gfxgraph_call_t has size 0
 * and memory NULL, but for pipelines. A function that has no step yet is captured by the first run,
 * whose work is done once. */
typedef struct gfxgraph_piece_t {
  gfxgraph_work_t work; /* NULL: only the step */
  void* work_context;
  gfxgraph_step_t step; /* NULL: the function is captured */
  /* 1, with a step: before its n-th run, from 1, gfxgraph_step_advance(step, n) is called, so that
   * random state and other parameters go on from what the capture had. A run that fails, or falls,
   * counts, too. */
  uint32_t advances;
  uint32_t first_way; /* of a function: GFXGRAPH_WAY_GRAPH, the default, to _WORK */
} gfxgraph_piece_t;

/* ---- branches --------------------------------------------------------------------------------
 * One of several pieces of work per run. Each is captured when it is first chosen, and falls
 * alone. */

typedef struct gfxgraph_branch_t {
  const char* name; /* for messages and metrics; no two are equal; copied */
  int64_t value;    /* that chooses it; no two are equal */
  gfxgraph_piece_t piece;
} gfxgraph_branch_t;

/* In place of a branch's number. */
#define GFXGRAPH_BRANCH_NONE UINT32_MAX

typedef struct gfxgraph_branches_options_t {
  uint32_t struct_size;
  uint32_t branch_count;
  const gfxgraph_branch_t* branches; /* copied */
  uint32_t default_branch; /* by number: for values that no branch has; the default is _NONE: such a
                              run is an error */
  uint32_t capture_milliseconds; /* to wait for a capture of another thread; 0: 10,000 */
  const int32_t* flag; /* the value is read here, on the device, in each run; NULL: the host says */
  const char* name;    /* a label of the metrics; NULL: "branches"; copied */
} gfxgraph_branches_options_t;
GFXGRAPH_API gfxgraph_branches_options_t gfxgraph_branches_options_default(void) GFXGRAPH_NOEXCEPT;

GFXGRAPH_API gfxgraph_status_t gfxgraph_branches_create(
    const gfxgraph_branches_options_t* options, gfxgraph_branches_t* branches) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_branches_destroy(gfxgraph_branches_t branches) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_branches_result_t {
  uint32_t struct_size;
  uint32_t branch;     /* its number; GFXGRAPH_BRANCH_NONE: none was chosen */
  int64_t value;       /* that chose it: of the host, or what the flag held */
  uint32_t way;        /* GFXGRAPH_WAY_... */
  uint32_t fall;       /* GFXGRAPH_FALL_... */
  int32_t work_status; /* of the function; 0 if it was not called */
  uint32_t reserved;
} gfxgraph_branches_result_t;
/* Runs the branch of `value`, or of the flag, whose value then counts; `value` is 0 then.
 * GFXGRAPH_NOT_FOUND: no branch has the value, and there is no default; the text lists the branches
 * by name and value, and nothing is submitted. `result` may be NULL; it is filled also where this
 * fails. With a flag this waits for what the stream holds. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_branches_run(gfxgraph_branches_t branches, int64_t value, void* hip_stream,
                      gfxgraph_branches_result_t* result) GFXGRAPH_NOEXCEPT;
/* Captures each branch that is not captured yet. The work of each is done once, as by a run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_branches_warm(gfxgraph_branches_t branches,
                                                      void* hip_stream) GFXGRAPH_NOEXCEPT;
/* Gives up what was captured of a branch and its reasons: its next run begins anew. Waits for its
 * runs. GFXGRAPH_UNSUPPORTED for a step of the caller. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_branches_recapture(gfxgraph_branches_t branches,
                                                           uint32_t branch) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_branches_info_t {
  uint32_t struct_size;
  uint32_t way;           /* that the branch's next run takes */
  uint64_t unknown;       /* runs that found no branch, of all */
  uint64_t by_default;    /* runs that took the default branch for an unknown value, of all */
  uint64_t flag_reads;    /* of all */
  gfxgraph_counts_t runs; /* of the branch */
} gfxgraph_branches_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_branches_info(gfxgraph_branches_t branches, uint32_t branch,
                                                      gfxgraph_branches_info_t* info)
    GFXGRAPH_NOEXCEPT;
/* Why the branch gave up the way; "" if it did not. Texts as in production.h. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_branches_reason(gfxgraph_branches_t branches,
                                                        uint32_t branch, uint32_t way, char* text,
                                                        uint64_t capacity,
                                                        uint64_t* size) GFXGRAPH_NOEXCEPT;

/* ---- loops -----------------------------------------------------------------------------------
 * One piece of work again and again: so often as the host says, or while a flag of the device is
 * not zero. Runs of one loop follow each other, also on the host. */

typedef struct gfxgraph_loop_options_t {
  uint32_t struct_size;
  uint32_t capture_milliseconds; /* 0: 10,000 */
  gfxgraph_piece_t body;
  const int32_t* flag; /* NULL: the host says how often */
  /* With a flag: it is read before the first iteration, and then after each `read_every` ones. So
   * up to read_every - 1 iterations run after the one that made it zero: they must change nothing
   * then. The default is 1. */
  uint32_t read_every;
  uint32_t reserved;
  uint64_t max_iterations; /* of one run: not 0; the default is 1,000,000 */
  const char* name;        /* a label of the metrics; NULL: "loop"; copied */
} gfxgraph_loop_options_t;
GFXGRAPH_API gfxgraph_loop_options_t gfxgraph_loop_options_default(void) GFXGRAPH_NOEXCEPT;

GFXGRAPH_API gfxgraph_status_t gfxgraph_loop_create(const gfxgraph_loop_options_t* options,
                                                    gfxgraph_loop_t* loop) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_loop_destroy(gfxgraph_loop_t loop) GFXGRAPH_NOEXCEPT;

/* How a run of a loop ended. */
enum {
  GFXGRAPH_LOOP_COUNT = 0,  /* after as many iterations as the host said */
  GFXGRAPH_LOOP_FLAG = 1,   /* the flag was zero */
  GFXGRAPH_LOOP_LIMIT = 2,  /* the flag was not zero after max_iterations */
  GFXGRAPH_LOOP_FAILED = 3, /* an iteration failed, or reading the flag */
  GFXGRAPH_LOOP_ENDS = 4
};
/* "count", "flag", "limit", "failed". Never NULL. */
GFXGRAPH_API const char* gfxgraph_loop_end_name(uint32_t end) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_loop_result_t {
  uint32_t struct_size;
  uint32_t end;        /* GFXGRAPH_LOOP_... */
  uint64_t iterations; /* that were submitted without an error */
  uint64_t flag_reads;
  int32_t flag; /* as it was read last */
  uint32_t way; /* of the last iteration */
  uint32_t fall;
  int32_t work_status; /* of the function, in the last iteration */
} gfxgraph_loop_result_t;
/* Without a flag: `count` iterations, asynchronous in the ways graph and batch. With one, `count`
 * is 0; the call waits for the stream at each read. GFXGRAPH_NOT_READY: the flag is still not zero
 * after max_iterations, which were done. GFXGRAPH_INVALID_ARGUMENT: `count` is more than
 * max_iterations; nothing is submitted. An iteration that fails ends the run with its error.
 * `result` may be NULL; it is filled also where this fails. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_loop_run(gfxgraph_loop_t loop, uint64_t count,
                                                 void* hip_stream,
                                                 gfxgraph_loop_result_t* result) GFXGRAPH_NOEXCEPT;
/* Gives up what was captured and its reasons, as gfxgraph_branches_recapture. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_loop_recapture(gfxgraph_loop_t loop) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_loop_info_t {
  uint32_t struct_size;
  uint32_t way;                  /* that the next iteration takes */
  uint64_t runs[GFXGRAPH_KINDS]; /* by their end, GFXGRAPH_LOOP_... */
  uint64_t flag_reads;
  gfxgraph_counts_t iterations;
} gfxgraph_loop_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_loop_info(gfxgraph_loop_t loop,
                                                  gfxgraph_loop_info_t* info) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_loop_reason(gfxgraph_loop_t loop, uint32_t way, char* text,
                                                    uint64_t capacity,
                                                    uint64_t* size) GFXGRAPH_NOEXCEPT;

/* ---- compositions ----------------------------------------------------------------------------
 * Steps of the caller as one graph: one launch for all. The nodes of their graphs are put into one;
 * values that are set in a step (gfxgraph_step_set_parameter and the like) count in the
 * composition, too, from the next run on. */

typedef struct gfxgraph_part_t {
  gfxgraph_step_t step; /* in place, in mode graph; stays usable beside the composition */
  uint32_t stage; /* Ascending from one part to the next. Parts of one stage run beside each other;
                     all of a stage are done before the next one begins */
  uint32_t advances; /* as gfxgraph_piece_t.advances */
} gfxgraph_part_t;

typedef struct gfxgraph_composition_options_t {
  uint32_t struct_size;
  uint32_t part_count;
  const gfxgraph_part_t* parts; /* copied */
  uint32_t one_graph; /* 1: GFXGRAPH_UNSUPPORTED if it cannot be one graph; 0, the default: then its
                         steps run one after the other */
  uint32_t reserved;
  const char* name; /* a label of the metrics; NULL: "composition"; copied */
} gfxgraph_composition_options_t;
GFXGRAPH_API gfxgraph_composition_options_t gfxgraph_composition_options_default(void)
    GFXGRAPH_NOEXCEPT;

/* What steps of one stage do must not depend on the order between them: that is the caller's
 * matter, but two that gfxgraph knows to write the same buffer are refused, by
 * GFXGRAPH_INVALID_ARGUMENT, as are steps of several devices, and a step twice in one stage. The
 * composition keeps what it needs of its steps; destroying one of them first is allowed.
 * What cannot be part of one graph, and is then run in order: steps in other modes, steps with
 * borders or other acts of the host between their work, cooperative launches and partial
 * workgroups, and more nodes than a graph should have. The reason names the part. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_composition_create(const gfxgraph_composition_options_t* options,
                            gfxgraph_composition_t* composition) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_composition_destroy(gfxgraph_composition_t composition)
    GFXGRAPH_NOEXCEPT;

/* Submits all parts behind what the stream holds, asynchronous as gfxgraph_step_run. While it runs,
 * its steps belong to the calling thread. GFXGRAPH_NOT_FOUND: the program gave back memory that a
 * part uses; nothing was submitted. `one_graph` may be NULL: 1 if it ran as one graph. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_composition_run(gfxgraph_composition_t composition,
                                                        void* hip_stream,
                                                        uint32_t* one_graph) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_composition_info_t {
  uint32_t struct_size;
  uint32_t one_graph;    /* 1: the next run is one graph */
  uint64_t graph_runs;   /* that succeeded as one graph */
  uint64_t ordered_runs; /* that succeeded step by step */
  uint64_t failures;
  uint64_t builds; /* of the graph: the first, and those after changes that HIP cannot make in
                      an executable graph */
  uint64_t nodes;  /* of the graph */
  gfxgraph_latency_t submit;
} gfxgraph_composition_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_composition_info(
    gfxgraph_composition_t composition, gfxgraph_composition_info_t* info) GFXGRAPH_NOEXCEPT;
/* Why it is not one graph; "" if it is. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_composition_reason(gfxgraph_composition_t composition,
                                                           char* text, uint64_t capacity,
                                                           uint64_t* size) GFXGRAPH_NOEXCEPT;

/* ---- pipelines -------------------------------------------------------------------------------
 * One piece of work over several sets of buffers, each with a stream of its own, by turns: while
 * one run computes, the inputs of the next are copied in and the outputs of the one before it out.
 * Results come in the order of the runs. */

typedef struct gfxgraph_pipeline_options_t {
  uint32_t struct_size;
  uint32_t depth; /* sets of buffers: how many runs are in flight at most; from 1 to 16; the default
                     is 2 */
  uint64_t rows;  /* of each buffer; runs of fewer rows are padded with zeros; the default is 1 */
  const gfxgraph_tensor_t* tensors; /* copied, with their names */
  uint32_t tensor_count;
  uint32_t first_way;   /* GFXGRAPH_WAY_GRAPH, the default, to _WORK */
  gfxgraph_work_t work; /* gets the buffers of one set; captured once for each */
  void* work_context;
  uint64_t max_device_bytes;     /* for all buffers; 0: no cap */
  uint32_t capture_milliseconds; /* 0: 10,000 */
  /* 1: the work of a run begins when that of the run before it has ended, for work that changes
   * memory beside the tensors; copies still overlap. 0, the default: runs compute beside each
   * other. */
  uint32_t in_order;
  const char* name; /* a label of the metrics; NULL: "pipeline"; copied */
} gfxgraph_pipeline_options_t;
GFXGRAPH_API gfxgraph_pipeline_options_t gfxgraph_pipeline_options_default(void) GFXGRAPH_NOEXCEPT;

/* Allocates the buffers. GFXGRAPH_OUT_OF_MEMORY: they do not fit, or not beneath the cap. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_create(
    const gfxgraph_pipeline_options_t* options, gfxgraph_pipeline_t* pipeline) GFXGRAPH_NOEXCEPT;
/* Waits for all runs; results that nobody took are gone. */
GFXGRAPH_API void gfxgraph_pipeline_destroy(gfxgraph_pipeline_t pipeline) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_pipeline_run_t {
  uint32_t struct_size;
  uint32_t no_wait;    /* 1: GFXGRAPH_NOT_READY instead of waiting for a set of buffers */
  uint64_t size;       /* in rows, from 1 */
  void* const* memory; /* of the caller, for each tensor: `size` rows. It belongs to the run until
                          its result was taken. Copies of pageable memory may wait, so that runs do
                          not overlap: pinned or device memory does */
  uint32_t behind_stream; /* 1: the run begins behind what hip_stream holds now */
  uint32_t reserved;
  void* hip_stream;
} gfxgraph_pipeline_run_t;
GFXGRAPH_API gfxgraph_pipeline_run_t gfxgraph_pipeline_run_default(void) GFXGRAPH_NOEXCEPT;

/* Captures the work over each set of buffers now: calls the function once for each, whose work is
 * done over inputs of zeros, and waits for it. Otherwise the first run of each set captures, and
 * may wait for the device meanwhile: runs overlap when every set was captured. A set whose function
 * fails stays as it is, the others are captured, and the first such status is returned. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_warm(gfxgraph_pipeline_t pipeline)
    GFXGRAPH_NOEXCEPT;

/* Results that can wait for gfxgraph_pipeline_next. */
#define GFXGRAPH_PIPELINE_RESULTS 256

/* Submits a run. Waits, without `no_wait`, until the run that had the set of buffers before has
 * ended. `number` (may be NULL): of the run, from 0. A run whose submission fails has no number and
 * no result, and changes no other run; a status of the function comes back unchanged.
 * GFXGRAPH_NOT_READY: with no_wait, every set is in use; or GFXGRAPH_PIPELINE_RESULTS results are
 * not taken. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_submit(gfxgraph_pipeline_t pipeline,
                                                        const gfxgraph_pipeline_run_t* run,
                                                        uint64_t* number) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_pipeline_result_t {
  uint32_t struct_size;
  uint32_t way;
  uint64_t number; /* of the run */
  uint32_t fall;
  gfxgraph_status_t status; /* of the run, on the device */
} gfxgraph_pipeline_result_t;
/* Waits for the oldest run whose result was not taken; its outputs are complete then. Returns the
 * run's status; GFXGRAPH_NOT_FOUND, with number UINT64_MAX: all results were taken. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_next(
    gfxgraph_pipeline_t pipeline, gfxgraph_pipeline_result_t* result) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_pipeline_info_t {
  uint32_t struct_size;
  uint32_t in_flight;      /* runs that were submitted and not yet seen to end */
  uint32_t most_in_flight; /* at one time */
  uint32_t untaken;        /* results */
  uint64_t device_bytes;
  uint64_t waits;                /* submits that waited for a set of buffers */
  uint64_t refusals;             /* GFXGRAPH_NOT_READY */
  uint64_t device_errors;        /* runs that were submitted and failed on the device */
  gfxgraph_counts_t runs;        /* submissions, of all sets */
  gfxgraph_latency_t until_seen; /* from the submission of a run to where its end was seen */
} gfxgraph_pipeline_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_info(
    gfxgraph_pipeline_t pipeline, gfxgraph_pipeline_info_t* info) GFXGRAPH_NOEXCEPT;
/* Why a set of buffers, by number, gave up the way; "" if it did not. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_pipeline_reason(gfxgraph_pipeline_t pipeline, uint32_t set,
                                                        uint32_t way, char* text, uint64_t capacity,
                                                        uint64_t* size) GFXGRAPH_NOEXCEPT;

/* ---- metrics ---------------------------------------------------------------------------------
 */

/* Handles whose statistics become one text; of one kind no two have one name. */
typedef struct gfxgraph_flow_t {
  uint32_t struct_size;
  uint32_t branches_count;
  const gfxgraph_branches_t* branches;
  const gfxgraph_loop_t* loops;
  const gfxgraph_composition_t* compositions;
  const gfxgraph_pipeline_t* pipelines;
  uint32_t loop_count;
  uint32_t composition_count;
  uint32_t pipeline_count;
  uint32_t reserved;
} gfxgraph_flow_t;
/* As OpenMetrics, as gfxgraph_pool_metrics. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_flow_metrics(const gfxgraph_flow_t* flow, char* text,
                                                     uint64_t capacity,
                                                     uint64_t* size) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_FLOW_H */
