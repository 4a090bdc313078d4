/* SPDX-License-Identifier: Apache-2.0
 * test_arg_docs.c: every op with a Python function documents its arguments, and only those. */
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
                                     cmocka_unit_test(shared_sentences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
