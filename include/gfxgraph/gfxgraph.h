/* gfxgraph: replays recorded AMD GPU launch streams, or one step of them, inside a program.
 *
 * Typical sequence of calls:
 *   gfxgraph_trace_open       a trace file (.gfxg) made by gfxgraph-record; needs no device
 *   gfxgraph_session_create   the trace on a device: modules and memory once
 *   gfxgraph_session_bind     memory of the caller in place of recorded buffers
 *   gfxgraph_step_create      a range of the trace ("decode#3", or all of it) ready to run
 *   gfxgraph_step_run         submits it to the caller's stream, any number of times, with other
 *                             inputs, parameters and arguments from run to run
 *
 * HIP is not linked: the library uses the libamdhip64 that the process already has, otherwise it
 * loads libamdhip64.so.7, .6 or .5.
 *
 * Errors: every function that can fail returns a gfxgraph_status_t and never throws, prints or
 * aborts. gfxgraph_last_error() returns the text of the calling thread's last failure.
 *
 * Ownership: every handle belongs to the caller until its destroy function, which takes NULL.
 * Handles may be destroyed in any order: a session keeps what it needs of its trace, a step what it
 * needs of its session. Strings in structures live as long as the handle that returned them.
 *
 * Threads: a trace may be used from any thread at any time. For one session and its steps, only one
 * thread at a time may create, destroy, bind, restore, read and write, while no other thread uses
 * them. Different threads may set, run, query and wait for different steps concurrently; one step
 * belongs to one thread at a time. Two sessions share nothing of this library and take no common
 * lock.
 *
 * Processes: HIP does not work in a child of fork() if its parent has used HIP. There, functions of
 * inherited sessions and steps, and gfxgraph_session_create if a session was created before the
 * fork, return GFXGRAPH_UNSUPPORTED; destroying inherited ones does nothing. Traces still work.
 *
 * Devices: a session belongs to one HIP device. Each function that calls HIP makes it the calling
 * thread's current device, and then restores the previous one.
 *
 * Options and result structures begin with struct_size, the size that the caller was compiled with:
 * set it with the *_default() function or to sizeof. Later versions append fields only. The library
 * rejects options of a newer caller that it does not know, by their first nonzero byte, nonzero
 * reserved fields, and values other than 0 and 1 where these are listed.
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
/* Describes the calling thread's last failed call; "" if none. Valid until its next failure.
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

/* Which words that look like addresses are relocated. */
#define GFXGRAPH_POINTERS_DEFAULT 0 /* as PROVEN if the trace says it, else MATCHED */
#define GFXGRAPH_POINTERS_PROVEN                                       \
  1 /* as `gfxgraph provenance --write` found; where it found nothing, \
     * all; a trace without its record is refused */
#define GFXGRAPH_POINTERS_TYPED 2   /* those whose type says that they are pointers */
#define GFXGRAPH_POINTERS_MATCHED 3 /* all, as the recorder found them */

typedef struct gfxgraph_trace_options_t {
  uint32_t struct_size;      /* bytes */
  uint32_t allow_torn;       /* 1: read a damaged or unfinished file up to the damage */
  uint32_t allow_incomplete; /* 1: accept traces whose recording missed calls, or did not finish */
  uint32_t pointers;         /* GFXGRAPH_POINTERS_..., default DEFAULT */
  uint64_t max_operations;   /* of one run; nodes of launched graphs count at each launch; a trace
                                with more is rejected; 0, the default: 4,000,000 */
} gfxgraph_trace_options_t;
GFXGRAPH_API gfxgraph_trace_options_t gfxgraph_trace_options_default(void) GFXGRAPH_NOEXCEPT;

