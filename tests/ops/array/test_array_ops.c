/* SPDX-License-Identifier: Apache-2.0
 * test_array_ops.c: errors of array ops, strings, and shapes computed by other nodes. */
#include "api/helpers.h"

/* Inputs of a call as constants: "f[2,3]" is a float tensor of zeros, "i1,2" a vector of int32,
 * "i:5" an int32 scalar. */
static situ_value input(situ_graph *graph, const char *text) {
  int32_t numbers[16] = {0};
  int64_t dims[SITU_MAX_RANK];
  int n = 0;
  const bool scalar_ = text[1] == ':', floats_ = text[0] == 'f';
  for (char *at = (char *)(uintptr_t)text + 1 + (scalar_ || floats_); *at && *at != ']';) {
    dims[n % SITU_MAX_RANK] = numbers[n] = (int32_t)strtol(at, &at, 10);
    n++;
    at += *at == ',';
  }
  situ_shape shape = {n, {0}};
  for (int d = 0; d < n && d < SITU_MAX_RANK; d++) shape.dim[d] = dims[d];
  if (floats_) return situ_constant(graph, NULL, SITU_FLOAT, shape, NULL);
  return situ_constant(graph, NULL, SITU_INT32, scalar_ ? SITU_SCALAR : SITU_SHAPE(n), numbers);
}

/* Adds the op with these inputs, up to the first NULL. */
static situ_value add(situ_graph *graph, const char *op, const char *const inputs[5],
                      const situ_attr *attrs, int n_attrs) {
  situ_value in[5];
  int n = 0;
  for (; n < 5 && inputs[n]; n++) in[n] = input(graph, inputs[n]);
  return situ_emit(graph, op, NULL, in, n, attrs, n_attrs);
}

struct wrong {
  const char *op, *inputs[5], *attr;
  int64_t value;
  const char *text;
};

static const struct wrong table[] = {
    {"Reshape",
     {"f[2,3]", "i4,2"},
     NULL,
     0,
     "Cannot reshape a tensor with 6 elements to shape [4,2] (8 elements)"},
    {"Reshape", {"f[2,3]", "i4,-1"}, NULL, 0, "requires a multiple of 4"},
    {"Reshape", {"f[2,3]", "i-1,-1"}, NULL, 0, "Only one input size may be -1, not both 0 and 1"},
    {"Reshape", {"f[2,3]", "i-2,3"}, NULL, 0, "Dimension 0 must be >= 0"},
    {"Reshape", {"f[6]", "i1,1,1,1,1,1,1,2,3"}, NULL, 0, "at most 8"},
    {"ExpandDims", {"f[2,3]", "i:3"}, NULL, 0, "[-3, 3), but got 3"},
    {"Fill", {"i2,-3", "f[]"}, NULL, 0, "Dimension 1 must be >= 0"},
    {"Fill", {"i2,3", "f[1]"}, NULL, 0, "Shape must be rank 0 but is rank 1"},
    {"BroadcastTo", {"f[2,3]", "i2,4"}, NULL, 0, "Incompatible shapes: [2,3] vs. [2,4]"},
    {"BroadcastTo", {"f[2,3]", "i3"}, NULL, 0, "Incompatible shapes"},
    {"Slice", {"f[4]", "i3", "i2"}, NULL, 0, "Expected size[0] in [0, 1], but got 2"},
    {"Slice", {"f[4]", "i5", "i0"}, NULL, 0, "Expected begin[0] in [0, 4], but got 5"},
    {"Slice", {"f[4]", "i0,0", "i1,1"}, NULL, 0, "1-D tensors of size 1"},
    {"StridedSlice", {"f[4]", "i0", "i4", "i0"}, NULL, 0, "strides[0] must be non-zero"},
    {"StridedSlice", {"f[4]", "i0,0", "i1,1", "i1,1"}, NULL, 0, "input has only 1 dims"},
    {"StridedSlice", {"f[4]", "i7", "i8", "i1"}, "shrink_axis_mask", 1, "index 7 of dimension 0"},
    {"StridedSlice", {"f[4]", "i0,0", "i1,1", "i1,1"}, "ellipsis_mask", 3, "Multiple ellipses"},
    {"ReverseV2", {"f[4,2]", "i0,0"}, NULL, 0, "axis 0 specified more than once"},
    {"ConcatV2", {"f[2,3]", "f[3,2]", "i:0"}, NULL, 0, "in both shapes must be equal"},
    {"ConcatV2", {"f[2,3]", "f[6]", "i:0"}, NULL, 0, "Shape must be rank 2 but is rank 1"},
    {"ConcatV2", {"f[2]", "f[3]", "i:1"}, NULL, 0, "[-1, 1), but got 1"},
    {"ConcatV2", {"f[]", "f[]", "i:0"}, NULL, 0, "Expected concatenating dimensions"},
    {"Pack", {"f[2]", "f[3]"}, NULL, 0, "Shapes of all inputs must match"},
    {"Unpack", {"f[2,3]"}, "num", 3, "Input shape axis 0 must equal 3, got shape 2"},
    {"Split", {"i:1", "f[2,3]"}, "num_split", 2, "should evenly divide the split dimension"},
    {"Tile", {"f[2,3]", "i2"}, NULL, 0, "vector of length 2 but got length 1"},
    {"Pad", {"f[2,3]", "i1,1"}, NULL, 0, "Shape must be rank 2 but is rank 1"},
    {"GatherV2", {"f[2,3]", "i0", "i:2"}, NULL, 0, "must be at least rank 3 but is rank 2"},
    {"Range", {"i:0", "i:5", "i:0"}, NULL, 0, "Requires delta != 0"},
    {"Range", {"i:5", "i:0", "i:1"}, NULL, 0, "Requires start <= limit when delta > 0"},
    {"AddN", {"f[2]", "f[3]"}, NULL, 0, "must have the same size and shape"},
    {"BiasAdd", {"f[2,3]", "f[2]"}, NULL, 0, "as many biases as the last dimension"},
    {"BiasAdd", {"f[3]", "f[3]"}, NULL, 0, "at least 2D"},
};

