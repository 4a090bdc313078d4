/* SPDX-License-Identifier: Apache-2.0
 * ops_header.c: prints <situ/ops.h>: a function for each op definition. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "schema/schema.h"

/* Names in <situ/...> that are no functions for ops. */
static const char *const taken[] = {"attr",   "config",  "device",  "feed",        "graph",
                                    "op",     "plan",    "session", "shape",       "status",
                                    "tensor", "type",    "value",   "values",      "constant",
                                    "copy",   "version", "emit",    "placeholder", "emit_lists"};

enum { NAME = 64, COLUMNS = 100 };

/* "MatMul" -> "mat_mul", "AddV2" -> "add_v2". */
static void snake(const char *text, char out[NAME]) {
  size_t n = 0;
  for (const char *c = text; *c && n + 2 < NAME; c++) {
    const bool hump = isupper((unsigned char)c[0]) && c > text &&
                      (islower((unsigned char)c[-1]) || islower((unsigned char)c[1]));
    if (hump) out[n++] = '_';
    out[n++] = (char)tolower((unsigned char)*c);
  }
  out[n] = 0;
}

/* The last part of the first Python name: "math.log log" -> "log". */
static bool python_name(const struct op_def *op, char out[NAME]) {
  const char *text = op->python ? op->python : "";
  const size_t length = strcspn(text, " ");
  size_t start = length;
  while (start > 0 && text[start - 1] != '.') start--;
  if (length == start || length - start >= NAME) return false;
  snprintf(out, NAME, "%.*s", (int)(length - start), text + start);
  return true;
}

static bool is_taken(const char *name) {
  for (size_t i = 0; i < COUNT_OF(taken); i++)
    if (!strcmp(name, taken[i])) return true;
  return false;
}

/* A Python name belongs to the first op definition that has it; the others use their own name. */
static void choose_name(const struct schema *schema, char out[NAME]) {
  char other[NAME], own[NAME];
  snake(schema->op->name, own);
  const bool has_python = python_name(schema->op, out);
  if (!has_python) snprintf(out, NAME, "%s", own);
  for (int i = 0; i < schema_count(); i++) {
    const struct schema *other_schema = schema_get(i);
    const bool wins =
        python_name(other_schema->op, other) && (!has_python || other_schema->id < schema->id);
    if (other_schema != schema && wins && !strcmp(other, out))
      snprintf(out, NAME, "%.50s%s", own, has_python ? "" : "_v1");
  }
  if (is_taken(out)) strncat(out, "_of", NAME - strlen(out) - 1);
}

/* Prints words, filling lines of a comment. */
static void print_wrapped(const char *text, int *column) {
  while (*text) {
    const int length = (int)strcspn(text, " ");
    if (*column + length + 1 > COLUMNS - 3) *column = printf("\n *") - 1;
    *column += printf(" %.*s", length, text);
    text += length;
    text += strspn(text, " ");
  }
}

static void print_comment(const struct schema *schema) {
  bool first = true;
  int column = printf("\n/*");
  print_wrapped(schema->op->doc, &column);
  for (int i = 0; i < schema->n_attrs; i++) {
    const situ_op_attr *spec = &schema->attrs[i];
    if (spec->inferred || !spec->default_value) continue;
    print_wrapped(first ? "For situ_emit also:" : ",", &column);
    first = false;
    print_wrapped(spec->name, &column);
  }
  if (!first) printf(".");
  if (schema->n_outputs > 1 || (schema->n_outputs && schema->outputs[0].number_attr >= 0))
    print_wrapped("Other outputs: situ_value_output.", &column);
  printf(" */\n");
}

static bool is_parameter(const situ_op_attr *spec) {
  return !spec->inferred && !spec->default_value;
}

static bool is_list(const situ_op_attr *spec) {
  return spec->kind == SITU_ATTR_INTS || spec->kind == SITU_ATTR_FLOATS ||
         spec->kind == SITU_ATTR_TYPES || spec->kind == SITU_ATTR_SHAPES;
}

static void print_attr_parameter(const situ_op_attr *spec) {
  static const char *const types[] = {[SITU_ATTR_INT] = "int64_t ",
                                      [SITU_ATTR_FLOAT] = "double ",
                                      [SITU_ATTR_BOOL] = "bool ",
                                      [SITU_ATTR_TYPE] = "situ_type ",
                                      [SITU_ATTR_SHAPE] = "situ_shape ",
                                      [SITU_ATTR_STRING] = "const char *",
                                      [SITU_ATTR_TENSOR] = "situ_tensor *",
                                      [SITU_ATTR_INTS] = "const int64_t *",
                                      [SITU_ATTR_FLOATS] = "const double *",
                                      [SITU_ATTR_TYPES] = "const int64_t *",
                                      [SITU_ATTR_SHAPES] = "const situ_shape *",
                                      [SITU_ATTR_FUNCTION] = "const char *"};
  printf(", %s%s", types[spec->kind], spec->name);
  if (is_list(spec)) printf(", int n_%s", spec->name);
}

