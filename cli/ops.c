/* SPDX-License-Identifier: Apache-2.0
 * ops.c: `situ ops`: lists the operations or describes one. */
#include <string.h>

#include "command.h"
#include "json.h"
#include "op_def.h"
#include "table.h"

enum { WIDTH = 88, INDENT = 12 };

/* ---- The list ---- */

static const char *python_names(const situ_op *op, char out[OP_DEF_STRING]) {
  const char *at = op->python;
  char word[OP_DEF_STRING];
  out[0] = 0;
  while (op_def_word(&at, word)) append_word(out, " ", "tf.", word);
  return out;
}

static situ_status print_list(void) {
  struct table table = {.heads = {"name", "family", "devices", "Python", "description"}};
  situ_status s = NULL;
  for (int i = 0; !s && i < situ_ops_count(); i++) {
    situ_op op;
    char text[OP_DEF_STRING];
    s = situ_ops_get(i, &op);
    if (s) break;
    table_add(&table, op.name);
    table_add(&table, op.family);
    table_add(&table, op_def_devices(op.devices, text));
    const char *python = python_names(&op, text);
    text[strcspn(text, " ")] = 0;
    table_add(&table, python);
    table_add(&table, first_sentence(op.doc, text));
  }
  if (!table_print(&table) && !s) s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  if (!s) printf("\n%d operations; situ ops NAME describes one.\n", situ_ops_count());
  return s;
}

/* ---- One op ---- */

static void print_ports(const char *ports) {
  struct op_def_port port;
  bool first = true;
  putchar('(');
  for (; op_def_port(&ports, &port); first = false)
    printf("%s%s: %s%s%s%s", first ? "" : ", ", port.name, port.number, *port.number ? " x " : "",
           port.type,
           port.is_ref      ? " by reference"
           : port.is_handle ? " by handle"
                            : "");
  putchar(')');
}

/* Formats the allowed values of an attribute as a comma-separated list. */
static const char *kind_words(const struct op_def_attr *attr, char out[OP_DEF_STRING]) {
  if (attr->kind[0] != '{') {
    snprintf(out, OP_DEF_STRING, "%s", attr->kind);
    return out;
  }
  char inside[OP_DEF_STRING], word[OP_DEF_STRING];
  snprintf(inside, sizeof inside, "%s", attr->kind + 1);
  inside[strcspn(inside, "}")] = 0;
  for (char *c = inside; *c; c++)
    if (*c == ',') *c = ' ';
  const char *at = inside;
  out[0] = 0;
  while (op_def_word(&at, word)) append_word(out, ", ", "", word);
  return out;
}

static bool print_attrs(const situ_op *op) {
  struct table table = {.heads = {"attribute", "default", "type"}};
  const char *at = op->attrs;
  struct op_def_attr attr;
  while (op_def_attr(&at, &attr)) {
    char kind[OP_DEF_STRING];
    table_add(&table, attr.name);
    table_add(&table, op_def_infers(op->inputs, attr.name) ? "(from the inputs)"
                      : attr.has_default                   ? attr.default_value
                                                           : "(required)");
    table_add(&table, kind_words(&attr, kind));
  }
  if (!table.n_cells) return true;
  putchar('\n');
  return table_print(&table);
}

static void print_field(const char *head, const char *text, int indent) {
  if (!*text) return;
  printf("%-*s", indent, head);
  table_wrap(text, indent, WIDTH);
}

/* Prints the sentence of an argument and returns 0; with an indent of 0 returns the length of its
 * name instead. Arguments without a sentence are ignored. */
static int print_argument(const situ_op *op, const char *name, int indent, situ_status *status) {
  char sentence[OP_DEF_STRING] = "";
  if (!*status) *status = situ_ops_argument_doc(op->number, name, sentence, sizeof sentence);
  if (!*sentence) return 0;
  if (!indent) return (int)strlen(name);
  print_field(name, sentence, indent);
  return 0;
}

/* Visits the inputs and the attributes that callers pass. Returns the length of the longest name
 * if the indent is 0. */
