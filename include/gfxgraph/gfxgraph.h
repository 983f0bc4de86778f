/* gfxgraph: replays recorded AMD GPU launch streams inside a program.
 *
 * The order of use:
 *   gfxgraph_trace_open      a trace file (.gfxg) made by gfxgraph-record
 *   gfxgraph_plan_create     what will run; needs no device; your own buffers are bound here
 *   gfxgraph_replay_create   loads it onto the calling thread's HIP device
 *   gfxgraph_replay_run      submits it to your stream, as often as you like
 *
 * HIP is not linked: the library takes the libamdhip64 that the process already has, else it loads
 * libamdhip64.so.7, .6 or .5.
 *
 * Errors: every function that can fail returns a gfxgraph_status_t and never throws, prints or
 * aborts. gfxgraph_last_error() has the text of the calling thread's last failure.
 *
 * Ownership: every handle belongs to the caller until its destroy function, which takes NULL. A
 * plan keeps what it needs of its trace and a replay of its plan: handles may be destroyed in any
 * order.
 *
 * Threads: a trace and a finished plan may be used from any thread at the same time. A plan that is
 * being bound and a replay belong to one thread at a time. Two replays share nothing of this
 * library and take no common lock.
 *
 * Options and result structures begin with struct_size, the size that the caller was compiled with:
 * set it with the *_default() function or to sizeof. Later versions append fields only.
 */
#ifndef GFXGRAPH_GFXGRAPH_H
#define GFXGRAPH_GFXGRAPH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GFXGRAPH_API __attribute__((visibility("default")))
#else
#define GFXGRAPH_API
#endif

