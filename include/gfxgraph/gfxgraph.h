/* gfxgraph: replays recorded AMD GPU launch streams, or one step of them, inside a program.
 *
 * The order of use:
 *   gfxgraph_trace_open       a trace file (.gfxg) made by gfxgraph-record; needs no device
 *   gfxgraph_session_create   the trace on a device: modules and memory once
 *   gfxgraph_session_bind     memory of the caller in place of recorded buffers
 *   gfxgraph_step_create      a range of the trace ("decode#3", or all of it) ready to run
 *   gfxgraph_step_run         submits it to the caller's stream, as often as he likes, with other
 *                             inputs, parameters and arguments from run to run
 *
 * HIP is not linked: the library takes the libamdhip64 that the process already has, else it loads
 * libamdhip64.so.7, .6 or .5.
 *
 * Errors: every function that can fail returns a gfxgraph_status_t and never throws, prints or
 * aborts. gfxgraph_last_error() has the text of the calling thread's last failure.
 *
 * Ownership: every handle belongs to the caller until its destroy function, which takes NULL.
 * Handles may be destroyed in any order: a session keeps what it needs of its trace, a step what it
 * needs of its session. Texts in structures live as long as the handle that they were asked of.
 *
 * Threads: a trace may be used from any thread at any time. Of one session and its steps one thread
 * at a time creates, destroys, binds, restores, reads and writes, while no other thread uses them.
 * Different steps may be set, run, queried and waited for by different threads at the same time;
 * one step by one thread at a time. Two sessions share nothing of this library and take no common
 * lock.
 *
 * Devices: a session belongs to one HIP device. Each function that calls HIP makes it the calling
 * thread's current one, and puts the one before back.
 *
 * Options and result structures begin with struct_size, the size that the caller was compiled with:
 * set it with the *_default() function or to sizeof. Later versions append fields only. Options of
 * a newer caller that this library does not know are refused, with the first byte that is not zero;
 * so are reserved fields that are not zero, and values other than 0 and 1 where these are listed.
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
#define GFXGRAPH_VERSION_MINOR 2
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
  GFXGRAPH_INTERNAL = 12,   /* a bug of gfxgraph */
  GFXGRAPH_INCOMPLETE = 13, /* the recording missed calls that changed device state */
  GFXGRAPH_NOT_READY = 14   /* gfxgraph_step_query: work is in flight */
};

/* "ok", "corrupt", ...; never NULL. */
GFXGRAPH_API const char* gfxgraph_status_name(gfxgraph_status_t status) GFXGRAPH_NOEXCEPT;
/* What the calling thread's last failed call was about; "" if none. Valid until its next failure.
 */
GFXGRAPH_API const char* gfxgraph_last_error(void) GFXGRAPH_NOEXCEPT;
/* The hipError_t behind that failure; 0: it did not come from HIP. */
GFXGRAPH_API int32_t gfxgraph_last_hip_error(void) GFXGRAPH_NOEXCEPT;
/* "0.2.0" */
GFXGRAPH_API const char* gfxgraph_version(void) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_trace_s* gfxgraph_trace_t;
typedef struct gfxgraph_session_s* gfxgraph_session_t;
typedef struct gfxgraph_step_s* gfxgraph_step_t;

/* ---- trace -------------------------------------------------------------------------------------
 */

typedef struct gfxgraph_trace_options_t {
  uint32_t struct_size;      /* bytes */
  uint32_t allow_torn;       /* 1: read a damaged or unfinished file up to the damage */
  uint32_t allow_incomplete; /* 1: also traces whose recording missed calls, or did not finish */
  uint32_t reserved;         /* zero */
  uint64_t max_operations;   /* of one run, nodes of launched graphs counted at each launch; a trace
                              * with more is refused; 0, the default: 4,000,000 */
} gfxgraph_trace_options_t;
GFXGRAPH_API gfxgraph_trace_options_t gfxgraph_trace_options_default(void) GFXGRAPH_NOEXCEPT;