static int print_arguments(const situ_op *op, int indent, situ_status *status) {
  const char *ports = op->inputs, *attrs = op->attrs;
  struct op_def_port port;
  struct op_def_attr attr;
  int longest = 0;
  while (op_def_port(&ports, &port)) {
    const int length = print_argument(op, port.name, indent, status);
    if (length > longest) longest = length;
  }
  while (op_def_attr(&attrs, &attr)) {
    if (op_def_infers(op->inputs, attr.name)) continue;
    const int length = print_argument(op, attr.name, indent, status);
    if (length > longest) longest = length;
  }
  return longest;
}

static situ_status print_op(const situ_op *op) {
  char python[OP_DEF_STRING];
  fputs(op->name, stdout);
  print_ports(op->inputs);
  fputs(" -> ", stdout);
  print_ports(op->outputs);
  fputs("\n\n", stdout);
  table_wrap(op->doc, 0, WIDTH);
  situ_status s = NULL;
  const int longest = print_arguments(op, 0, &s);
  if (longest) {
    putchar('\n');
    print_arguments(op, longest + 2 < INDENT ? INDENT : longest + 2, &s);
  }
  if (s) return s;
  if (!print_attrs(op)) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  putchar('\n');
  print_field("devices", op->devices, INDENT);
  print_field("on the host", op->host, INDENT);
  print_field("Python", python_names(op, python), INDENT);
  print_field("family", op->family, INDENT);
  return NULL;
}

/* ---- JSON ---- */

static void json_ports(const char *key, const char *ports, const char *host) {
  struct op_def_port port;
  json_open(key, '[');
  while (op_def_port(&ports, &port)) {
    json_open(NULL, '{');
    json_string("name", port.name);
    json_string("type", port.type);
    if (*port.number) json_string("count", port.number);
    if (port.is_ref) json_bool("reference", true);
    if (port.is_handle) json_bool("handle", true);
    if (contains_word(host, port.name)) json_bool("host", true);
    json_close();
  }
  json_close();
}

static void json_attrs(const situ_op *op) {
  const char *at = op->attrs;
  struct op_def_attr attr;
  json_open("attributes", '[');
  while (op_def_attr(&at, &attr)) {
    json_open(NULL, '{');
    json_string("name", attr.name);
    json_string("kind", attr.kind);
    if (attr.has_default) json_string("default", attr.default_value);
    json_bool("inferred", op_def_infers(op->inputs, attr.name));
    json_close();
  }
  json_close();
}

static void json_words(const char *key, const char *words) {
  char word[OP_DEF_STRING];
  json_open(key, '[');
  while (op_def_word(&words, word)) json_string(NULL, word);
  json_close();
}

static void json_op(const situ_op *op) {
  json_open(NULL, '{');
  json_string("name", op->name);
  json_string("family", op->family);
  json_string("doc", op->doc);
  json_ports("inputs", op->inputs, op->host);
  json_ports("outputs", op->outputs, "");
  json_attrs(op);
  json_words("devices", op->devices);
  json_words("python", op->python);
  json_close();
}

static situ_status json_list(void) {
  situ_status s = NULL;
  json_open(NULL, '[');
  for (int i = 0; !s && i < situ_ops_count(); i++) {
    situ_op op;
    s = situ_ops_get(i, &op);
    if (!s) json_op(&op);
  }
  json_close();
  return s;
}

/* ---- The command ---- */

static situ_status show_one(const char *name, bool as_json) {
  situ_op op;
  const situ_status s = situ_ops_find(name, &op);
  if (s) return s;
  if (!as_json) return print_op(&op);
  json_op(&op);
  return NULL;
}

static int run(const struct args *args) {
  const bool as_json = args_has(args, "json");
  const situ_status s = args->n_positional ? show_one(args->positional[0], as_json)
                        : as_json          ? json_list()
                                           : print_list();
  return s ? command_fail(args, s) : SUCCESS;
}

static const struct option options[] = {{"json", NULL, "print JSON"}, {0}};

const struct command ops_command = {
    .name = "ops",
    .positional = "[NAME]",
    .max_args = 1,
    .help = "list the operations, or describe one",
    .details =
        "GPU(float double) means that GPUs have kernels for these types only. Attributes\n"
        "\"from the inputs\" are inferred.\n\n"
        "  situ ops\n  situ ops MatMul\n  situ ops MatMul --json\n",
    .options = options,
    .run = run};
