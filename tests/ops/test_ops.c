/* SPDX-License-Identifier: Apache-2.0
 * test_ops.c: every op with every sample in every type: equal results on all devices, with the
 * shape that the shape function returned; on the CPU the results of NumPy (tests/golden/ops.txt).
 *
 * On OpenCL, whose compilers are slow, a sample is tested in one type; with TEST_EVERY_TYPE=1 in
 * all. `test_ops --samples` prints the samples for tests/golden/ops.py instead. */
#include "api/helpers.h"

#include <math.h>

#include "api/selftest.h"
#include "schema/sample.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/type.h"

enum { OUTPUTS = 16, DEVICES = 8 };

/* What a sample became in a graph. */
struct made {
  situ_value inputs[SAMPLE_MOST];
  situ_feed feeds[SAMPLE_MOST];
  int n_feeds;
  situ_value outputs[OUTPUTS];
  int n_outputs;
};

/* Adds the op on a device; inputs that shapes depend on are constants, all others are fed. */
static void add_op(situ_graph *graph, const struct sample *sample, const char *device,
                   struct made *made) {
  situ_device_push(graph, device);
  const situ_value first = situ_emit(graph, sample->schema->op->name, NULL, made->inputs,
                                     sample->n_inputs, sample->attrs, sample->n_attrs);
  situ_device_pop(graph);
  OK(situ_graph_status(graph));
  made->n_outputs = 0;
  while (made->n_outputs < OUTPUTS && situ_value_valid(situ_value_output(first, made->n_outputs))) {
    made->outputs[made->n_outputs] = situ_value_output(first, made->n_outputs);
    made->n_outputs++;
  }
}

/* `known`: shapes of placeholders; 0: not even the rank, 1: the rank, 2: all of them. */
static void add_inputs(situ_graph *graph, const struct sample *sample, int known,
                       struct made *made) {
  made->n_feeds = 0;
  for (int i = 0; i < sample->n_inputs; i++) {
    situ_tensor *tensor = sample->inputs[i];
    situ_shape shape = situ_tensor_shape(tensor);
    if (sample->is_host[i] && known == 2) {
      made->inputs[i] = situ_constant_tensor(graph, NULL, tensor);
      continue;
    }
    for (int d = 0; d < shape.rank && known < 2; d++) shape.dim[d] = SITU_ANY;
    made->inputs[i] =
        situ_placeholder(graph, NULL, situ_tensor_type(tensor), known ? shape : SITU_ANY_SHAPE);
    made->feeds[made->n_feeds++] = (situ_feed){made->inputs[i], tensor};
  }
}

static bool supported(const struct sample *sample, const situ_device *device) {
  struct attr_value values[SAMPLE_MOST] = {0};
  for (int i = 0; i < sample->n_attrs; i++) {
    if (sample->attrs[i].kind != SITU_ATTR_TYPE) continue;
    const situ_type type = (situ_type)sample->attrs[i].integer;
    if (type == SITU_HALF && !device->has_half) return false;
    if (type_real(type) == SITU_DOUBLE && !device->has_double) return false;
    values[schema_attr(sample->schema, sample->attrs[i].name)].type = type;
  }
  return schema_supports(sample->schema, values, device->kind);
}

/* Prints the case. */
static void say(const struct sample *sample, int number, situ_type type, const char *what) {
  print_error("%s, sample %d (%s): %s\n", sample->schema->op->name, number, situ_type_name(type),
              what);
}

/* The results of a sample on one device; checks their shapes against those of the graph. */
static void run_on(situ_graph *graph, situ_session *session, const struct sample *sample,
                   const char *device, situ_tensor **results, int *count) {
  struct made made;
  add_inputs(graph, sample, 2, &made);
  add_op(graph, sample, device, &made);
  OK(situ_session_run(session, made.feeds, made.n_feeds, made.outputs, made.n_outputs, results));
  *count = made.n_outputs;
  for (int i = 0; i < made.n_outputs; i++) {
    const situ_shape said = situ_value_shape(made.outputs[i]), is = situ_tensor_shape(results[i]);
    assert_true(shape_equal(&said, &is));
    assert_int_equal(situ_tensor_type(results[i]), situ_value_type(made.outputs[i]));
  }
}

/* The same with less known while building. */
static void check_unknowns(const struct sample *sample, situ_tensor *const *results) {
  for (int known = 0; known < 2; known++) {
    situ_graph *graph = situ_graph_create();
    struct made made;
    add_inputs(graph, sample, known, &made);
    add_op(graph, sample, "", &made);
    for (int i = 0; i < made.n_outputs; i++) {
      const situ_shape said = situ_value_shape(made.outputs[i]), is = situ_tensor_shape(results[i]);
      assert_true(shape_compatible(&said, &is));
    }
    situ_graph_release(graph);
  }
}

