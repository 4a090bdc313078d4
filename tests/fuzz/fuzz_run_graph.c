/* SPDX-License-Identifier: Apache-2.0
 * fuzz_run_graph.c: graphs of random nodes, run in a session: variables, queues, tables, control
 * flow, functions, gradients, GraphDefs and simulated GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "support/random_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool has_started;
  if (size < 10) return 0;
  if (!has_started) random_graph_start();
  has_started = true;
  struct random_bytes bytes = {.data = data + 10, .end = data + size};
  memcpy(&bytes.state, data + 2, sizeof bytes.state);
  const struct random_graph_result result =
      random_graph((data[0] | data[1] << 8) % schema_count(), &bytes);
  if (result.worst) {
    fprintf(stderr, "%s\n", situ_status_message(result.worst));
    abort();
  }
  return 0;
}
