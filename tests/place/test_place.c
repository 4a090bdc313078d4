/* SPDX-License-Identifier: Apache-2.0
 * test_place.c: places graphs on fake devices: devices, reasons and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "place/place.h"
#include "support/fleet.h"
#include "support/skip.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

struct fixture {
  struct fleet fleet;
  situ_graph *graph;
  struct arena arena;
  struct placement placement;
  struct place_options options;
};

static void begin(struct fixture *f, int gpus) {
  *f = (struct fixture){0};
  fleet_create(&f->fleet, gpus);
  f->graph = situ_graph_create();
  assert_non_null(f->graph);
}

static void end(struct fixture *f) {
  arena_free(&f->arena);
  situ_graph_release(f->graph);
}

static situ_value constant(struct fixture *f, const char *name) {
  return situ_constant(f->graph, name, SITU_FLOAT, SITU_SHAPE(3, 2), six);
}

static situ_value text_constant(struct fixture *f, const char *name) {
  const char *const hello[] = {"hello"};
  return situ_constant(f->graph, name, SITU_STRING, SITU_SCALAR, hello);
}

static situ_value sum(struct fixture *f, situ_value a, situ_value b) {
  const situ_value inputs[] = {a, b};
  return situ_emit(f->graph, "Add", NULL, inputs, 2, NULL, 0);
}

static situ_status try_place(struct fixture *f) {
  situ_status s = situ_graph_status(f->graph);
  if (!s) s = place_graph(f->graph, &f->fleet.list, &f->options, &f->arena, &f->placement);
  return s;
}

static void place(struct fixture *f) {
  const situ_status s = try_place(f);
  if (s) fail_msg("%s", situ_status_message(s));
}

/* Asserts the device of a node and the reason for it. */
static void assert_placed(const struct fixture *f, situ_value value, const char *device,
                          const char *why) {
  struct strbuf reason = {0};
  const struct device *at = f->fleet.list.devices[f->placement.device[value.node]];
  assert_string_equal(strstr(at->full, "device:") + 7, device);
  place_explain(&f->placement, value.node, &reason);
  assert_string_equal(strbuf_get(&reason), why);
  strbuf_free(&reason);
}

static void nothing_asked(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 2);
  const situ_value a = constant(&f, "a"), b = constant(&f, "b"), c = sum(&f, a, b);
  const situ_value text = text_constant(&f, "text");
  place(&f);
  assert_placed(&f, a, "GPU:0", "has no inputs and follows its consumers ('Add')");
  assert_placed(&f, b, "GPU:0", "has no inputs and follows its consumers ('Add')");
  assert_placed(&f, c, "GPU:0", "GPU has priority over CPU and has a kernel for float");
  assert_placed(&f, text, "CPU:0", "no kernel for string on GPU");
  assert_null(f.placement.warning);
  end(&f);
}

static void without_gpus(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 0);
  const situ_value a = constant(&f, "a");
  place(&f);
  assert_placed(&f, a, "CPU:0", "there are only CPU devices");
  end(&f);
}

static void asked_for(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 4);
  situ_device_push(f.graph, "/cpu:0");
  const situ_value a = constant(&f, "a");
  situ_device_pop(f.graph);
  situ_device_push(f.graph, "/gpu:2");
  const situ_value b = constant(&f, "b");
  situ_device_pop(f.graph);
  const situ_value c = sum(&f, a, b);
  place(&f);
  assert_placed(&f, a, "CPU:0", "requested '/cpu:0'");
  assert_placed(&f, b, "GPU:2", "requested '/gpu:2'");
  assert_placed(&f, c, "GPU:0", "GPU has priority over CPU and has a kernel for float");
  end(&f);
}

static void colocated(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 2);
  const situ_value a = constant(&f, "a"), b = constant(&f, "b");
  situ_device_push(f.graph, "/gpu:1");
  sum(&f, a, a);
  situ_device_pop(f.graph);
  situ_colocate_push(f.graph, a);
  const situ_value c = sum(&f, b, b);
  situ_colocate_pop(f.graph);
  place(&f);
  assert_placed(&f, c, "GPU:0", "GPU has priority over CPU and has a kernel for float");
  assert_placed(&f, a, "GPU:0", "colocated with 'Add_1'"); /* and not with its consumer */
  end(&f);
}