/* `options` may be NULL. The file is mapped and must not be changed while the trace, or a session
 * or step made from it, exists. Incomplete traces can be opened and looked at; sessions of them
 * need allow_incomplete. Contents are read and checked by the sessions and steps that need them:
 * these fail where such a content is damaged. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_open(const char* path,
                                                   const gfxgraph_trace_options_t* options,
                                                   gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* A regular file that is open for reading, from its begin; may be closed afterwards. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_open_descriptor(int descriptor, const gfxgraph_trace_options_t* options,
                               gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* The bytes are not copied: they begin at a multiple of 64 and stay as they are as long as the
 * trace and everything made from it. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_open_memory(
    const void* bytes, size_t size_bytes, const gfxgraph_trace_options_t* options,
    gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API void gfxgraph_trace_destroy(gfxgraph_trace_t trace) GFXGRAPH_NOEXCEPT;

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
  uint32_t buffer_count; /* buffer ids go from 1 to this number */
  uint32_t range_count;  /* ranges go from 0 to this number - 1 */
  uint32_t reserved;     /* zero */
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
  uint32_t buffer;       /* what it points into */
  uint32_t source;       /* 0 typed, 1 proven, 2 matched by value */
  uint32_t ambiguous;    /* 1: nothing but its value says that it is a pointer */
  uint32_t reserved;     /* zero */
  uint64_t addend_bytes; /* offset in the buffer; outside of it: may be negative (int64_t) */
} gfxgraph_relocation_t;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_relocation(gfxgraph_trace_t trace, uint32_t launch, uint32_t relocation,
                          gfxgraph_relocation_t* description) GFXGRAPH_NOEXCEPT;

/* Memory that the program allocated, and variables of its modules. */
enum {
  GFXGRAPH_BUFFER_DEVICE = 0,
  GFXGRAPH_BUFFER_MANAGED = 1,
  GFXGRAPH_BUFFER_HOST_PINNED = 2,
  GFXGRAPH_BUFFER_HOST_REGISTERED = 3,
  GFXGRAPH_BUFFER_STREAM_ORDERED = 4,
  GFXGRAPH_BUFFER_MODULE_GLOBAL = 5
};
enum {
  GFXGRAPH_NAME_NONE = 0,
  GFXGRAPH_NAME_GIVEN = 1,
  GFXGRAPH_NAME_SYMBOL = 2,
  GFXGRAPH_NAME_CALL_SITE = 3
};
typedef struct gfxgraph_buffer_t {
  uint32_t struct_size;
  uint32_t kind;         /* GFXGRAPH_BUFFER_... */
  uint64_t size_bytes;   /* as requested */
  uint64_t extent_bytes; /* what memory in its place must hold: more than size_bytes where the
                          * program used what the mapping gave it beyond that */
  uint64_t recorded_address;
  uint64_t begin_sequence; /* the recorded events between which it lived */
  uint64_t end_sequence;
  uint32_t post_state_known; /* 1: verification compares it */
  /* 1: the trace lacks what it held (gfxgraph-record --contents none): bind a buffer, or see
   * gfxgraph_session_options_t.zero_unknown */
  uint32_t initial_state_unknown;
  const char* symbol; /* of a module global, else "" */
  /* as the program named it (gfxgraph/record.h), else `symbol`, else the call that made it, as
   * "load_model(char const*)+0x1f4#3", which is stable between recordings; else "" */
  const char* name;
  uint32_t name_source; /* GFXGRAPH_NAME_... */
  uint32_t reserved;    /* 0 */
} gfxgraph_buffer_t;
/* `buffer` is the id, from 1. GFXGRAPH_NOT_FOUND for ids without a buffer. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_buffer(
    gfxgraph_trace_t trace, uint32_t buffer, gfxgraph_buffer_t* description) GFXGRAPH_NOEXCEPT;

/* ---- ranges ------------------------------------------------------------------------------------
 * A range is a named stretch of the recorded stream: "decode#3" is the one called decode that the
 * program began as its fourth. */

typedef uint32_t gfxgraph_range_t;
#define GFXGRAPH_RANGE_ALL UINT32_MAX /* the whole trace */

