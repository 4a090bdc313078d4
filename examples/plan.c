/* SPDX-License-Identifier: Apache-2.0
 * plan.c: plans a run without executing it: placement, copies and memory.
 *
 * Prints the requested device, the assigned device and the reason for each node, the copies between
 * devices, and the memory of each device. `situ explain` and `situ plan` show the same for a saved
 * graph. */
#include <situ/situ.h>

static situ_value build(situ_graph *graph) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_device_push(graph, "/cpu:0");
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), data);
  situ_device_pop(graph);
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(3, 1000));
  const situ_value y = situ_matmul(graph, a, x);
  situ_device_push(graph, "/cpu:0");
  const situ_value z = situ_negative(graph, y);
  situ_device_pop(graph);
  return z;
}

static void print(const situ_plan *plan) {
  int count = 0;
  const situ_placement *placed = situ_plan_placements(plan, &count);
  for (int i = 0; i < count; i++)
    printf("%s: requested '%s', is on %s: %s\n", placed[i].node, placed[i].requested,
           placed[i].assigned, placed[i].cause);
  const situ_copy *copies = situ_plan_copies(plan, &count);
  for (int i = 0; i < count; i++)
    printf("copies %llu bytes of %s from %s to %s%s\n", (unsigned long long)copies[i].bytes,
           copies[i].value, copies[i].from, copies[i].to, copies[i].once ? ", once" : "");
  const situ_memory_need *needs = situ_plan_memory(plan, &count);
  for (int i = 0; i < count; i++)
    printf("%s needs %llu bytes: %s\n", needs[i].device, (unsigned long long)needs[i].peak_bytes,
           needs[i].peak_bytes <= needs[i].limit_bytes ? "fits" : "does not fit");
}

int main(void) {
  situ_graph *graph = situ_graph_create();
  const situ_value z = build(graph);
  situ_session *session = NULL;
  situ_plan *plan = NULL;
  situ_status s = situ_session_create(graph, NULL, &session);
  if (!s) s = situ_plan_create(session, NULL, 0, &z, 1, &plan);
  if (!s) print(plan);

  situ_plan_release(plan);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
