/* SPDX-License-Identifier: Apache-2.0
 * files.h: loads and saves GraphDefs in tests. */
#ifndef SITU_TESTS_GRAPH_FILES_H
#define SITU_TESTS_GRAPH_FILES_H

#include "graph/builder.h"

/* Loads a valid GraphDef. */
static inline situ_graph *load_text(const char *text) {
  situ_graph *graph = NULL;
  const situ_status status = situ_graph_load(text, strlen(text), &graph);
  if (status) fail_msg("%s", situ_status_message(status));
  assert_non_null(graph);
  return graph;
}

/* Asserts that loading a GraphDef fails. */
static inline void expect_refused(const char *text, situ_code code, const char *part) {
  situ_graph *graph = (situ_graph *)&graph;
  expect_status(situ_graph_load(text, strlen(text), &graph), code, part);
  assert_null(graph);
}

static inline void expect_wrong(const char *text, const char *part) {
  expect_refused(text, SITU_INVALID_ARGUMENT, part);
}

/* Saves the graph to a string, which the caller frees. */
static inline char *save_text(const situ_graph *graph, bool as_json) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  assert_null(situ_graph_save(graph, as_json, stream));
  fclose(stream);
  return text;
}

/* Saves, loads and saves again, in text format and JSON. */
static inline void expect_round_trip(const situ_graph *graph) {
  char *plain = save_text(graph, false), *json = save_text(graph, true);
  situ_graph *from_plain = load_text(plain), *from_json = load_text(json);
  char *texts[] = {save_text(from_plain, false), save_text(from_json, false),
                   save_text(from_plain, true), save_text(from_json, true)};
  assert_string_equal(texts[0], plain);
  assert_string_equal(texts[1], plain);
  assert_string_equal(texts[2], json);
  assert_string_equal(texts[3], json);
  for (size_t i = 0; i < COUNT_OF(texts); i++) free(texts[i]);
  free(plain);
  free(json);
  situ_graph_release(from_plain);
  situ_graph_release(from_json);
}

#endif