/* `options` may be NULL. The file is mapped and must not be changed while the trace, or a session
 * or step made from it, exists. Incomplete traces can be opened and inspected; sessions of them
 * need allow_incomplete. Sessions and steps read and check the contents that they need, and fail if
 * one is damaged. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_open(const char* path,
                                                   const gfxgraph_trace_options_t* options,
                                                   gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* A regular file that is open for reading, from its beginning; it may be closed afterwards. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_trace_open_descriptor(int descriptor, const gfxgraph_trace_options_t* options,
                               gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* The bytes are not copied: they must begin at a multiple of 64 and stay unchanged as long as the
 * trace and everything made from it exist. */
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
  int32_t hip_runtime_version; /* from hipRuntimeGetVersion */
  uint32_t sealed;             /* 0: the recording did not finish */
  uint32_t complete;           /* 0: not sealed, or calls are missing: see the findings */
  uint32_t launch_count;       /* launches, including those inside of launched graphs */
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
  uint32_t explicit_size_bytes; /* of the kernarg segment: the part that a launch passes */
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
  uint32_t ambiguous;    /* 1: only its value marks it as a pointer */
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
  uint64_t extent_bytes; /* minimum size of memory in its place: more than size_bytes if the program
                            used the mapped bytes past that */
  uint64_t recorded_address;
  uint64_t begin_sequence; /* the recorded events between which it lived */
  uint64_t end_sequence;
  uint32_t post_state_known; /* 1: verification compares it */
  /* 1: the trace lacks its content (gfxgraph-record --contents none): bind a buffer, or see
   * gfxgraph_session_options_t.zero_unknown */
  uint32_t initial_state_unknown;
  const char* symbol; /* of a module global, else "" */
  /* the program's name for it (gfxgraph/record.h), otherwise `symbol`, otherwise the call that
   * allocated it, as "load_model(char const*)+0x1f4#3", which is stable between recordings;
   * otherwise "" */
  const char* name;
  uint32_t name_source; /* GFXGRAPH_NAME_... */
  uint32_t reserved;    /* 0 */
} gfxgraph_buffer_t;
/* `buffer` is the id, from 1. GFXGRAPH_NOT_FOUND for ids without a buffer. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_buffer(
    gfxgraph_trace_t trace, uint32_t buffer, gfxgraph_buffer_t* description) GFXGRAPH_NOEXCEPT;

/* ---- ranges ------------------------------------------------------------------------------------
 * A range is a named section of the recorded stream: "decode#3" is the fourth range called decode
 * that the program began. */

typedef uint32_t gfxgraph_range_t;
#define GFXGRAPH_RANGE_ALL UINT32_MAX /* the whole trace */