static void wrong_shapes_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const struct wrong *wrong = &table[i];
    situ_graph *graph = situ_graph_create();
    const situ_attr attr = situ_attr_int(wrong->attr, wrong->value);
    add(graph, wrong->op, wrong->inputs, &attr, wrong->attr != NULL);
    const situ_status s = situ_graph_status(graph);
    const bool good = s && strstr(situ_status_message(s), wrong->text);
    if (!good) print_error("%s: %s\n", wrong->op, situ_status_message(s));
    assert_true(good);
    situ_status_release(s);
    situ_graph_release(graph);
  }
}

static void indices_are_checked_when_they_come(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value y =
      add(graph, "GatherV2", (const char *[5]){"f[4,3]", "i1,9,2", "i:0"}, NULL, 0);
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  FAILS(situ_session_eval(session, y, &result), SITU_INVALID_ARGUMENT,
        "indices[1] = 9 is not in [0, 4)");
  situ_session_release(session);
  situ_graph_release(graph);
}

static void strings_stay_on_the_host(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const char *const words[] = {"one", "two", "three", ""};
  const situ_value c = situ_constant(graph, NULL, SITU_STRING, SITU_SHAPE(4), words);
  const situ_value shape = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), (int32_t[]){2, 2});
  const situ_value y = emit1(graph, "Identity", emit2(graph, "Reshape", c, shape));
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, y, &result));
  assert_int_equal(situ_tensor_shape(result).rank, 2);
  for (int i = 0; i < 4; i++)
    assert_string_equal(((const char *const *)situ_tensor_data(result))[i], words[i]);
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* zeros of shape(x) with x of any shape: the shape is known only when x is fed. */
static void shapes_follow_the_feed(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2));
  const situ_value twice = emit2(graph, "Fill", emit1(graph, "Shape", x), scalar(graph, 2));
  const situ_value y = emit2(graph, "Mul", x, twice);
  assert_int_equal(situ_value_shape(y).rank, 2);
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  for (int rows = 1; rows < 4; rows++) {
    const float data[] = {1, 2, 3, 4, 5, 6}, want[] = {2, 4, 6, 8, 10, 12};
    situ_tensor *fed = floats(SITU_SHAPE(rows, 2), data), *result = NULL;
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
    expect_floats(result, want, 2 * rows);
    situ_tensor_release(result);
    situ_tensor_release(fed);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_shapes_are_refused),
      cmocka_unit_test(indices_are_checked_when_they_come),
      cmocka_unit_test(strings_stay_on_the_host),
      cmocka_unit_test(shapes_follow_the_feed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
