/* SPDX-License-Identifier: Apache-2.0
 * data.c: an input pipeline: shuffles rows, maps them with a graph in two threads, and prefetches
 * batches. */
#include <situ/situ.h>

/* x -> x / 10, as a function of elements. */
static situ_status make_scale(situ_transform **out) {
  const float tenth = 0.1f;
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(2));
  const situ_value y =
      situ_multiply(graph, x, situ_constant(graph, "tenth", SITU_FLOAT, SITU_SCALAR, &tenth));
  const situ_status s = situ_transform_create(graph, &x, 1, &y, 1, out);
  situ_graph_release(graph);
  return s;
}

/* Each step keeps what it is made of: only the last one is needed. */
static situ_status make_pipeline(situ_dataset **out) {
  const float rows[] = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41};
  situ_tensor *tensor = NULL;
  situ_transform *scale = NULL;
  situ_dataset *slices = NULL, *shuffled = NULL, *scaled = NULL, *batches = NULL;
  situ_status s = situ_tensor_create(SITU_FLOAT, SITU_SHAPE(5, 2), rows, &tensor);
  if (!s) s = make_scale(&scale);
  if (!s) s = situ_dataset_from_tensor_slices(&tensor, 1, &slices);
  if (!s) s = situ_dataset_shuffle(slices, 5, 42, &shuffled);
  if (!s) s = situ_dataset_map(shuffled, scale, 2, &scaled);
  if (!s) s = situ_dataset_batch(scaled, 2, false, &batches);
  if (!s) s = situ_dataset_prefetch(batches, SITU_AUTOTUNE, out);
  situ_dataset_release(batches);
  situ_dataset_release(scaled);
  situ_dataset_release(shuffled);
  situ_dataset_release(slices);
  situ_transform_release(scale);
  situ_tensor_release(tensor);
  return s;
}

int main(void) {
  situ_dataset *pipeline = NULL;
  situ_iterator *iterator = NULL;
  situ_status s = make_pipeline(&pipeline);
  if (!s) s = situ_iterator_create(pipeline, NULL, 0, &iterator);
  for (bool end = false; !s && !end;) {
    situ_tensor *batch = NULL;
    s = situ_iterator_next(iterator, &batch, &end);
    if (!s && !end) s = situ_tensor_print(batch, stdout);
    situ_tensor_release(batch);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(pipeline);
  return situ_status_report(s, stderr);
}