typedef struct gfxgraph_range_info_t {
  uint32_t struct_size;
  /* Ranges with one number submitted the same kernels, copies and memsets to the same streams in
   * the same order. From 1; 0: of GFXGRAPH_RANGE_ALL. */
  uint32_t shape;
  const char* name;
  uint64_t ordinal; /* among all ranges of this name that the program began */
  uint64_t first_event;
  uint64_t end_event;
  uint64_t launches; /* of kernels, including nodes of launched graphs */
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
/* "decode#3"; "decode": the first range of this name in the trace; "all": the whole trace, unless a
 * range has this name. "period#1#5" is a section that the program did not mark: the sixth
 * repetition of period 1 of `gfxgraph info --ranges`, computed on request; its number is not below
 * range_count. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_range(gfxgraph_trace_t trace, const char* name,
                                                         gfxgraph_range_t* range) GFXGRAPH_NOEXCEPT;
/* Finds a buffer that exists during the range: by name, or "#3" by id. GFXGRAPH_INVALID_ARGUMENT if
 * several have the name. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_find_buffer(gfxgraph_trace_t trace,
                                                          gfxgraph_range_t range, const char* name,
                                                          uint32_t* buffer) GFXGRAPH_NOEXCEPT;

/* A parameter is a value that differs between the recorded iterations of a range (ranges of the
 * same name and shape). All places that always hold equal values form one parameter. There are none
 * if the trace has only one iteration. */
enum {
  GFXGRAPH_PATTERN_STEP = 1, /* increases by `step` from iteration to iteration */
  GFXGRAPH_PATTERN_SWAP = 2, /* alternates between `period` values, as with double buffers */
  GFXGRAPH_PATTERN_FREE = 3  /* no rule was found */
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
  /* the buffer's name, or "buffer 3", followed by "+0x40" at an offset, and by "@2" and so on if
   * the name would repeat */
  const char* name;
  uint64_t size_bytes; /* rows and slices of a pitched copy are stored without gaps */
  uint32_t buffer;     /* on the device */
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
  GFXGRAPH_LAYOUT_SHIFT = 1 /* every buffer at another address, as a proof */
};

/* Device memory of buffers that the recorded program allocated and freed again. */
enum {
  /* Buffers with disjoint lifetimes share memory, one after another; runs begin it with fresh
     bytes. gfxgraph_session_read, _write and _address reject these buffers. Verification counts
     them as uncompared if another buffer has used their memory since. */
  GFXGRAPH_MEMORY_PACKED = 0,
  /* Each has its own memory as long as the session lives. */
  GFXGRAPH_MEMORY_APART = 1,
  /* Packed; each run copies the contents of such a buffer to pinned host memory before another one
     gets its memory, and verification compares the copy. */
  GFXGRAPH_MEMORY_PACKED_KEPT = 2
};

/* Where the steps of a session work. A trace that was captured in this process
 * (gfxgraph_capture_end) knows the program's own memory and code: in place, steps run over them, as
 * the program would. Nothing is loaded, copied or restored; only memory that the program allocated
 * and freed inside of the capture is allocated anew.
 * - Lifetime: the program keeps what the steps use until their runs are complete. What it gives
 *   back is noticed: gfxgraph_step_create of a step that uses it, gfxgraph_step_run and _commit,
 * and access to such a buffer return GFXGRAPH_NOT_FOUND and name it, before anything is submitted.
 *   Other steps run on. Addresses that the caller set as bytes (gfxgraph_step_set_argument) are
 *   watched only where the program had a pointer.
 * - Threads: as for other sessions. The program may free and unload in any thread, but not while a
 *   run that uses it is being submitted or in flight.
 * - Errors: what needs recorded contents returns GFXGRAPH_UNSUPPORTED: gfxgraph_step_restore,
 *   gfxgraph_step_verify, GFXGRAPH_BIND_FILL, GFXGRAPH_LAYOUT_SHIFT. So does a step whose work was
 *   on another device than the session's, and gfxgraph_session_bind of a buffer whose address the
 *   program's memory is known to hold. */
enum {
  GFXGRAPH_PLACE_DEFAULT = 0, /* in place, if the trace was captured in this process */
  GFXGRAPH_PLACE_APART = 1    /* with memory and code of its own; needs a capture with contents */
};

/* Receives log messages of the library, one line without its line end; `context` is the caller's.
 * Called by the thread that called the library, within that call; must not call the library. */
enum { GFXGRAPH_LOG_INFO = 0, GFXGRAPH_LOG_WARNING = 1 };
typedef void (*gfxgraph_log_t)(void* context, int32_t level, const char* text);

/* The caller's allocator for memory that a session and its steps otherwise allocate with HIP:
 * buffers, places for inputs and outputs, patterns of fills. Not used for memory that the program
 * registered. */
enum {
  GFXGRAPH_MEMORY_DEVICE = 0,
  GFXGRAPH_MEMORY_MANAGED = 1,
  GFXGRAPH_MEMORY_PINNED = 2 /* as from hipHostMalloc */
};
/* Returns a hipError_t. The memory must be aligned to at least 256 bytes and valid until it is
 * released, after work that uses it has ended. Called within calls of the library, on their
 * threads. */
typedef int32_t (*gfxgraph_allocate_t)(void* context, void** pointer, size_t size_bytes,
                                       int32_t kind);
typedef void (*gfxgraph_release_t)(void* context, void* pointer);

typedef struct gfxgraph_session_options_t {
  uint32_t struct_size;
  int32_t layout;            /* GFXGRAPH_LAYOUT_..., default same */
  int32_t device;            /* HIP ordinal; -1, the default: the calling thread's current device */
  uint32_t keep_ambiguous;   /* 1: keep words that only look like pointers */
  uint32_t zero_unknown;     /* 1: unbound memory whose content the trace lacks (gfxgraph-record
                                --contents none) begins with zeros, except words that point to other
                                memory; 0, the default: it is rejected with GFXGRAPH_INCOMPLETE */
  uint32_t poison_fresh;     /* 1: memory that nobody had written when the program got it begins
                              * with bytes of 0xa5; 0, the default: with zeros */
  uint32_t concurrent_steps; /* 1: the caller orders steps that share memory which one of them
                              * writes; 0, the default: see gfxgraph_step_run */
  uint32_t max_load_seconds; /* approximate limit for loading; 0, the default: none */
  uint64_t
      max_memory_bytes; /* reject a trace that needs more, host and device memory together, before
                           allocating; 0, the default: the memory of device and machine */
  gfxgraph_log_t log;   /* may be NULL */
  void* log_context;
  gfxgraph_allocate_t allocate; /* NULL, the default: HIP's; set together with `release` */
  gfxgraph_release_t release;
  void* allocator_context;
  uint32_t memory;    /* GFXGRAPH_MEMORY_..., default packed */
  uint32_t reserved;  /* zero */
  uint32_t place;     /* GFXGRAPH_PLACE_... */
  uint32_t reserved2; /* zero */
} gfxgraph_session_options_t;
GFXGRAPH_API gfxgraph_session_options_t gfxgraph_session_options_default(void) GFXGRAPH_NOEXCEPT;

/* Finds HIP and the device; nothing is loaded or allocated there yet. `options` may be NULL.
 * GFXGRAPH_INCOMPLETE: the trace is incomplete and was opened without allow_incomplete. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_session_create(gfxgraph_trace_t trace, const gfxgraph_session_options_t* options,
                        gfxgraph_session_t* session) GFXGRAPH_NOEXCEPT;
/* Bound memory, and the streams that steps ran on, must exist until the session and its steps are
 * destroyed. */
GFXGRAPH_API void gfxgraph_session_destroy(gfxgraph_session_t session) GFXGRAPH_NOEXCEPT;

/* gfxgraph_step_restore, and gfxgraph_step_create unless it keeps memory, write the recorded
 * content into the buffer, as into the library's own memory. Without this flag its current content
 * is used. */
#define GFXGRAPH_BIND_FILL 1u
/* Uses the caller's memory in place of a buffer, from now on: in arguments, copies, and words in
 * memory that are known to point to it. Device kinds need device memory; pinned and registered
 * buffers need the host address of pinned or registered memory. At least extent_bytes. Not for
 * module globals. Of several bindings of one buffer the last one counts. GFXGRAPH_INVALID_ARGUMENT
 * if a part of the memory belongs to another buffer, bound or of the library, unless both had one
 * address in the recording, one after the other. Before the session is loaded this needs no device
 * and saves the library's own memory. Afterwards it waits for the session's work; values that
 * kernels have already computed from the old address stay unchanged. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_bind(gfxgraph_session_t session, uint32_t buffer,
                                                     void* pointer, uint64_t size_bytes,
                                                     uint32_t flags) GFXGRAPH_NOEXCEPT;

/* Loads code objects and allocates memory now; otherwise the first gfxgraph_step_create does. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_load(gfxgraph_session_t session) GFXGRAPH_NOEXCEPT;

/* Copies between the caller's memory and a buffer. Loads the session, and waits for its work.
 * GFXGRAPH_UNSUPPORTED (also from gfxgraph_session_address): the buffer shares memory
 * (GFXGRAPH_MEMORY_PACKED). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_read(gfxgraph_session_t session, uint32_t buffer,
                                                     uint64_t offset_bytes, void* bytes,
                                                     uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_write(gfxgraph_session_t session, uint32_t buffer,
                                                      uint64_t offset_bytes, const void* bytes,
                                                      uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* The device address of a buffer in this session. Loads the session. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_session_address(gfxgraph_session_t session, uint32_t buffer,
                                                        void** address) GFXGRAPH_NOEXCEPT;

typedef struct gfxgraph_session_info_t {
  uint32_t struct_size;
  uint32_t loaded; /* 1: its memory is allocated */
  const char* device_name;
  const char* gpu_arch;
  const char* hip_library; /* path of the libamdhip64 in use */
  int32_t hip_runtime_version;
  int32_t device;        /* HIP ordinal */
  uint64_t device_bytes; /* memory that the session needs beside bound memory; known before it is
                            loaded */
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
  GFXGRAPH_MODE_AUTO = 3,   /* batch, graph or packets: measured on this runtime during creation;
                               in place, where nothing runs: graph, or else batch */
  GFXGRAPH_MODE_PACKETS = 4 /* prebuilt AQL packets in an HSA queue, one doorbell per run */
};