typedef struct gfxgraph_range_info_t {
  uint32_t struct_size;
  /* Ranges with one number gave the same streams the same kernels, copies and memsets in the same
   * order. From 1; 0: of GFXGRAPH_RANGE_ALL. */
  uint32_t shape;
  const char* name;
  uint64_t ordinal; /* among all ranges of this name that the program began */
  uint64_t first_event;
  uint64_t end_event;
  uint64_t launches; /* of kernels, nodes of launched graphs included */
  uint64_t copies;
  uint64_t copy_bytes;
  uint64_t memsets;
  uint64_t host_writes;
  uint32_t ended; /* 0: the trace ends before it; cannot be a step */
  uint32_t reserved;
} gfxgraph_range_info_t;
/* `range` counts from 0 in the order in which they began. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_range(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                                    gfxgraph_range_info_t* info) GFXGRAPH_NOEXCEPT;
/* "decode#3"; "decode": the first one of this name that the trace holds; "all": the whole trace,
 * unless a range is called so. "period#1#5" is a stretch that the program did not mark: the
 * repetition with five before it of period 1 of `gfxgraph info --ranges`, found when it is asked
 * for; its number is none of those below range_count. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_range(gfxgraph_trace_t trace, const char* name,
                                                         gfxgraph_range_t* range) GFXGRAPH_NOEXCEPT;
/* Among the buffers that exist during the range: by name, or "#3" by id. GFXGRAPH_INVALID_ARGUMENT
 * if several have the name. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_buffer(gfxgraph_trace_t trace,
                                                          gfxgraph_range_t range, const char* name,
                                                          uint32_t* buffer) GFXGRAPH_NOEXCEPT;

/* What differs between the recorded iterations of a range: ranges of the same name and shape. All
 * places that always hold the same value are one parameter. None where the trace has one iteration
 * only. */
enum {
  GFXGRAPH_PATTERN_STEP = 1, /* rises by `step` from iteration to iteration */
  GFXGRAPH_PATTERN_SWAP = 2, /* takes `period` values in turns, as with double buffers */
  GFXGRAPH_PATTERN_FREE = 3  /* no rule was seen */
};
typedef struct gfxgraph_parameter_t {
  uint32_t struct_size;
  uint32_t pattern; /* GFXGRAPH_PATTERN_... */
  const char* name; /* "rope argument 4 at 0x20" */
  int64_t step;
  uint32_t period;
  uint32_t place_count; /* in the range */
  uint32_t buffer;      /* of the recorded value: 0: a number */
  uint32_t reserved;
  int64_t number; /* the recorded value, or its offset in `buffer` in bytes */
} gfxgraph_parameter_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_parameter_count(gfxgraph_trace_t trace,
                                                              gfxgraph_range_t range,
                                                              uint32_t* count) GFXGRAPH_NOEXCEPT;
/* `parameter` counts from 0; those with most places come first. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_parameter(gfxgraph_trace_t trace, gfxgraph_range_t range, uint32_t parameter,
                         gfxgraph_parameter_t* description) GFXGRAPH_NOEXCEPT;
/* By name, or "#0" by number. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_parameter(gfxgraph_trace_t trace,
                                                             gfxgraph_range_t range,
                                                             const char* name,
                                                             uint32_t* parameter) GFXGRAPH_NOEXCEPT;

/* Bytes that the range gets from the host (inputs) or gives to it (outputs). What passes through
 * buffers, pinned ones included, is read, written and bound there. */
