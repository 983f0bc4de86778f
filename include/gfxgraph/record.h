/* gfxgraph: annotations of a program for gfxgraph-record: ranges, marks and names of memory.
 *
 * Header only, C99 or C++11. Nothing is linked (before glibc 2.34: -ldl). Without the recorder
 * every call does nothing and costs one load and one branch. roctx ranges (roctxRangePush,
 * roctxRangePop, roctxRangeStart, roctxRangeStop, roctxMark) and hipProfilerStart and
 * hipProfilerStop are recorded as well, without this header.
 *
 *   gfxgraph_range_begin("decode");
 *   ... kernels, copies, graphs ...
 *   gfxgraph_range_end("decode");
 *
 * A range contains all work that the process submits between its two calls, on every thread. Ranges
 * may nest and overlap. Of several open ranges with one name a thread ends the one that it began
 * last; a thread that began none of them ends the one that began last. The n-th range of a name is
 * NAME#n, counted from 0 in the order in which they began, on whatever thread.
 *
 * A name identifies memory in a trace, whatever its address is in the next run:
 *
 *   gfxgraph_name(pointer, "kv cache");
 *
 * names the allocation (hipMalloc, hipMallocManaged, hipHostMalloc, hipHostRegister, a variable)
 * that holds the byte at `pointer`, until it is freed; the last name counts. Other pointers and
 * empty names are ignored, and a note in the trace reports them. Names apply inside and outside of
 * ranges.
 *
 * Thread-safe; never fails. If gfxgraph-record --range records a range, its beginning and its end
 * wait for the device; otherwise no call does. Names are UTF-8, copied, and cut after 1,000 bytes;
 * NULL is "".
 */
#ifndef GFXGRAPH_RECORD_H
#define GFXGRAPH_RECORD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*gfxgraph_record_text_fn)(const char*);
typedef void (*gfxgraph_record_name_fn)(const void*, const char*);

/* The recorder's function, looked up once; NULL without a recorder. */
static inline void* gfxgraph_record_symbol(void** known, const char* symbol) {
  void* function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
  if (function == 0) {
    function = dlsym(RTLD_DEFAULT, symbol);
    if (function == 0)
      function = (void*)known; /* not recorded: the recorder is never loaded later */
    __atomic_store_n(known, function, __ATOMIC_RELEASE);
  }
  return function == (void*)known ? 0 : function;
}

static inline gfxgraph_record_text_fn gfxgraph_record_find(void** known, const char* symbol) {
  void* function = gfxgraph_record_symbol(known, symbol);
  gfxgraph_record_text_fn result = 0;
  if (function != 0) __builtin_memcpy(&result, &function, sizeof(result));
  return result;
}

static inline void gfxgraph_range_begin(const char* name) {
  static void* known = 0;
  gfxgraph_record_text_fn function = gfxgraph_record_find(&known, "gfxgraph_recorder_range_begin");
  if (function != 0) function(name);
}

static inline void gfxgraph_range_end(const char* name) {
  static void* known = 0;
  gfxgraph_record_text_fn function = gfxgraph_record_find(&known, "gfxgraph_recorder_range_end");
  if (function != 0) function(name);
}

/* A single point in time. */
static inline void gfxgraph_mark(const char* text) {
  static void* known = 0;
  gfxgraph_record_text_fn function = gfxgraph_record_find(&known, "gfxgraph_recorder_mark");
  if (function != 0) function(text);
}

/* Names the allocation that contains `pointer`. */
static inline void gfxgraph_name(const void* pointer, const char* name) {
  static void* known = 0;
  void* function = gfxgraph_record_symbol(&known, "gfxgraph_recorder_name");
  gfxgraph_record_name_fn call = 0;
  if (function == 0) return;
  __builtin_memcpy(&call, &function, sizeof(call));
  call(pointer, name);
}

#ifdef __cplusplus
}
#endif

#endif