struct gfxgraph_border_t; /* gfxgraph/capture.h */
/* Called by the thread that runs the step, when all work before the border has ended. It does what
 * the program's host did there: it may read and write memory, and submit work to the run's stream.
 * It must not use the step. Not 0: the run ends here with GFXGRAPH_INVALID_ARGUMENT. */
typedef int32_t (*gfxgraph_border_function_t)(void* context,
                                              const struct gfxgraph_border_t* border);

typedef struct gfxgraph_step_options_t {
  uint32_t struct_size;
  gfxgraph_mode_t mode; /* default auto */
  uint32_t
      graph_max_nodes;   /* split graphs into parts of at most this many nodes; 0: a safe number */
  uint32_t graph_linear; /* 1: make every graph a chain in recorded order */
  uint32_t keep_memory;  /* 1: memory keeps its contents, for another step beside steps that ran;
                            buffers without content in this session get the recorded one; 0, the
                            default, and always for the first step of a session: as after
                            gfxgraph_step_restore. Not with auto. In place it is always kept. */
  uint32_t auto_milliseconds; /* auto starts no further run after this time; 0: 3000 */
  /* Needed in place if the range has borders. Runs with borders are not asynchronous. */
  gfxgraph_border_function_t border;
  void* border_context;
} gfxgraph_step_options_t;
GFXGRAPH_API gfxgraph_step_options_t gfxgraph_step_options_default(void) GFXGRAPH_NOEXCEPT;

