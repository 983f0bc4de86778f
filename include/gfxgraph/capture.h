/* gfxgraph: captures a step of the program that calls it, and runs it in place: over the program's
 * own memory and code, nothing copied, nothing loaded a second time. Part of gfxgraph.h, which
 * includes this file; its rules for errors, ownership and threads apply.
 *
 *   gfxgraph_capture_begin    what follows on the stream, by HIP's calls, is the step
 *   gfxgraph_capture_pause    between two iterations; gfxgraph_capture_resume begins another one
 *   gfxgraph_capture_end      gives a trace in memory; its first range is the first iteration
 *   gfxgraph_session_create   of this trace: in place
 *   gfxgraph_step_create, gfxgraph_step_run, ...  as with a trace from a file
 *
 * The process must have gfxgraph's hooks from its beginning: started by `gfxgraph run
 * --capture-api`, or linked with libgfxgraph-recorder.so before HIP's library (CMake:
 * gfxgraph::capture). Otherwise gfxgraph_capture_begin returns GFXGRAPH_UNSUPPORTED.
 *
 * A capture holds the work of the calling thread, on whatever streams, and that of other threads on
 * streams that joined: those that wait for an event which was recorded in the capture. Memory that
 * the program frees after the capture, and code that it unloads, make steps that use it refuse to
 * run with GFXGRAPH_NOT_FOUND, and the message names it.
 */
#ifndef GFXGRAPH_CAPTURE_H
#define GFXGRAPH_CAPTURE_H

#include <gfxgraph/gfxgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gfxgraph_capture_s* gfxgraph_capture_t;

enum {
  /* The work is done at once, and once, as without the capture. */
  GFXGRAPH_CAPTURE_RUN = 0,
  /* The work is not done: the stream is captured (hipStreamBeginCapture, thread-local), by the
   * layer of docs/capture.md if the process has it, otherwise by HIP, with what that cannot
   * capture. */
  GFXGRAPH_CAPTURE_HOLD = 1
};

typedef struct gfxgraph_capture_options_t {
  uint32_t struct_size;
  uint32_t mode; /* GFXGRAPH_CAPTURE_... */
  /* 1: with what memory holds at the beginning, so that the saved trace opens elsewhere. Begin and
   * end then wait for the device, and the trace holds the work of the whole process. Not with
   * GFXGRAPH_CAPTURE_HOLD. */
  uint32_t contents;
  uint32_t wait_milliseconds; /* for a capture that another thread has open: one at a time in a
                                 process; default 10,000. GFXGRAPH_NOT_READY if it does not end */
  const char* name;           /* of the trace's ranges, one for each iteration; NULL: "step" */
} gfxgraph_capture_options_t;
GFXGRAPH_API gfxgraph_capture_options_t gfxgraph_capture_options_default(void) GFXGRAPH_NOEXCEPT;

/* `options` may be NULL. A thread has one capture at a time. */
GFXGRAPH_API gfxgraph_status_t
gfxgraph_capture_begin(void* hip_stream, const gfxgraph_capture_options_t* options,
                       gfxgraph_capture_t* capture) GFXGRAPH_NOEXCEPT;
/* Ends an iteration: what follows does not belong to the step until gfxgraph_capture_resume begins
 * the next one. Iterations of one shape have parameters: the values that differ between them
 * (gfxgraph_trace_parameter). */
GFXGRAPH_API gfxgraph_status_t gfxgraph_capture_pause(gfxgraph_capture_t capture) GFXGRAPH_NOEXCEPT;
GFXGRAPH_API gfxgraph_status_t gfxgraph_capture_resume(gfxgraph_capture_t capture)
    GFXGRAPH_NOEXCEPT;
/* A border: runs of the step wait here and call the function that gfxgraph_step_options_t names.
 * `name` is copied. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_capture_break(gfxgraph_capture_t capture,
                                                      const char* name) GFXGRAPH_NOEXCEPT;
/* How many launches the capture holds: the number that the next one gets, for
 * gfxgraph_step_set_argument, gfxgraph_step_set_grid and gfxgraph_trace_name_parameter. Not while
 * launches are held. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_capture_launches(gfxgraph_capture_t capture,
                                                         uint32_t* count) GFXGRAPH_NOEXCEPT;
/* The caller destroys the trace (gfxgraph_trace_destroy), also while sessions of it live. The
 * capture is gone, also if this fails. GFXGRAPH_INCOMPLETE: the step has calls that were not
 * captured; the message names them. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_capture_end(gfxgraph_capture_t capture,
                                                    gfxgraph_trace_t* trace) GFXGRAPH_NOEXCEPT;
/* Gives it up. Takes NULL. */
GFXGRAPH_API void gfxgraph_capture_abandon(gfxgraph_capture_t capture) GFXGRAPH_NOEXCEPT;

/* Writes the trace to a file, whole or not at all. It opens elsewhere if it was captured with
 * contents; otherwise as one that was recorded with --contents none. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_save(gfxgraph_trace_t trace,
                                                   const char* path) GFXGRAPH_NOEXCEPT;

/* Where the host of a captured program (gfxgraph/capture.h) acted between the work of the step, or
 * may have. */
enum {
  GFXGRAPH_BORDER_WAIT = 1,     /* it waited for work */
  GFXGRAPH_BORDER_RESULT = 2,   /* it got bytes of the device, by a copy */
  GFXGRAPH_BORDER_FUNCTION = 3, /* a function of the program ran on the stream */
  GFXGRAPH_BORDER_BREAK = 4     /* gfxgraph_capture_break */
};
typedef struct gfxgraph_border_t {
  uint32_t struct_size;
  uint32_t kind;   /* GFXGRAPH_BORDER_... */
  uint32_t number; /* among those of the range, from 0 */
  uint32_t reserved;
  const char* name; /* the HIP call, or that of gfxgraph_capture_break */
} gfxgraph_border_t;

/* Bytes of an argument. */
typedef struct gfxgraph_place_t {
  uint32_t launch;       /* its number in the trace */
  uint32_t argument;     /* of the kernel, from 0; the compiler's hidden ones do not count */
  uint32_t offset_bytes; /* in the argument */
  uint32_t size_bytes;   /* at most 8; 0: as far as the argument goes */
} gfxgraph_place_t;
/* Makes a parameter of places that the caller knows, for steps created from now on; it gets
 * the next number, so gfxgraph_step_advance sets it after those that share places with it. Its
 * value is that of the first place; the others keep their distance from it. `step` is what
 * gfxgraph_step_advance adds for each iteration (random state: what one run draws); 0: nothing.
 * GFXGRAPH_INVALID_ARGUMENT if the name is taken, a place is not in the range, or one holds a
 * number and another an address, or an address of another buffer. */
GFXGRAPH_API gfxgraph_status_t gfxgraph_trace_name_parameter(
    gfxgraph_trace_t trace, gfxgraph_range_t range, const char* name, int64_t step,
    const gfxgraph_place_t* places, uint32_t place_count, uint32_t* parameter) GFXGRAPH_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GFXGRAPH_CAPTURE_H */
