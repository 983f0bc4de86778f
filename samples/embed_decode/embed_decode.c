/* A product in C that goes on decoding where a recorded program stopped, without that program:
 *
 *   embed_decode TRACE.gfxg TOKENS [eager|batch|graph|packets|auto]
 *
 * TRACE is a recording of samples/decode_step. The key and value caches and the logits are memory
 * of this program, the weights come from the trace, and the work goes to a stream of this program.
 */
#include <gfxgraph/gfxgraph.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS 64 /* positions of decode_step's model */

static void check(gfxgraph_status_t status) {
  if (status == GFXGRAPH_OK) return;
  fprintf(stderr, "embed_decode: %s: %s\n", gfxgraph_status_name(status), gfxgraph_last_error());
  exit(1);
}

static void check_hip(hipError_t error) {
  if (error == hipSuccess) return;
  fprintf(stderr, "embed_decode: %s\n", hipGetErrorString(error));
  exit(1);
}

static gfxgraph_mode_t parse_mode(const char* text) {
  if (strcmp(text, "eager") == 0) return GFXGRAPH_MODE_EAGER;
  if (strcmp(text, "batch") == 0) return GFXGRAPH_MODE_BATCH;
  if (strcmp(text, "graph") == 0) return GFXGRAPH_MODE_GRAPH;
  if (strcmp(text, "packets") == 0) return GFXGRAPH_MODE_PACKETS;
  return GFXGRAPH_MODE_AUTO;
}

/* The last recorded token: its range, and its number. */
static gfxgraph_range_t last_token(gfxgraph_trace_t trace, uint64_t* number) {
  gfxgraph_environment_t all = {.struct_size = sizeof all};
  check(gfxgraph_trace_environment(trace, &all));
  for (uint32_t range = all.range_count; range-- > 0;) {
    gfxgraph_range_info_t info = {.struct_size = sizeof info};
    check(gfxgraph_trace_range(trace, range, &info));
    if (strcmp(info.name, "decode") != 0 || !info.ended) continue;
    *number = info.ordinal;
    return range;
  }
  fprintf(stderr, "embed_decode: the trace has no range decode\n");
  exit(1);
}

/* Our memory for the buffers whose names end so. Caches begin with what the recorded tokens left.
 */
static size_t bind(gfxgraph_trace_t trace, gfxgraph_session_t session, const char* ending,
                   uint32_t flags, void** memory) {
  gfxgraph_environment_t all = {.struct_size = sizeof all};
  size_t bound = 0;
  check(gfxgraph_trace_environment(trace, &all));
  for (uint32_t id = 1; id <= all.buffer_count; ++id) {
    gfxgraph_buffer_t buffer = {.struct_size = sizeof buffer};
    if (gfxgraph_trace_buffer(trace, id, &buffer) != GFXGRAPH_OK) continue; /* no such buffer */
    const size_t length = strlen(buffer.name), wanted = strlen(ending);
    if (length < wanted || strcmp(buffer.name + length - wanted, ending) != 0) continue;
    check_hip(hipMalloc(&memory[bound], buffer.extent_bytes));
    check(gfxgraph_session_bind(session, id, memory[bound++], buffer.extent_bytes, flags));
  }
  return bound;
}

int main(int argc, char** argv) {
  const int tokens = argc > 2 ? atoi(argv[2]) : 0;
  if (tokens < 1 || tokens > MOST_TOKENS) {
    fprintf(
        stderr,
        "usage: embed_decode TRACE TOKENS [eager|batch|graph|packets|auto]   (libgfxgraph %s)\n",
        gfxgraph_version());
    return 2;
  }
  gfxgraph_trace_t trace = NULL;
  gfxgraph_session_t session = NULL;
  gfxgraph_step_t step = NULL;
  check(gfxgraph_trace_open(argv[1], NULL, &trace));
  uint64_t recorded = 0;
  const gfxgraph_range_t decode = last_token(trace, &recorded);

  check(gfxgraph_session_create(trace, NULL, &session));
  void* memory[1024] = {NULL}; /* more than the model has */
  size_t bound = bind(trace, session, " cache", GFXGRAPH_BIND_FILL, memory);
  void* const* const logits = memory + bound;
  bound += bind(trace, session, "logits", 0, memory + bound);

  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = parse_mode(argc > 3 ? argv[3] : "auto");
  check(gfxgraph_step_create(session, decode, &options, &step));
  hipStream_t stream;
  check_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  /* The token decided on stays on the device: each run begins with what the one before left. */
  for (uint64_t n = 0; recorded + n < (uint64_t)tokens; ++n) {
    check(gfxgraph_step_advance(step, n));
    check(gfxgraph_step_run(step, stream));
  }
  check_hip(hipStreamSynchronize(stream));

  uint32_t history = 0;
  int decided[MOST_TOKENS];
  float first_logit = 0;
  check(gfxgraph_trace_find_buffer(trace, decode, "history", &history));
  check(gfxgraph_session_read(session, history, 0, decided, sizeof(int) * (size_t)tokens));
  check_hip(hipMemcpy(&first_logit, *logits, sizeof first_logit, hipMemcpyDeviceToHost));
  printf("tokens:");
  for (int i = 0; i < tokens; ++i) printf(" %d", decided[i]);
  printf("\nfirst logit of the last token: %g\n", first_logit);

  gfxgraph_step_destroy(step);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(trace);
  while (bound-- > 0) check_hip(hipFree(memory[bound]));
  check_hip(hipStreamDestroy(stream));
  return 0;
}
