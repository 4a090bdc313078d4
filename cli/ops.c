/* SPDX-License-Identifier: Apache-2.0
 * ops.c: `situ ops`: lists the operations or describes one. */
#include <string.h>

#include "command.h"
#include "json.h"
#include "table.h"

enum { WIDTH = 88, INDENT = 12, TEXT = 512 };

/* Gets the next word of a list of Python names or devices; blanks in parentheses do not separate
 * words. Returns false at the end. */
static bool next_word(const char **text, char out[TEXT]) {
  const char *start = *text + strspn(*text, " \n"), *end = start;
  for (bool inside = false; *end && (inside || !strchr(" \n", *end)); end++)
    inside = *end == '(' || (inside && *end != ')');
  snprintf(out, TEXT, "%.*s", (int)(end - start), start);
  *text = end;
  return end > start;
}

/* Appends prefix and word to a list, preceded by a blank unless it is empty; truncates. */
static void append_word(char list[TEXT], const char *prefix, const char *word) {
  const size_t length = strlen(list);
  const int n = snprintf(list + length, TEXT - length, "%s%s%s", length ? " " : "", prefix, word);
  if (n < 0) list[length] = 0;
}

/* ---- The list ---- */

static const char *python_names(const situ_op *op, char out[TEXT]) {
  const char *at = op->python;
  char word[TEXT];
  out[0] = 0;
  while (next_word(&at, word)) append_word(out, "tf.", word);
  return out;
}

/* "CPU GPU(float double)" without the types: "CPU GPU". */
static const char *device_kinds(const char *devices, char out[TEXT]) {
  char word[TEXT];
  out[0] = 0;
  while (next_word(&devices, word)) {
    word[strcspn(word, "(")] = 0;
    append_word(out, "", word);
  }
  return out;
}

static const char *first_sentence(const char *doc, char out[TEXT]) {
  const char *end = doc;
  while (*end && !(end > doc && end[-1] == '.' && (*end == ' ' || *end == '\n'))) end++;
  snprintf(out, TEXT, "%.*s", (int)(end - doc), doc);
  return out;
}

static situ_status print_list(void) {
  struct table table = {.heads = {"name", "family", "devices", "Python", "description"}};
  situ_status s = NULL;
  for (int i = 0; !s && i < situ_ops_count(); i++) {
    situ_op op;
    char text[TEXT];
    s = situ_ops_get(i, &op);
    if (s) break;
    table_add(&table, op.name);
    table_add(&table, op.family);
    table_add(&table, device_kinds(op.devices, text));
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

/* The attribute with the length of a list; "" otherwise. */
static const char *length_of(const situ_op *op, const situ_op_port *port) {
  return port->number_attr < 0 ? "" : op->attrs[port->number_attr].name;
}

static void print_ports(const situ_op *op, const situ_op_port *ports, int count) {
  putchar('(');
  for (int i = 0; i < count; i++) {
    const char *length = length_of(op, &ports[i]);
    printf("%s%s: %s%s%s%s", i ? ", " : "", ports[i].name, length, *length ? " x " : "",
           ports[i].type_name,
           ports[i].is_handle ? " by handle"
           : ports[i].is_ref  ? " by reference"
                              : "");
  }
  putchar(')');
}

/* Formats the type of an attribute; a set as a comma-separated list. */
static const char *type_text(const situ_op_attr *attr, char out[TEXT]) {
  const bool is_set = attr->type[0] == '{';
  size_t n = 0;
  for (const char *c = attr->type + is_set; *c && !(is_set && *c == '}') && n + 2 < TEXT; c++) {
    const bool separates = is_set && strchr(" \n,", *c);
    if (!separates)
      out[n++] = *c;
    else if (n && out[n - 1] != ' ')
      n += (size_t)sprintf(out + n, ", ");
  }
  out[n] = 0;
  return out;
}

static bool print_attrs(const situ_op *op) {
  struct table table = {.heads = {"attribute", "default", "type"}};
  for (int i = 0; i < op->n_attrs; i++) {
    const situ_op_attr *attr = &op->attrs[i];
    char text[TEXT];
    table_add(&table, attr->name);
    table_add(&table, attr->inferred        ? "(from the inputs)"
                      : attr->default_value ? attr->default_value
                                            : "(required)");
    table_add(&table, type_text(attr, text));
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
  char sentence[TEXT] = "";
  if (!*status) *status = situ_ops_argument_doc(op->number, name, sentence, sizeof sentence);
  if (!*sentence) return 0;
  if (!indent) return (int)strlen(name);
  print_field(name, sentence, indent);
  return 0;
}

/* Visits the inputs and the attributes that callers pass. Returns the length of the longest name
 * if the indent is 0. */
static int print_arguments(const situ_op *op, int indent, situ_status *status) {
  int longest = 0;
  for (int i = 0; i < op->n_inputs + op->n_attrs; i++) {
    const situ_op_attr *attr = i < op->n_inputs ? NULL : &op->attrs[i - op->n_inputs];
    if (attr && attr->inferred) continue;
    const int length = print_argument(op, attr ? attr->name : op->inputs[i].name, indent, status);
    if (length > longest) longest = length;
  }
  return longest;
}

static situ_status print_op(const situ_op *op) {
  char python[TEXT];
  fputs(op->name, stdout);
  print_ports(op, op->inputs, op->n_inputs);
  fputs(" -> ", stdout);
  print_ports(op, op->outputs, op->n_outputs);
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

static void json_ports(const char *key, const situ_op *op, const situ_op_port *ports, int count) {
  json_open(key, '[');
  for (const situ_op_port *port = ports; port < ports + count; port++) {
    json_open(NULL, '{');
    json_string("name", port->name);
    json_string("type", port->type_name);
    if (*length_of(op, port)) json_string("count", length_of(op, port));
    if (port->is_ref && !port->is_handle) json_bool("reference", true);
    if (port->is_handle) json_bool("handle", true);
    if (port->is_host) json_bool("host", true);
    json_close();
  }
  json_close();
}

static void json_attrs(const situ_op *op) {
  json_open("attributes", '[');
  for (int i = 0; i < op->n_attrs; i++) {
    const situ_op_attr *attr = &op->attrs[i];
    json_open(NULL, '{');
    json_string("name", attr->name);
    json_string("kind", attr->type);
    if (attr->default_value) json_string("default", attr->default_value);
    json_bool("inferred", attr->inferred);
    json_close();
  }
  json_close();
}

static void json_words(const char *key, const char *words) {
  char word[TEXT];
  json_open(key, '[');
  while (next_word(&words, word)) json_string(NULL, word);
  json_close();
}

static void json_op(const situ_op *op) {
  json_open(NULL, '{');
  json_string("name", op->name);
  json_string("family", op->family);
  json_string("doc", op->doc);
  json_ports("inputs", op, op->inputs, op->n_inputs);
  json_ports("outputs", op, op->outputs, op->n_outputs);
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
