/* The header is C, and the library links from C. */
#include <gfxgraph/gfxgraph.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  gfxgraph_trace_t trace = NULL;
  gfxgraph_trace_options_t options = gfxgraph_trace_options_default();
  const gfxgraph_status_t status = gfxgraph_trace_open("/nowhere/no.gfxg", &options, &trace);
  if (status == GFXGRAPH_OK || trace != NULL) return 1;
  printf("%s: %s: %s\n", gfxgraph_version(), gfxgraph_status_name(status), gfxgraph_last_error());
  return strlen(gfxgraph_last_error()) == 0;
}