#ifdef __cplusplus
#define GFXGRAPH_NOEXCEPT noexcept
extern "C" {
#else
#define GFXGRAPH_NOEXCEPT
#endif

#define GFXGRAPH_VERSION_MAJOR 0
#define GFXGRAPH_VERSION_MINOR 1
#define GFXGRAPH_VERSION_PATCH 0

/* ---- status ------------------------------------------------------------------------------------
 */

/* The values never change. A newer library may return others: treat them as failures. */
typedef int32_t gfxgraph_status_t;
enum {
  GFXGRAPH_OK = 0,
  GFXGRAPH_INVALID_ARGUMENT = 1,
  GFXGRAPH_NOT_FOUND = 2,   /* file, kernel, allocation, HIP runtime */
  GFXGRAPH_UNSUPPORTED = 3, /* wrong GPU architecture, or the runtime lacks a call */
  GFXGRAPH_CORRUPT = 4,     /* the trace is damaged */
  GFXGRAPH_TRUNCATED = 5,   /* the trace lacks its end */
  GFXGRAPH_VERSION = 6,     /* the trace was made by a newer gfxgraph */
  GFXGRAPH_IO = 7,
  GFXGRAPH_OUT_OF_MEMORY = 8,
  GFXGRAPH_DEVICE = 9,    /* HIP reported an error */
  GFXGRAPH_MISMATCH = 10, /* a verification found a difference */
  GFXGRAPH_UNSAFE_LANE = 11,
  GFXGRAPH_INTERNAL = 12,  /* a bug of gfxgraph */
  GFXGRAPH_INCOMPLETE = 13 /* the recording missed calls that changed device state */
};

/* "ok", "corrupt", ...; never NULL. */
GFXGRAPH_API const char* gfxgraph_status_name(gfxgraph_status_t status) GFXGRAPH_NOEXCEPT;
/* What the calling thread's last failed call was about; "" if none. Valid until its next failure.
 */
GFXGRAPH_API const char* gfxgraph_last_error(void) GFXGRAPH_NOEXCEPT;
/* "0.1.0" */
GFXGRAPH_API const char* gfxgraph_version(void) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_trace_s* gfxgraph_trace_t;
typedef struct gfxgraph_plan_s* gfxgraph_plan_t;
typedef struct gfxgraph_replay_s* gfxgraph_replay_t;

/* ---- trace -------------------------------------------------------------------------------------
 */

typedef struct gfxgraph_trace_options_t {
  uint32_t struct_size;    /* bytes */
  uint32_t allow_torn;     /* 1: read a damaged or unfinished file up to the damage */
  uint64_t max_operations; /* of one run, nodes of launched graphs counted at each launch; a trace
                            * with more is refused; 0, the default: 4,000,000 */
} gfxgraph_trace_options_t;
GFXGRAPH_API gfxgraph_trace_options_t gfxgraph_trace_options_default(void) GFXGRAPH_NOEXCEPT;

/* `options` may be NULL. The file is mapped and must not be changed while the trace, or a plan or
 * replay made from it, exists. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_open(const char* path,
                                                   const gfxgraph_trace_options_t* options,
                                                   gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* The bytes are copied. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_open_memory(
    const void* bytes, size_t size_bytes, const gfxgraph_trace_options_t* options,
    gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_trace_destroy(gfxgraph_trace_t trace) GFXGRAPH_NOEXCEPT;

/* Texts in the structures below live as long as the trace. */
typedef struct gfxgraph_environment_t {
  uint32_t struct_size;
  uint32_t emulated; /* 1: recorded on the software agent */
  const char* gfxgraph_version;
  const char* gpu_arch; /* "gfx1030" */
  const char* device_name;
  int32_t hip_runtime_version; /* as hipRuntimeGetVersion gave it */
  uint32_t sealed;             /* 0: the recording did not finish */
  uint32_t complete;           /* 0: not sealed, or calls are missing: see the findings */
  uint32_t launch_count;       /* launches, those inside of launched graphs included */
  uint32_t kernel_count;
  uint32_t allocation_count; /* allocation ids go from 1 to this number */
} gfxgraph_environment_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_environment(
    gfxgraph_trace_t trace, gfxgraph_environment_t* environment) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_kernel_t {
  uint32_t struct_size;
  uint32_t argument_count; /* explicit and hidden */
  const char* name;
  uint32_t explicit_size_bytes; /* of the kernarg segment, what a launch passes */
  uint32_t group_segment_bytes; /* static LDS */
  uint32_t private_segment_bytes;
  uint32_t reserved; /* zero */
} gfxgraph_kernel_t;
/* `kernel` counts from 0. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_kernel(
    gfxgraph_trace_t trace, uint32_t kernel, gfxgraph_kernel_t* description) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_argument_t {
  uint32_t struct_size;
  uint32_t offset_bytes; /* in the kernarg segment */
  uint32_t size_bytes;
  uint32_t is_pointer; /* 1: a typed device pointer */
  uint32_t is_hidden;  /* 1: filled by the runtime at launch */
  uint32_t reserved;   /* zero */
  const char* name;    /* may be "" */
} gfxgraph_argument_t;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_argument(gfxgraph_trace_t trace, uint32_t kernel, uint32_t argument,
                        gfxgraph_argument_t* description) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_launch_t {
  uint32_t struct_size;
  uint32_t kernel;   /* from 0 */
  uint32_t grid[3];  /* workgroups */
  uint32_t block[3]; /* work items */
  uint32_t dynamic_lds_bytes;
  uint32_t stream; /* recorded stream id, 0: the null stream */
  uint32_t kernarg_size_bytes;
  uint32_t relocation_count; /* pointers in the kernarg bytes */
  const void* kernarg;       /* as recorded; lives as long as the trace */
} gfxgraph_launch_t;
/* `launch` counts from 0 in recorded order. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_launch(
    gfxgraph_trace_t trace, uint32_t launch, gfxgraph_launch_t* description) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_relocation_t {
  uint32_t struct_size;
  uint32_t offset_bytes; /* in the kernarg bytes */
  uint32_t allocation;   /* what it points into */
  uint32_t source;       /* 0 typed, 1 proven, 2 matched by value */
  uint32_t ambiguous;    /* 1: nothing but its value says that it is a pointer */
  uint32_t reserved;     /* zero */
  uint64_t addend_bytes; /* offset in the allocation; outside of it: may be negative (int64_t) */
} gfxgraph_relocation_t;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_relocation(gfxgraph_trace_t trace, uint32_t launch, uint32_t relocation,
                          gfxgraph_relocation_t* description) GFXGRAPH_NOEXCEPT;

enum {
  GFXGRAPH_ALLOCATION_DEVICE = 0,
  GFXGRAPH_ALLOCATION_MANAGED = 1,
  GFXGRAPH_ALLOCATION_HOST_PINNED = 2,
  GFXGRAPH_ALLOCATION_HOST_REGISTERED = 3,
  GFXGRAPH_ALLOCATION_STREAM_ORDERED = 4,
  GFXGRAPH_ALLOCATION_MODULE_GLOBAL = 5
};
enum {
  GFXGRAPH_NAME_NONE = 0,
  GFXGRAPH_NAME_GIVEN = 1,
  GFXGRAPH_NAME_SYMBOL = 2,
  GFXGRAPH_NAME_CALL_SITE = 3
};
typedef struct gfxgraph_allocation_t {
  uint32_t struct_size;
  uint32_t kind; /* GFXGRAPH_ALLOCATION_... */
  uint64_t size_bytes;
  uint64_t recorded_address;
  uint64_t begin_sequence; /* the recorded events between which it lived */
  uint64_t end_sequence;
  uint32_t post_state_known; /* 1: verification compares it */
  /* 1: the trace lacks what it held (gfxgraph-record --contents none): bind a buffer, or see
   * gfxgraph_replay_options_t.zero_unknown */
  uint32_t initial_state_unknown;
  const char* symbol; /* of a module global, else "" */
  /* as the program named it (gfxgraph/record.h), else `symbol`, else the call that made it, as
   * "load_model(char const*)+0x1f4#3", which is stable between recordings; else "" */
  const char* name;
  uint32_t name_source; /* GFXGRAPH_NAME_... */
  uint32_t reserved;    /* 0 */
} gfxgraph_allocation_t;
/* `allocation` is the id, from 1. GFXGRAPH_NOT_FOUND for ids without an allocation. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_allocation(gfxgraph_trace_t trace, uint32_t allocation,
                          gfxgraph_allocation_t* description) GFXGRAPH_NOEXCEPT;

/* ---- plan --------------------------------------------------------------------------------------
 */