enum {
  GFXGRAPH_TRANSFER_COPY = 1,      /* from or to memory that HIP does not know */
  GFXGRAPH_TRANSFER_HOST_WRITE = 2 /* the host wrote a pinned or managed buffer; inputs only */
};
typedef struct gfxgraph_transfer_t {
  uint32_t struct_size;
  uint32_t kind; /* GFXGRAPH_TRANSFER_... */
  /* the buffer's name, or "buffer 3", behind it "+0x40" at an offset, and from the second one on
   * that would have the same name "@2" */
  const char* name;
  uint64_t size_bytes; /* rows and slices of a pitched copy stand without gaps */
  uint32_t buffer;     /* the device's end */
  uint32_t reserved;
  uint64_t offset_bytes; /* in it */
} gfxgraph_transfer_t;
/* In recorded order: copies, then host writes. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_input_count(gfxgraph_trace_t trace,
                                                          gfxgraph_range_t range,
                                                          uint32_t* count) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_input(gfxgraph_trace_t trace, gfxgraph_range_t range, uint32_t input,
                     gfxgraph_transfer_t* description) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_input(gfxgraph_trace_t trace,
                                                         gfxgraph_range_t range, const char* name,
                                                         uint32_t* input) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_output_count(gfxgraph_trace_t trace,
                                                           gfxgraph_range_t range,
                                                           uint32_t* count) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_output(gfxgraph_trace_t trace, gfxgraph_range_t range, uint32_t output,
                      gfxgraph_transfer_t* description) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_output(gfxgraph_trace_t trace,
                                                          gfxgraph_range_t range, const char* name,
                                                          uint32_t* output) GFXGRAPH_NOEXCEPT;

/* ---- session -----------------------------------------------------------------------------------
 */

enum {
  GFXGRAPH_LAYOUT_SAME = 0,
  GFXGRAPH_LAYOUT_SHIFT = 1 /* every buffer elsewhere, as a proof */
};

/* Device memory of buffers that the recorded program allocated and freed again. */
enum {
  /* Buffers whose lives cannot meet have the same memory, one after another; runs begin it with
   * fresh bytes. gfxgraph_session_read, _write and _address refuse these, and verification does not
   * compare those whose memory another one has had since, and counts them as uncompared. */
  GFXGRAPH_MEMORY_PACKED = 0,
  /* Each has memory of its own for as long as the session lives. */
  GFXGRAPH_MEMORY_APART = 1,
  /* Packed; each run copies what such a buffer held to pinned host memory before another one gets
   * its memory, and verification compares that. */
  GFXGRAPH_MEMORY_PACKED_KEPT = 2
};

/* What the library says of its work, a line without its end; `context` is the caller's. Called by
 * the thread that called the library, within that call; must not call the library. */
enum { GFXGRAPH_LOG_INFO = 0, GFXGRAPH_LOG_WARNING = 1 };
typedef void (*gfxgraph_log_t)(void* context, int32_t level, const char* text);

/* Memory of the caller's for what a session and its steps take from HIP otherwise: buffers, places
 * for inputs and outputs, patterns of fills. Not asked for memory that the program registered. */
enum {
  GFXGRAPH_MEMORY_DEVICE = 0,
  GFXGRAPH_MEMORY_MANAGED = 1,
  GFXGRAPH_MEMORY_PINNED = 2 /* as hipHostMalloc gives it */
};
/* Gives a hipError_t. The memory is aligned to at least 256 bytes and valid until it is released,
 * when work that uses it has ended. Called within calls of the library, by the threads of these. */
typedef int32_t (*gfxgraph_allocate_t)(void* context, void** pointer, size_t size_bytes,
                                       int32_t kind);
typedef void (*gfxgraph_release_t)(void* context, void* pointer);

typedef struct gfxgraph_session_options_t {
  uint32_t struct_size;
  int32_t layout;            /* GFXGRAPH_LAYOUT_..., default same */
  int32_t device;            /* HIP ordinal; -1, the default: the calling thread's current device */
  uint32_t keep_ambiguous;   /* 1: leave words alone that only look like pointers */
  uint32_t zero_unknown;     /* 1: memory that is not bound, and whose content the trace lacks
                              * (gfxgraph-record --contents none), begins with zeros, but for words
                              * that lead to other memory; 0, the default: it is refused,
                              * GFXGRAPH_INCOMPLETE */
  uint32_t poison_fresh;     /* 1: memory that nobody had written when the program got it begins
                              * with bytes of 0xa5; 0, the default: with zeros */
  uint32_t concurrent_steps; /* 1: the caller orders steps that share memory which one of them
                              * writes; 0, the default: see gfxgraph_step_run */
  uint32_t max_load_seconds; /* loading takes no longer, about; 0, the default: any time */
  uint64_t max_memory_bytes; /* refuse a trace that needs more, host and device memory together,
                              * before allocating; 0, the default: what device and machine have */
  gfxgraph_log_t log;        /* may be NULL */
  void* log_context;
  gfxgraph_allocate_t allocate; /* NULL, the default: HIP's; with it `release` */
  gfxgraph_release_t release;
  void* allocator_context;
  uint32_t memory;   /* GFXGRAPH_MEMORY_..., default packed */
  uint32_t reserved; /* zero */
} gfxgraph_session_options_t;
GFXGRAPH_API gfxgraph_session_options_t gfxgraph_session_options_default(void) GFXGRAPH_NOEXCEPT;

