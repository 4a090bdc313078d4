/* SPDX-License-Identifier: Apache-2.0
 * fuzz_graph.c: any bytes as a graph; a loaded graph is saved as text and binary, and both read
 * back to the same text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "graph/graph.h"

/* The graph as a text; the caller frees it. */
static char *save(const situ_graph *graph, bool as_json, size_t *length) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, length);
  if (!stream || situ_graph_save(graph, as_json, stream)) abort();
  fclose(stream);
  return text;
}

/* Loads a text that was saved and saves it again. */
static void check_round(const char *text, size_t length, bool as_json) {
  situ_graph *graph = NULL;
  const situ_status status = situ_graph_load(text, length, &graph);
  if (status) {
    fprintf(stderr, "%s\n--- of:\n%s\n", situ_status_message(status), text);
    abort();
  }
  size_t again_length = 0;
  char *again = save(graph, as_json, &again_length);
  if (again_length != length || memcmp(again, text, length)) {
    fprintf(stderr, "%s\n--- became:\n%s\n", text, again);
    abort();
  }
  free(again);
  situ_graph_release(graph);
}

static void describe(const situ_graph *graph) {
  struct strbuf text = {0};
  int32_t *order = malloc(sizeof *order * (size_t)(graph->n_nodes + 1));
  if (!order || graph_import_order(graph, order)) abort();
  for (int32_t i = 0; i < graph->n_nodes; i++) graph_describe(graph, graph->nodes[order[i]], &text);
  free(order);
  strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  situ_graph *graph = NULL;
  const situ_status status = situ_graph_load((const char *)data, size, &graph);
  situ_status_release(status);
  if (!graph) return 0;
  describe(graph);
  /* Function libraries are read, but not written. */
  for (int as_json = 0; as_json < 2 && !graph->n_functions; as_json++) {
    size_t length = 0;
    char *text = save(graph, as_json, &length);
    check_round(text, length, as_json);
    free(text);
  }
  situ_graph_release(graph);
  return 0;
}