/* Prepares every argument and, in graph mode, builds and instantiates. `options` may be NULL. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_create(gfxgraph_session_t session,
                                                    gfxgraph_range_t range,
                                                    const gfxgraph_step_options_t* options,
                                                    gfxgraph_step_t* step) GFXGRAPH_NOEXCEPT;
/* Waits for the step's work in flight. */
GFXGRAPH_API void gfxgraph_step_destroy(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

/* A non-blocking stream that the step owns, for callers without one; it lives as long as the step.
 */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_stream(gfxgraph_step_t step,
                                                    void** hip_stream) GFXGRAPH_NOEXCEPT;

/* Submits the range once, after the work on `hip_stream`; NULL is HIP's null stream. In batch and
 * graph mode the work is asynchronous on the stream, and the call allocates nothing and takes no
 * lock of this library, with two exceptions: if the recorded program itself wrote pinned or managed
 * memory, the call waits for the work before that write; and the first run after changes applies
 * them (gfxgraph_step_commit). Eager mode waits for the stream before it begins and runs on streams
 * of its own. Mode packets runs in a queue of its own, after the stream's earlier work and before
 * its later work; it waits if 64 runs are in flight or the queue is full, and if the stream is not
 * that of a run in flight. Returns GFXGRAPH_UNSUPPORTED and submits nothing while the stream is
 * capturing; or while another step of the session is in flight on another stream, or is being run
 * by another thread, and one of them writes memory that the other uses, according to the recorded
 * writes (gfxgraph_session_options_t.concurrent_steps). The caller must order runs of one step on
 * several streams. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_run(gfxgraph_step_t step,
                                                 void* hip_stream) GFXGRAPH_NOEXCEPT;
/* Mode packets: the same without fences. The run does not wait for the work on `hip_stream`, and
 * later work on the stream does not wait for the run: the caller must call gfxgraph_step_wait
 * before it uses the run's results and before it changes the run's inputs. Runs of one step still
 * follow each other. Other modes: gfxgraph_step_run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_run_unfenced(gfxgraph_step_t step,
                                                          void* hip_stream) GFXGRAPH_NOEXCEPT;
/* GFXGRAPH_OK: all submitted runs, and all other work on the stream of the last run, are complete.
 * GFXGRAPH_NOT_READY: they are not. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_query(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;
/* Blocks until all submitted runs are complete. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_wait(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;
/* Waits for the session's work, then restores the session's memory to its state at the beginning of
 * the range: the recorded initial contents, and the results of recorded work before the range,
 * which is run for this. Bound buffers without GFXGRAPH_BIND_FILL keep their contents. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_restore(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

/* All of these apply to runs that are submitted after the call, never to one in flight, until they
 * are set again. None waits, except an input that was set four times while the first of these runs
 * is still in flight. */

/* Sets every place of the parameter (gfxgraph_trace_name_parameter: as far from the first as they
 * were); numbers are truncated to the size of the place. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_parameter(gfxgraph_step_t step, uint32_t parameter,
                                                           int64_t number) GFXGRAPH_NOEXCEPT;
/* The address of a byte of a buffer. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_step_set_parameter_address(gfxgraph_step_t step, uint32_t parameter, uint32_t buffer,
                                    uint64_t offset_bytes) GFXGRAPH_NOEXCEPT;
/* Sets every parameter to the value that its pattern gives `iterations` iterations after the
 * recorded one; 0: as recorded. Free parameters keep their recorded values. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_advance(gfxgraph_step_t step,
                                                     uint64_t iterations) GFXGRAPH_NOEXCEPT;
/* Sets bytes of a launch's arguments: scalars, or pointers to memory of the caller. `launch` is its
 * number in the trace. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_argument(gfxgraph_step_t step, uint32_t launch,
                                                          uint32_t offset_bytes, const void* bytes,
                                                          uint32_t size_bytes) GFXGRAPH_NOEXCEPT;
/* In workgroups. Not for launches with a partial workgroup. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_grid(gfxgraph_step_t step, uint32_t launch,
                                                      uint32_t x, uint32_t y,
                                                      uint32_t z) GFXGRAPH_NOEXCEPT;
/* Copies exactly the input's size_bytes. The first call while a run is in flight
 * allocates three more places for them in pinned memory. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_input(gfxgraph_step_t step, uint32_t input,
                                                       const void* bytes,
                                                       uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Each run writes the output's size_bytes to `bytes`, which must stay valid; they are complete when
 * the run is. NULL: to memory of the library, as before the first call. Asynchronous if HIP's
 * copies to this memory are (pinned memory). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_set_output(gfxgraph_step_t step, uint32_t output,
                                                        void* bytes,
                                                        uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Waits for the step, then copies the output of the last run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_read_output(gfxgraph_step_t step, uint32_t output,
                                                         void* bytes,
                                                         uint64_t size_bytes) GFXGRAPH_NOEXCEPT;
/* Applies changes now instead of in the next run. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_step_commit(gfxgraph_step_t step) GFXGRAPH_NOEXCEPT;

enum {
  GFXGRAPH_IDENTICAL = 0,
  GFXGRAPH_DIFFERENT = 1,
  GFXGRAPH_UNCOMPARED = 2 /* the trace has no reference contents */
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
/* Waits, then compares every buffer with its recorded final contents, at the end of one run from
 * the initial state (gfxgraph_step_restore). Bytes that were never written are left out: if there
 * may be some, this runs the program up to three more times, and then restores memory. Results
 * computed from them are uncompared. Returns GFXGRAPH_MISMATCH if one differs; the structures are
 * filled in that case too. GFXGRAPH_OK means that nothing differs; everything is identical only if
 * `uncompared` and `copies_uncompared` are 0 as well. Memory of the program's graphs that was freed
 * is in no count: its final contents cannot be read. `results`, if not NULL, receives one entry per
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
  uint32_t graphs;  /* graph mode: executable graphs and their nodes */
  uint32_t submits; /* graph mode: launches of them in a run, and work that no graph holds */
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

#include <gfxgraph/capture.h>
#include <gfxgraph/sets.h>

#endif /* GFXGRAPH_GFXGRAPH_H */