/* Finds HIP and the device; nothing is loaded or allocated there yet. `options` may be NULL.
 * GFXGRAPH_INCOMPLETE: the recording is, and was opened without allow_incomplete. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_session_create(gfxgraph_trace_t trace, const gfxgraph_session_options_t* options,
                        gfxgraph_session_t* session) GFXGRAPH_NOEXCEPT;
/* What is bound, and the streams that steps ran on, must exist until the session and its steps are
 * destroyed. */
GFXGRAPH_API void gfxgraph_session_destroy(gfxgraph_session_t session) GFXGRAPH_NOEXCEPT;

/* gfxgraph_step_restore, and gfxgraph_step_create unless it keeps memory, write the recorded
 * content into the buffer, as into memory of the library; without this flag it is used as it is. */
#define GFXGRAPH_BIND_FILL 1u
/* The caller's memory in place of a buffer, from now on: in arguments, copies, and in memory where
 * words are known to lead to it. Device memory for device kinds; of pinned and registered buffers
 * the host address of pinned or registered memory. At least extent_bytes. Not for module globals.
 * Of several bindings of one buffer the last one holds. GFXGRAPH_INVALID_ARGUMENT where a part of
 * the memory is another buffer's, bound or of the library, unless both had one address in the
 * recording, one after the other.
 * Before the session is loaded this needs no device and saves the library's own memory. Afterwards
 * it waits for the session's work, and what kernels have computed from the old address in the
 * meantime stays as it is. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_bind(gfxgraph_session_t session, uint32_t buffer,
                                                     void* pointer, uint64_t size_bytes,
                                                     uint32_t flags) GFXGRAPH_NOEXCEPT;

/* Loads code objects and allocates memory now; else the first gfxgraph_step_create does it. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_load(gfxgraph_session_t session) GFXGRAPH_NOEXCEPT;

/* Copies between the caller's memory and a buffer. Loads the session, and waits for its work.
 * GFXGRAPH_UNSUPPORTED, as gfxgraph_session_address: it shares memory (GFXGRAPH_MEMORY_PACKED). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_read(gfxgraph_session_t session, uint32_t buffer,
                                                     uint64_t offset_bytes, void* bytes,
                                                     uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_write(gfxgraph_session_t session, uint32_t buffer,
                                                      uint64_t offset_bytes, const void* bytes,
                                                      uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* The device address that a buffer has in this session. Loads it. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_address(gfxgraph_session_t session, uint32_t buffer,
                                                        void** address) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_session_info_t {
  uint32_t struct_size;
  uint32_t loaded; /* 1: what it needs is allocated */
  const char* device_name;
  const char* gpu_arch;
  const char* hip_library; /* path of the libamdhip64 in use */
  int32_t hip_runtime_version;
  int32_t device;        /* HIP ordinal */
  uint64_t device_bytes; /* what the session needs beside what is bound, before it is loaded too */
  uint64_t host_bytes;   /* pinned memory included, for one step of the whole trace */
  double load_us;
  uint64_t device_bytes_apart; /* device_bytes with GFXGRAPH_MEMORY_APART */
} gfxgraph_session_info_t;
GFXGRAPH_API gfxgraph_status_t
gfxgraph_session_info(gfxgraph_session_t session, gfxgraph_session_info_t* info) GFXGRAPH_NOEXCEPT;

/* ---- step --------------------------------------------------------------------------------------
 */