typedef struct gfxgraph_plan_options_t {
  uint32_t struct_size;
  uint32_t allow_incomplete; /* 1: also plan traces whose recording missed calls */
} gfxgraph_plan_options_t;
GFXGRAPH_API gfxgraph_plan_options_t gfxgraph_plan_options_default(void) GFXGRAPH_NOEXCEPT;

/* Refuses incomplete and unsealed traces with GFXGRAPH_INCOMPLETE unless allowed. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_plan_create(gfxgraph_trace_t trace,
                                                    const gfxgraph_plan_options_t* options,
                                                    gfxgraph_plan_t* plan) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_plan_destroy(gfxgraph_plan_t plan) GFXGRAPH_NOEXCEPT;

/* Loading writes the recorded initial content into the buffer unless this is given. */
#define GFXGRAPH_BIND_KEEP_CONTENT 1u
/* Uses `pointer` for the allocation in every replay made from the plan afterwards; it must stay
 * valid as long as they. Device memory for device kinds; of pinned and registered allocations the
 * host address of pinned or registered memory. At least the allocation's size. Not for module
 * globals. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_plan_bind(gfxgraph_plan_t plan, uint32_t allocation,
                                                  void* pointer, uint64_t size_bytes,
                                                  uint32_t flags) GFXGRAPH_NOEXCEPT;

/* ---- replay ------------------------------------------------------------------------------------
 */

typedef int32_t gfxgraph_mode_t;
enum {
  GFXGRAPH_MODE_EAGER = 0, /* calls, streams and events as recorded */
  GFXGRAPH_MODE_BATCH = 1, /* prebuilt launches in one loop */
  GFXGRAPH_MODE_GRAPH = 2, /* an explicit hipGraph */
  GFXGRAPH_MODE_AUTO = 3   /* batch or graph: measured on this runtime while loading */
};
enum {
  GFXGRAPH_LAYOUT_SAME = 0,
  GFXGRAPH_LAYOUT_SHIFT = 1 /* every buffer elsewhere, as a proof */
};

typedef struct gfxgraph_replay_options_t {
  uint32_t struct_size;
  gfxgraph_mode_t mode;     /* default auto */
  int32_t layout;           /* GFXGRAPH_LAYOUT_..., default same */
  int32_t device;           /* HIP ordinal; -1, the default: the calling thread's current device */
  uint32_t graph_max_nodes; /* split graphs into parts of at most so many nodes; 0: a safe number */
  uint32_t graph_linear;    /* 1: make every graph a chain in recorded order */
  uint32_t keep_ambiguous;  /* 1: leave words alone that only look like pointers */
  uint32_t max_load_seconds; /* creating takes no longer, about; 0, the default: any time */
  uint64_t max_memory_bytes; /* refuse a trace that needs more, host and device memory together,
                              * before allocating; 0, the default: what device and machine have */
  uint32_t
      zero_unknown;      /* 1: memory that is not bound, and whose content the trace lacks
                          * (gfxgraph-record --contents none), begins with zeros, but for words that
                          * lead to other memory; 0, the default: it is refused, GFXGRAPH_INCOMPLETE */
  uint32_t poison_fresh; /* 1: memory that nobody had written when the program got it begins with
                          * bytes of 0xa5; 0, the default: with zeros */
} gfxgraph_replay_options_t;
GFXGRAPH_API gfxgraph_replay_options_t gfxgraph_replay_options_default(void) GFXGRAPH_NOEXCEPT;

/* Loads code objects, allocates and fills buffers, prepares every argument and, for graph, builds
 * and instantiates. Everything that can be slow is here. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_create(gfxgraph_plan_t plan,
                                                      const gfxgraph_replay_options_t* options,
                                                      gfxgraph_replay_t* replay) GFXGRAPH_NOEXCEPT;
/* Waits for the work in flight. */
GFXGRAPH_API void gfxgraph_replay_destroy(gfxgraph_replay_t replay) GFXGRAPH_NOEXCEPT;