/* Host kernels give equal bits; functions of other compilers differ in the last digits. */
static bool same(const situ_tensor *a, const situ_tensor *b, bool to_the_bit) {
  const size_t bytes = situ_tensor_bytes(a);
  if (bytes != situ_tensor_bytes(b)) return false;
  if (!memcmp(situ_tensor_data(a), situ_tensor_data(b), bytes)) return true;
  bool all = !to_the_bit;
  for (int64_t i = 0; all && i < sample_count_numbers(a); i++)
    all = selftest_agree(situ_tensor_type(a), sample_number(b, i), sample_number(a, i));
  return all;
}

/* What a test does with the results of a case on the CPU. */
typedef void visit(const struct sample *sample, int number, situ_type type,
                   situ_tensor *const *results, int count);

/* Whether it is the type to compile kernels for: that takes long, and the text is the same. */
static bool is_first(const struct sample *sample, int number, situ_type type) {
  const uint32_t types = sample_types(sample->schema, number);
  return types >> SITU_FLOAT & 1 ? type == SITU_FLOAT : !(types & ((1u << type) - 1));
}

static void run_case(situ_graph *graph, situ_session *session, const struct sample *sample,
                     int number, situ_type type, visit *then) {
  situ_tensor *first[OUTPUTS], *other[OUTPUTS];
  int n_devices = 0, count = 0, again = 0;
  OK(situ_devices_count(&n_devices));
  for (int d = 0; d < n_devices; d++) {
    situ_device device;
    OK(situ_devices_get(d, &device));
    const bool to_the_bit = !strcmp(device.backend, "cpu") || !strcmp(device.backend, "sim");
    const bool all_types = to_the_bit || !strcmp(device.backend, "cuda") || /* NVRTC is quick */
                           getenv("TEST_EVERY_TYPE");
    if (!supported(sample, &device) || (!all_types && !is_first(sample, number, type))) continue;
    run_on(graph, session, sample, device.name, d ? other : first, d ? &again : &count);
    for (int i = 0; d && i < again; i++) {
      const bool is_same = same(first[i], other[i], to_the_bit);
      if (!is_same) say(sample, number, type, device.name);
      assert_true(is_same);
      situ_tensor_release(other[i]);
    }
  }
  if (count) then(sample, number, type, first, count); /* some types have no kernels at all */
  for (int i = 0; i < count; i++) situ_tensor_release(first[i]);
}

/* Runs every case of an op. */
static int visit_op(const struct schema *schema, visit *then) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  int cases = 0;
  OK(situ_session_create(graph, NULL, &session));
  for (int number = 0; number < sample_count(schema); number++) {
    const uint32_t types = sample_types(schema, number);
    for (int type = 0; type < MAX_TYPES; type++) {
      if (!(types >> type & 1)) continue;
      struct arena arena = {0};
      struct sample sample;
      OK(sample_make(schema, number, (situ_type)type, &arena, &sample));
      run_case(graph, session, &sample, number, (situ_type)type, then);
      sample_free(&sample);
      arena_free(&arena);
      cases++;
    }
  }
  situ_session_release(session);
  situ_graph_release(graph);
  return cases;
}

static void visit_all(visit *then) {
  int cases = 0;
  fleet("A=256MiB,B=256MiB");
  for (int i = 0; i < schema_count(); i++) cases += visit_op(schema_get(i), then);
  print_message("%d cases\n", cases);
  assert_true(cases > 1000);
}

/* Samples */

/* Excludes values, variables, host ops and ops with inputs of any type, which have tests of their
 * own. */
static bool is_plain(const struct schema *schema) {
  const unsigned special = OP_CONSTANT | OP_FED | OP_VARIABLE;
  return schema->n_inputs && !schema->op->compute && !schema->inputs[0].is_ref &&
         !schema->inputs[0].is_types && !(schema->op->flags & special);
}

static void every_op_has_samples(void **state) {
  (void)state;
  OK(schema_check());
  for (int i = 0; i < schema_count(); i++) {
    const struct op_def *op = schema_get(i)->op;
    if (!is_plain(schema_get(i))) continue;
    if (!sample_count(schema_get(i))) print_error("%s has no samples\n", op->name);
    assert_true(sample_count(schema_get(i)) > 0);
  }
}

static void then_shapes(const struct sample *sample, int number, situ_type type,
                        situ_tensor *const *results, int count) {
  (void)number, (void)type, (void)count;
  check_unknowns(sample, results);
}

static void devices_agree_and_shapes_are_true(void **state) {
  (void)state;
  visit_all(then_shapes);
}

/* Golden values: lines "Op type sample output dimensions values" */

struct golden {
  char *text;
  size_t length;
  const char *next;
};
static struct golden golden;