typedef int32_t gfxgraph_mode_t;
enum {
  GFXGRAPH_MODE_EAGER = 0,  /* calls, streams and events as recorded */
  GFXGRAPH_MODE_BATCH = 1,  /* prebuilt launches in one loop */
  GFXGRAPH_MODE_GRAPH = 2,  /* an explicit hipGraph */
  GFXGRAPH_MODE_AUTO = 3,   /* batch, graph or packets: measured on this runtime while creating */
  GFXGRAPH_MODE_PACKETS = 4 /* prebuilt AQL packets in an HSA queue, one doorbell per run */
};

typedef struct gfxgraph_step_options_t {
  uint32_t struct_size;
  gfxgraph_mode_t mode;     /* default auto */
  uint32_t graph_max_nodes; /* split graphs into parts of at most so many nodes; 0: a safe number */
  uint32_t graph_linear;    /* 1: make every graph a chain in recorded order */
  uint32_t keep_memory;     /* 1: memory stays what it is, for another step beside steps that ran;
                             * buffers that had no content in this session get the recorded one;
                             * 0, the default: as after gfxgraph_step_restore, and so for the first
                             * step of a session. Not with auto. */
  uint32_t auto_milliseconds; /* auto begins no other run when so much time is used up; 0: 3000 */
} gfxgraph_step_options_t;
GFXGRAPH_API gfxgraph_step_options_t gfxgraph_step_options_default(void) GFXGRAPH_NOEXCEPT;