static void missing_device(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 1);
  situ_device_push(f.graph, "/gpu:2");
  const situ_value a = constant(&f, "a"), b = constant(&f, "b");
  sum(&f, a, b);
  situ_device_pop(f.graph);
  const situ_status s = try_place(&f);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_string_equal(situ_status_node(s), "b");
  assert_string_equal(
      situ_status_message(s),
      "Cannot assign a device to node 'b': Could not satisfy explicit device specification "
      "'/gpu:2'\n\t [[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] "
      "values: 1 2 3...>, _device=\"/gpu:2\"]()]]\n"
      "There is no such device. Devices: /job:localhost/replica:0/task:0/device:CPU:0, "
      "/job:localhost/replica:0/task:0/device:GPU:0\n"
      "The nearest one is /device:GPU:0\n"
      "2 other nodes request the same device: a, Add\n"
      "Request an existing device, or set allow_soft_placement to use another one.");
  assert_null(f.placement.device);
  situ_status_release(s);
  end(&f);
}

static void missing_kernel(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 1);
  situ_device_push(f.graph, "/device:GPU:0");
  text_constant(&f, "text");
  situ_device_pop(f.graph);
  const situ_status s = try_place(&f);
  const char *said = situ_status_message(s);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(said,
                         "Cannot assign a device to node 'text': Could not satisfy explicit "
                         "device specification '/device:GPU:0' because no supported kernel "
                         "for GPU devices is available.\n\t [[Node: text = Const["));
  assert_non_null(strstr(said, "\nKernels of Const: CPU, GPU (float, double, int32"));
  assert_null(strstr(said, "string)"));
  situ_status_release(s);
  end(&f);
}

static void soft(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 1);
  f.options.soft = true;
  situ_device_push(f.graph, "/gpu:2");
  const situ_value a = constant(&f, "a"), text = text_constant(&f, "text");
  situ_device_pop(f.graph);
  situ_device_push(f.graph, "/gpu:0");
  const situ_value other = text_constant(&f, "other");
  situ_device_pop(f.graph);
  place(&f);
  assert_placed(&f, a, "GPU:0",
                "requested '/gpu:2', which does not exist; soft placement chose another one");
  assert_placed(&f, text, "CPU:0",
                "requested '/gpu:2', which does not exist; soft placement chose another one");
  assert_placed(&f, other, "CPU:0",
                "requested '/gpu:0', where there is no kernel for string; soft placement chose "
                "another one");
  assert_non_null(strstr(f.placement.warning, "moved 3 nodes"));
  end(&f);
}

static void state_stays(void **state) {
  (void)state;
  if (!schema_find("RandomUniform")) SKIP("no op RandomUniform");
  struct fixture f;
  begin(&f, 2);
  const int32_t size[] = {2};
  const situ_value shape = situ_constant(f.graph, "shape", SITU_INT32, SITU_SHAPE(1), size);
  const situ_attr type = situ_attr_type("dtype", SITU_FLOAT);
  const situ_value random = situ_emit(f.graph, "RandomUniform", NULL, &shape, 1, &type, 1);
  const int32_t previous[] = {2, 2};
  f.options.previous = previous;
  f.options.n_previous = 2;
  const situ_value later = situ_emit(f.graph, "RandomUniform", NULL, &shape, 1, &type, 1);
  place(&f);
  assert_placed(&f, random, "GPU:1", "is stateful and keeps its previous device");
  assert_placed(&f, later, "GPU:0", "GPU has priority over CPU and has a kernel for float");
  end(&f);
}

static void empty_graph(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, 1);
  place(&f);
  assert_int_equal(f.placement.n_nodes, 0);
  struct strbuf reason = {0};
  place_explain(&f.placement, 0, &reason);
  assert_int_equal(reason.length, 0);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_asked),  cmocka_unit_test(without_gpus),
      cmocka_unit_test(asked_for),      cmocka_unit_test(colocated),
      cmocka_unit_test(missing_device), cmocka_unit_test(missing_kernel),
      cmocka_unit_test(soft),           cmocka_unit_test(state_stays),
      cmocka_unit_test(empty_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