static void load_golden(void) {
  FILE *file = fopen("tests/golden/ops.txt", "r");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  golden.length = (size_t)ftell(file);
  rewind(file);
  golden.text = malloc(golden.length + 1);
  assert_int_equal(fread(golden.text, 1, golden.length, file), golden.length);
  golden.text[golden.length] = 0;
  golden.next = golden.text;
  fclose(file);
}

/* The rest of the line that begins with this key, or NULL. Cases come in the order of the file. */
static const char *find_line(const char *key) {
  const size_t length = strlen(key);
  const char *found = strstr(golden.next, key);
  while (found && found != golden.text && found[-1] != '\n') found = strstr(found + 1, key);
  if (!found) {
    if (golden.next == golden.text) return NULL;
    golden.next = golden.text;
    return find_line(key);
  }
  golden.next = found;
  return found + length;
}

/* The type whose golden values a type shares. */
static situ_type base_of(situ_type type) {
  if (type_is_real(type)) return SITU_FLOAT;
  if (type == SITU_COMPLEX128) return SITU_COMPLEX64;
  if (type == SITU_INT64 || type == SITU_INT8 || type == SITU_INT16) return SITU_INT32;
  return type_is_unsigned(type) ? SITU_UINT8 : type;
}

static const char *golden_of(const struct sample *sample, int number, situ_type type, int output) {
  const situ_type base = base_of(type);
  char key[128];
  snprintf(key, sizeof key, "%s %s %d %d ", sample->schema->op->name,
           type ? situ_type_name(type) : "own", number, output);
  const char *line = find_line(key);
  if (line || base == type) return line;
  snprintf(key, sizeof key, "%s %s %d %d ", sample->schema->op->name, situ_type_name(base), number,
           output);
  return find_line(key);
}

__extension__ typedef _Float16 half;

/* The next golden value, as the type holds it: integers wrap, reals may overflow. */
static double next_value(situ_type type, char **at) {
  switch (type) {
    case SITU_FLOAT:
      return (double)(float)strtod(*at, at);
    case SITU_HALF:
      return (double)(half)strtod(*at, at);
    case SITU_BFLOAT16:
    case SITU_FLOAT8_E5M2:
    case SITU_FLOAT8_E4M3FN:
      return number_as(type, strtod(*at, at));
    case SITU_COMPLEX64:
      return (double)(float)strtod(*at, at);
    case SITU_DOUBLE:
    case SITU_COMPLEX128:
      return strtod(*at, at);
    case SITU_INT32:
      return (int32_t)strtoll(*at, at, 10);
    case SITU_INT8:
      return (int8_t)strtoll(*at, at, 10);
    case SITU_UINT8:
      return (uint8_t)strtoll(*at, at, 10);
    case SITU_INT16:
      return (int16_t)strtoll(*at, at, 10);
    case SITU_UINT16:
      return (uint16_t)strtoll(*at, at, 10);
    case SITU_UINT32:
      return (uint32_t)strtoll(*at, at, 10);
    case SITU_UINT64:
      return (double)strtoull(*at, at, 10);
    default:
      return (double)strtoll(*at, at, 10);
  }
}

static void compare(const struct sample *sample, int number, situ_type type,
                    const situ_tensor *result, const char *line) {
  char text[256], said[256];
  const situ_shape shape = situ_tensor_shape(result);
  const size_t length = strcspn(line, " ");
  snprintf(said, sizeof said, "%.*s", (int)length, line);
  assert_string_equal(said, shape_print(&shape, text));
  char *at = (char *)(uintptr_t)line + length;
  const int64_t n = sample_count_numbers(result), step = max_i64(1, (n + 99) / 100);
  for (int64_t i = 0; i < n; i += step) {
    const situ_type own = situ_tensor_type(result);
    const double want = next_value(own, &at), have = sample_number(result, i);
    if (selftest_agree(own, have, want)) continue;
    snprintf(text, sizeof text, "element %lld is %.17g, not %.17g", (long long)i, have, want);
    say(sample, number, type, text);
    fail();
  }
}

static void then_golden(const struct sample *sample, int number, situ_type type,
                        situ_tensor *const *results, int count) {
  for (int i = 0; i < count; i++) {
    const char *line = golden_of(sample, number, type, i);
    if (!line) say(sample, number, type, "no golden value: run tests/golden/ops.py");
    assert_non_null(line);
    compare(sample, number, type, results[i], line);
  }
}

static void values_are_numpys(void **state) {
  (void)state;
  load_golden();
  visit_all(then_golden);
  free(golden.text);
}

/* Printing samples as JSON, a line for each case. */