static void print_head(const struct schema *schema, const char *name) {
  printf("static inline situ_value situ_%s(situ_graph *graph", name);
  for (int i = 0; i < schema->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    if (!port->is_list)
      printf(", situ_value %s", port->name);
    else
      printf(", const situ_value *%s, int n_%s", port->name, port->name);
  }
  for (int i = 0; i < schema->n_attrs; i++)
    if (is_parameter(&schema->attrs[i])) print_attr_parameter(&schema->attrs[i]);
  printf(") {\n");
}

static void print_attrs(const struct schema *schema, int *count) {
  static const char *const words[] = {
      [SITU_ATTR_INT] = "int",           [SITU_ATTR_FLOAT] = "float",
      [SITU_ATTR_BOOL] = "bool",         [SITU_ATTR_TYPE] = "type",
      [SITU_ATTR_SHAPE] = "shape",       [SITU_ATTR_STRING] = "string",
      [SITU_ATTR_TENSOR] = "tensor",     [SITU_ATTR_INTS] = "ints",
      [SITU_ATTR_TYPES] = "types",       [SITU_ATTR_SHAPES] = "shapes",
      [SITU_ATTR_FUNCTION] = "function", [SITU_ATTR_FLOATS] = "floats"};
  *count = 0;
  for (int i = 0; i < schema->n_attrs; i++) {
    const situ_op_attr *spec = &schema->attrs[i];
    if (!is_parameter(spec)) continue;
    printf(*count ? ", " : "  const situ_attr attrs_[] = {");
    printf("situ_attr_%s(\"%s\", %s", words[spec->kind], spec->name, spec->name);
    if (is_list(spec)) printf(", n_%s", spec->name);
    printf(")");
    (*count)++;
  }
  if (*count) printf("};\n");
}

static bool has_lists(const struct schema *schema) {
  for (int i = 0; i < schema->n_inputs; i++)
    if (schema->inputs[i].is_list) return true;
  return false;
}

static void print_inputs(const struct schema *schema, bool lists) {
  if (schema->n_inputs == 0) return;
  printf("  const situ_value%s inputs_[] = {", lists ? "s" : "");
  for (int i = 0; i < schema->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    const char *comma = i ? ", " : "";
    if (!lists)
      printf("%s%s", comma, port->name);
    else if (!port->is_list)
      printf("%s{&%s, 1}", comma, port->name);
    else
      printf("%s{%s, n_%s}", comma, port->name, port->name);
  }
  printf("};\n");
}

static void print_function(const struct schema *schema) {
  char name[NAME];
  int n_attrs;
  const bool lists = has_lists(schema);
  choose_name(schema, name);
  print_comment(schema);
  print_head(schema, name);
  print_inputs(schema, lists);
  print_attrs(schema, &n_attrs);
  printf("  return situ_emit%s(graph, \"%s\", NULL, %s, %d, %s, %d);\n}\n", lists ? "_lists" : "",
         schema->op->name, schema->n_inputs ? "inputs_" : "NULL", schema->n_inputs,
         n_attrs ? "attrs_" : "NULL", n_attrs);
}

int main(void) {
  const situ_status problem = schema_check();
  if (problem) return situ_status_report(problem, stderr);
  printf(
      "/* SPDX-License-Identifier: Apache-2.0\n"
      " * ops.h: a function for each op, generated by tools/ops_header.c. Each adds "
      "a\n"
      " * node to the graph and returns its first output; attributes that have a default keep it:\n"
      " * situ_emit sets them. */\n"
      "/* NOLINTBEGIN(readability-function-size): an op has as many parameters as inputs. */\n"
      "#ifndef SITU_OPS_H\n#define SITU_OPS_H\n\n#include \"situ/graph.h\"\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  for (int i = 0; i < schema_count(); i++)
    if (!(schema_get(i)->op->flags & (OP_CONSTANT | OP_FED))) print_function(schema_get(i));
  printf("\n#ifdef __cplusplus\n}\n#endif\n#endif\n/* NOLINTEND(readability-function-size) */\n");
  return 0;
}