/* `hip_stream` is a hipStream_t that outlives its use here; NULL is HIP's null stream. Without this
 * call a replay runs on a non-blocking stream of its own. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_set_stream(gfxgraph_replay_t replay,
                                                          void* hip_stream) GFXGRAPH_NOEXCEPT;

/* Submits the whole recorded stream once. In batch and graph mode the work is asynchronous on the
 * stream, allocates nothing and takes no lock of this library, except: where the recorded program
 * itself wrote pinned or managed memory, the call waits for the work before that; and the first run
 * after changed arguments applies them (gfxgraph_replay_commit). Eager mode waits for the stream
 * before it begins and runs on streams of its own. GFXGRAPH_UNSUPPORTED, and nothing is submitted,
 * while the stream is capturing. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_run(gfxgraph_replay_t replay) GFXGRAPH_NOEXCEPT;
/* Blocks until what was submitted is complete. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_wait(gfxgraph_replay_t replay) GFXGRAPH_NOEXCEPT;
/* Waits, then sets every buffer (but those bound with KEEP_CONTENT) to its recorded initial
 * content. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_restore(gfxgraph_replay_t replay) GFXGRAPH_NOEXCEPT;

/* Overwrites bytes of a launch's arguments: scalars, or pointers to memory of your own. Batch and
 * eager use them in the next run at no cost; graph instantiates once more in the next run, or now
 * with commit. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_set_kernarg(gfxgraph_replay_t replay,
                                                           uint32_t launch, uint32_t offset_bytes,
                                                           const void* bytes,
                                                           uint32_t size_bytes) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_commit(gfxgraph_replay_t replay) GFXGRAPH_NOEXCEPT;

/* Copies between the caller's memory and a buffer of the replay. Both wait for the work in flight.
 */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_read(gfxgraph_replay_t replay, uint32_t allocation,
                                                    uint64_t offset_bytes, void* bytes,
                                                    uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_write(gfxgraph_replay_t replay, uint32_t allocation,
                                                     uint64_t offset_bytes, const void* bytes,
                                                     uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* The device address that a recorded allocation has in this replay. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_address(gfxgraph_replay_t replay,
                                                       uint32_t allocation,
                                                       void** address) GFXGRAPH_NOEXCEPT;

enum {
  GFXGRAPH_IDENTICAL = 0,
  GFXGRAPH_DIFFERENT = 1,
  GFXGRAPH_UNCOMPARED = 2 /* the trace does not say what it should hold */
};
typedef struct gfxgraph_buffer_result_t {
  uint32_t struct_size;
  uint32_t allocation;
  uint32_t comparison; /* GFXGRAPH_IDENTICAL, ... */
  uint32_t by_hash;    /* 1: only a hash was recorded, the fields below are zero */
  uint64_t size_bytes;
  uint64_t first_difference; /* offset in bytes */
  uint64_t differing_bytes;
  uint32_t expected; /* the byte at first_difference */
  uint32_t got;
} gfxgraph_buffer_result_t;
typedef struct gfxgraph_verification_t {
  uint32_t struct_size;
  uint32_t identical; /* buffers */
  uint32_t different;
  uint32_t uncompared;
  uint32_t copies_identical; /* copies to the program's own memory */
  uint32_t copies_different;
  uint32_t copies_uncompared;
  uint32_t reserved; /* zero */
} gfxgraph_verification_t;
/* Waits, then compares every buffer with what the recorded program left in it, at the end of one
 * run from the initial state. Bytes that were never written are left out: where some may be, this
 * runs the program up to three times more, and then puts memory back as it was. What was computed
 * from them is uncompared. GFXGRAPH_MISMATCH if one differs; the structures are filled then too.
 * GFXGRAPH_OK says that nothing differs; everything is identical only if `uncompared` and
 * `copies_uncompared` are 0 as well.
 * `results`, if not NULL, takes one entry per compared or uncompared allocation, at most
 * `capacity`, each `result_size_bytes` long: sizeof(gfxgraph_buffer_result_t). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_verify(gfxgraph_replay_t replay,
                                                      gfxgraph_verification_t* verification,
                                                      gfxgraph_buffer_result_t* results,
                                                      uint32_t capacity,
                                                      uint32_t result_size_bytes) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_replay_info_t {
  uint32_t struct_size;
  gfxgraph_mode_t mode;    /* the one in use, never auto */
  const char* mode_reason; /* lives as long as the replay, as the next three */
  const char* device_name;
  const char* gpu_arch;
  const char* hip_library; /* path of the libamdhip64 in use */
  int32_t hip_runtime_version;
  uint32_t graphs; /* graph mode: executable graphs and their nodes */
  uint64_t graph_nodes;
  double load_us;    /* modules, memory, arguments */
  double restore_us; /* writing the initial contents */
  double build_us;   /* graph nodes */
  double instantiate_us;
} gfxgraph_replay_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_replay_info(gfxgraph_replay_t replay,
                                                    gfxgraph_replay_info_t* info) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_GFXGRAPH_H */