static void print_tensor(const situ_tensor *tensor) {
  const situ_shape shape = situ_tensor_shape(tensor);
  printf("{\"type\": \"%s\", \"shape\": [", situ_type_numpy(situ_tensor_type(tensor)));
  for (int d = 0; d < shape.rank; d++) printf("%s%lld", d ? ", " : "", (long long)shape.dim[d]);
  printf("], \"values\": [");
  for (int64_t i = 0; i < sample_count_numbers(tensor); i++)
    printf("%s%.17g", i ? ", " : "", sample_number(tensor, i));
  printf("]}");
}

static void print_attr(const char *name, const struct attr_value *value) {
  printf("\"%s\": ", name);
  if (value->kind == SITU_ATTR_FLOAT) printf("%.17g", value->real);
  if (value->kind == SITU_ATTR_INT || value->kind == SITU_ATTR_BOOL)
    printf("%lld", (long long)value->integer);
  if (value->kind == SITU_ATTR_TYPE) printf("\"%s\"", situ_type_numpy(value->type));
  if (value->kind == SITU_ATTR_STRING) printf("\"%s\"", value->text);
  if (value->kind == SITU_ATTR_INTS) {
    printf("[");
    for (int64_t i = 0; i < value->list.count; i++)
      printf("%s%lld", i ? ", " : "", (long long)value->list.items[i]);
    printf("]");
  }
  if (value->kind == SITU_ATTR_FLOATS) {
    printf("[");
    for (int64_t i = 0; i < value->reals.count; i++)
      printf("%s%.17g", i ? ", " : "", value->reals.items[i]);
    printf("]");
  }
  if (value->kind == SITU_ATTR_SHAPE || value->kind == SITU_ATTR_TENSOR) printf("null");
}

static void print_case(const struct sample *sample, int number, situ_type type) {
  const struct schema *schema = sample->schema;
  printf("{\"op\": \"%s\", \"type\": \"%s\", \"sample\": %d, \"attrs\": {", schema->op->name,
         type ? situ_type_name(type) : "own", number);
  bool first = true;
  situ_type types[SAMPLE_MOST];
  struct attr_value values[SAMPLE_MOST] = {0};
  for (int i = 0; i < sample->n_inputs; i++) types[i] = situ_tensor_type(sample->inputs[i]);
  for (int i = 0; i < sample->n_attrs; i++) {
    const situ_attr *attr = &sample->attrs[i];
    struct attr_value *value = &values[schema_attr(schema, attr->name)];
    *value = (struct attr_value){.kind = attr->kind, .integer = attr->integer};
    if (attr->kind == SITU_ATTR_TYPE) value->type = (situ_type)attr->integer;
    if (attr->kind == SITU_ATTR_FLOAT) value->real = attr->real;
    if (attr->kind == SITU_ATTR_STRING) value->text = attr->text;
    if (attr->kind == SITU_ATTR_INTS)
      value->list.items = attr->integers, value->list.count = attr->integer;
    if (attr->kind == SITU_ATTR_FLOATS)
      value->reals.items = attr->reals, value->reals.count = attr->integer;
  }
  int n_out = 0;
  OK(schema_resolve(schema, "sample", types, sample->n_inputs, values, &n_out));
  for (int i = 0; i < schema->n_attrs; i++, first = false) {
    if (!first) printf(", ");
    print_attr(schema->attrs[i].name, &values[i]);
  }
  printf("}, \"inputs\": [");
  for (int i = 0; i < sample->n_inputs; i++) {
    if (i) printf(", ");
    print_tensor(sample->inputs[i]);
  }
  printf("]}\n");
}

/* Types that say all: others have the same inputs, or differ only in precision. */
static bool says_all(const struct schema *schema, uint32_t types, int type) {
  if (type == SITU_BFLOAT16) return strcmp(schema->op->name, "RandomUniform") == 0;
  if (schema->op->flags & OP_STATEFUL || types == 1) return true;
  const situ_type base = base_of((situ_type)type);
  return (int)base == type || !(types >> base & 1);
}

static void print_samples(void) {
  for (int id = 0; id < schema_count(); id++) {
    const struct schema *schema = schema_get(id);
    for (int number = 0; number < sample_count(schema); number++) {
      const uint32_t types = sample_types(schema, number);
      for (int type = 0; type < MAX_TYPES; type++) {
        if (!(types >> type & 1) || !says_all(schema, types, type)) continue;
        struct arena arena = {0};
        struct sample sample;
        OK(sample_make(schema, number, (situ_type)type, &arena, &sample));
        print_case(&sample, number, (situ_type)type);
        sample_free(&sample);
        arena_free(&arena);
      }
    }
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--samples")) {
    print_samples();
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_has_samples),
      cmocka_unit_test(devices_agree_and_shapes_are_true),
      cmocka_unit_test(values_are_numpys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