/* Prepares every argument and, for graph, builds and instantiates. `options` may be NULL. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_create(gfxgraph_session_t session,
                                                    gfxgraph_range_t range,
                                                    const gfxgraph_step_options_t* options,
                                                    gfxgraph_step_t* step) GFXGRAPH_NOEXCEPT;
/* Waits for the step's work in flight. */
GFXGRAPH_API void gfxgraph_step_destroy(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

/* A non-blocking stream of the step's own, for callers without one; lives as long as the step. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_stream(gfxgraph_step_t step,
                                                    void** hip_stream) GFXGRAPH_NOEXCEPT;

/* Submits the range once, behind what `hip_stream` holds; NULL is HIP's null stream. In batch and
 * graph mode the work is asynchronous on the stream, allocates nothing and takes no lock of this
 * library, except: where the recorded program itself wrote pinned or managed memory, the call waits
 * for the work before that; and the first run after changes applies them (gfxgraph_step_commit).
 * Eager mode waits for the stream before it begins and runs on streams of its own. Mode packets
 * runs in a queue of its own, behind the stream's work and before what the stream gets afterwards;
 * it waits where 64 runs are in flight or the queue is full, and where the stream is another one
 * than that of a run in flight. GFXGRAPH_UNSUPPORTED, and nothing is submitted, while the stream is
 * capturing; or while another step of the session is in flight on another stream, or is being run
 * by another thread, and one of both writes memory that the other uses, by what the recorded
 * program wrote (gfxgraph_session_options_t.concurrent_steps). Runs of one step on several streams
 * must be ordered by the caller. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_run(gfxgraph_step_t step,
                                                 void* hip_stream) GFXGRAPH_NOEXCEPT;
/* Mode packets: the same without fences. The run neither begins behind what `hip_stream` holds nor
 * does what the stream gets afterwards wait for it: the caller sees to that, by gfxgraph_step_wait
 * before it uses what the run writes and before the next call changes what it reads. Runs of one
 * step still follow each other. Other modes: gfxgraph_step_run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_run_unfenced(gfxgraph_step_t step,
                                                          void* hip_stream) GFXGRAPH_NOEXCEPT;
/* GFXGRAPH_OK: what was submitted is complete, and all else on the stream of the last run.
 * GFXGRAPH_NOT_READY: it is not. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_query(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;
/* Blocks until what was submitted is complete. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_wait(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;
/* Waits for the session's work, then makes the session's memory what it was where the range begins:
 * the recorded initial contents, and what recorded work before the range leaves, which is run for
 * that. Bound buffers without GFXGRAPH_BIND_FILL keep what they hold. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_restore(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

/* All of these hold for the runs that are submitted after the call, never for one in flight, and
 * until they are set again. Nothing waits, but an input that was set four times while the first of
 * these runs is still in flight. */

/* Every place of the parameter; numbers are cut to the size of the place. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_parameter(gfxgraph_step_t step, uint32_t parameter,
                                                           int64_t number) GFXGRAPH_NOEXCEPT;
/* The address of a byte of a buffer. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_step_set_parameter_address(gfxgraph_step_t step, uint32_t parameter, uint32_t buffer,
                                    uint64_t offset_bytes) GFXGRAPH_NOEXCEPT;
/* Every parameter as its pattern gives it `iterations` iterations behind the recorded one; 0: as
 * recorded. Free parameters stay as recorded. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_advance(gfxgraph_step_t step,
                                                     uint64_t iterations) GFXGRAPH_NOEXCEPT;
/* Bytes of a launch's arguments: scalars, or pointers to memory of the caller. `launch` is its
 * number in the trace. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_argument(gfxgraph_step_t step, uint32_t launch,
                                                          uint32_t offset_bytes, const void* bytes,
                                                          uint32_t size_bytes) GFXGRAPH_NOEXCEPT;
/* In workgroups. Not for launches with a partial workgroup. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_grid(gfxgraph_step_t step, uint32_t launch,
                                                      uint32_t x, uint32_t y,
                                                      uint32_t z) GFXGRAPH_NOEXCEPT;
/* Exactly size_bytes of the input, which are copied. The first call while a run is in flight
 * allocates three more places for them in pinned memory. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_input(gfxgraph_step_t step, uint32_t input,
                                                       const void* bytes,
                                                       uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Each run writes the output's size_bytes to `bytes`, which must stay there: they are complete when
 * the run is. NULL: to memory of the library, as before the first call. Asynchronous where HIP's
 * copies to this memory are (pinned memory). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_output(gfxgraph_step_t step, uint32_t output,
                                                        void* bytes,
                                                        uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Waits for the step, then copies what the last run gave the output. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_read_output(gfxgraph_step_t step, uint32_t output,
                                                         void* bytes,
                                                         uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Applies changes now instead of in the next run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_commit(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

enum {
  GFXGRAPH_IDENTICAL = 0,
  GFXGRAPH_DIFFERENT = 1,
  GFXGRAPH_UNCOMPARED = 2 /* the trace does not say what it should hold */
};
typedef struct gfxgraph_buffer_result_t {
  uint32_t struct_size;
  uint32_t buffer;
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
 * run from the initial state (gfxgraph_step_restore). Bytes that were never written are left out:
 * where some may be, this runs the program up to three times more, and then puts memory back as it
 * was. What was computed from them is uncompared. GFXGRAPH_MISMATCH if one differs; the structures
 * are filled then too. GFXGRAPH_OK says that nothing differs; everything is identical only if
 * `uncompared` and `copies_uncompared` are 0 as well. `results`, if not NULL, takes one entry per
 * compared or uncompared buffer, at most `capacity`, each `result_size_bytes` long:
 * sizeof(gfxgraph_buffer_result_t). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_verify(gfxgraph_step_t step,
                                                    gfxgraph_verification_t* verification,
                                                    gfxgraph_buffer_result_t* results,
                                                    uint32_t capacity,
                                                    uint32_t result_size_bytes) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_step_info_t {
  uint32_t struct_size;
  gfxgraph_mode_t mode;    /* the one in use, never auto */
  const char* mode_reason; /* why */
  uint32_t launches;       /* per run; their numbers in the trace begin with first_launch */
  uint32_t first_launch;
  uint32_t graphs; /* graph mode: executable graphs and their nodes */
  uint32_t reserved;
  uint64_t graph_nodes;
  double prepare_us; /* arguments, staging */
  double restore_us; /* writing contents */
  double build_us;   /* graph nodes */
  double instantiate_us;
} gfxgraph_step_info_t;
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_info(gfxgraph_step_t step,
                                                  gfxgraph_step_info_t* info) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_GFXGRAPH_H */
