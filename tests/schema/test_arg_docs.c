/* SPDX-License-Identifier: Apache-2.0
 * test_arg_docs.c: every op documents its inputs and the attributes that callers pass. */
#include "schema/arg_docs.h"

#include "schema/schema.h"
#include "support/expect.h"

static bool is_argument(const struct schema *schema, const char *name, size_t length) {
  for (int i = 0; i < schema->n_inputs; i++)
    if (strlen(schema->inputs[i].name) == length && !strncmp(schema->inputs[i].name, name, length))
      return true;
  for (int i = 0; i < schema->n_attrs; i++)
    if (strlen(schema->attrs[i].name) == length && !strncmp(schema->attrs[i].name, name, length))
      return true;
  return false;
}

static void lines_name_arguments(void **state) {
  (void)state;
  for (int i = 0; i < schema_count(); i++) {
    const struct schema *schema = schema_get(i);
    const char *line = schema->op->args;
    while (line && *line) {
      const size_t name = strcspn(line, ":"), length = strcspn(line, "\n");
      if (!is_argument(schema, line, name) || line[length - 1] != '.')
        fail_msg("%s: bad line in args: %.*s", schema->op->name, (int)length, line);
      line += length + (line[length] == '\n');
    }
  }
}

/* Whether an input determines an attribute: a type, a list of types, or a count. */
static bool is_inferred(const struct schema *schema, int attr) {
  bool inferred = schema->attrs[attr].inferred;
  for (int i = 0; i < schema->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    inferred |= port->type_attr == attr || port->number_attr == attr || port->handle_attr == attr;
  }
  return inferred;
}

/* Prints the argument and returns 1 if it is not documented. */
static int report_missing(const struct schema *schema, const char *name) {
  char sentence[512];
  if (arg_docs_find(schema->op, name, sentence, sizeof sentence)) return 0;
  print_error("%s: argument '%s' is not documented\n", schema->op->name, name);
  return 1;
}

static void all_arguments_documented(void **state) {
  (void)state;
  int missing = 0;
  for (int i = 0; i < schema_count(); i++) {
    const struct schema *schema = schema_get(i);
    for (int k = 0; k < schema->n_inputs; k++)
      missing += report_missing(schema, schema->inputs[k].name);
    for (int k = 0; k < schema->n_attrs; k++)
      if (!is_inferred(schema, k)) missing += report_missing(schema, schema->attrs[k].name);
  }
  assert_int_equal(missing, 0);
}

static void shared_sentences(void **state) {
  (void)state;
  char sentence[256];
  assert_true(arg_docs_find(schema_find("Conv2D")->op, "data_format", sentence, sizeof sentence));
  assert_true(strstr(sentence, "NHWC"));
  assert_false(arg_docs_find(schema_find("Conv2D")->op, "nonsense", sentence, sizeof sentence));
  assert_string_equal(sentence, "");
  assert_true(arg_docs_find(schema_find("Sqrt")->op, "x", sentence, 6));
  assert_string_equal(sentence, "Input");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_name_arguments),
                                     cmocka_unit_test(all_arguments_documented),
                                     cmocka_unit_test(shared_sentences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
