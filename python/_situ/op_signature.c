/* SPDX-License-Identifier: Apache-2.0
 * op_signature.c: parses the signature of an op; src/schema/schema.h describes the grammar. */
#include "op_signature.h"

#include <string.h>

/* Gets the next word, separated by blanks outside of braces, brackets and quotes. */
static bool next_word(const char **text, char *word, size_t size) {
  while (**text == ' ') ++*text;
  int depth = 0;
  bool quoted = false;
  size_t n = 0;
  for (; **text && (depth || quoted || **text != ' '); ++*text) {
    if (**text == '\'') quoted = !quoted;
    if (!quoted && (**text == '{' || **text == '[')) depth++;
    if (!quoted && (**text == '}' || **text == ']')) depth--;
    if (n + 1 < size) word[n++] = **text;
  }
  word[n] = '\0';
  return n > 0;
}

static situ_attr_kind kind_of(const char *word, size_t length) {
  if (!strncmp(word, "list({", 6)) return SITU_ATTR_TYPES;
  if (*word == '{') return word[1] == '\'' ? SITU_ATTR_STRING : SITU_ATTR_TYPE;
#define KIND(name, text) \
  if (strlen(text) == length && !strncmp(word, text, length)) return SITU_ATTR_##name;
  SITU_ATTR_KINDS(KIND)
#undef KIND
  return strncmp(word, "int>=", 5) ? SITU_ATTR_NONE : SITU_ATTR_INT;
}

/* Returns a set of types, "{float double}", as bits. */
static uint32_t types_of(const char *set) {
  char inside[256], word[32];
  const char *text = inside;
  uint32_t bits = 0;
  snprintf(inside, sizeof inside, "%.*s", (int)strcspn(set + 1, "}"), set + 1);
  while (next_word(&text, word, sizeof word)) bits |= UINT32_C(1) << situ_type_parse(word);
  return bits;
}

static bool parse_attr(char *word, struct op_attr *out) {
  char *kind = strchr(word, ':');
  if (!kind) return false;
  *kind++ = '\0';
  snprintf(out->name, sizeof out->name, "%.47s", word);
  out->key = PyUnicode_InternFromString(out->name);
  char *end = strchr(kind, '{') ? strchr(kind, '}') : kind - 1;
  char *preset = end ? strchr(end + 1, '=') : NULL;
  if (preset && preset[-1] == '>') preset = strchr(preset + 1, '='); /* int>=1 */
  if (preset) {
    out->has_preset = true;
    snprintf(out->preset, sizeof out->preset, "%s", preset + 1);
  }
  out->kind = kind_of(kind, preset ? (size_t)(preset - kind) : strlen(kind));
  if (out->kind == SITU_ATTR_TYPE && *kind == '{') out->types = types_of(kind);
  if (out->kind == SITU_ATTR_TYPE && preset) out->preset_type = situ_type_parse(preset + 1);
  return true;
}

static int find_attr(const struct op_signature *signature, const char *name) {
  for (int i = 0; i < signature->n_attrs; i++)
    if (!strcmp(signature->attrs[i].name, name)) return i;
  return -1;
}

static bool parse_input(struct op_signature *signature, char *word, struct op_input *out) {
  char *type = strchr(word, ':');
  if (!type) return false;
  *type++ = '\0';
  snprintf(out->name, sizeof out->name, "%.47s", word);
  out->key = PyUnicode_InternFromString(out->name);
  char *star = strchr(type, '*');
  if (star) {
    *star = '\0';
    out->is_list = true;
    const int number = find_attr(signature, type);
    if (number >= 0) signature->attrs[number].inferred = true;
    type = star + 1;
  }
  if (*type == '&') {
    signature->takes_reference = true;
    type++;
  }
  if (*type == '@') { /* a handle: its type is not that of the variable */
    out->type_attr = -1;
    out->type = SITU_RESOURCE;
    return true;
  }
  out->type_attr = find_attr(signature, type);
  const bool is_types =
      out->type_attr >= 0 && signature->attrs[out->type_attr].kind == SITU_ATTR_TYPES;
  if (is_types) { /* the caller supplies the types */
    out->is_list = true;
    out->type_attr = -1;
  } else if (out->type_attr >= 0)
    signature->attrs[out->type_attr].inferred = true;
  else
    out->type = situ_type_parse(type);
  return true;
}

static void find_same(struct op_signature *signature) {
  for (int i = 0; i < signature->n_inputs; i++) {
    int first = 0;
    while (first < i && signature->inputs[first].type_attr != signature->inputs[i].type_attr)
      first++;
    signature->inputs[i].same_as = signature->inputs[i].type_attr < 0 ? i : first;
  }
}

static bool is_simple(const struct op_signature *signature) {
  bool simple = !signature->on_host && signature->n_inputs > 0 && signature->n_outputs == 1 &&
                !signature->list_output;
  for (int i = 0; i < signature->n_inputs; i++) simple = simple && !signature->inputs[i].is_list;
  for (int i = signature->n_inputs; i < signature->n_params; i++)
    simple = simple && signature->attrs[signature->param_attr[i]].has_preset;
  return simple;
}

/* Python names that differ from the op's, for one op or all (NULL); both names are accepted. */
static PyObject *other_name(const char *op, const char *name) {
  static const char *const names[][3] = {
      {"Select", "t", "x"},
      {"Select", "e", "y"},
      {"Where", "input", "condition"},
      {"SparseApplyProximalGradientDescent", "delta", "grad"},
      {"ResourceSparseApplyProximalGradientDescent", "delta", "grad"},
      {NULL, "dim", "axis"},
      {NULL, "squeeze_dims", "axis"},
      {NULL, "dimension", "axis"},
      {NULL, "concat_dim", "axis"},
      {NULL, "split_dim", "axis"},
      {NULL, "reduction_indices", "axis"},
      {NULL, "keep_dims", "keepdims"},
      {NULL, "DstT", "dtype"},
      {NULL, "string_tensor", "input"},
      {NULL, "bytes", "input_bytes"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i][1], name) && (!names[i][0] || !strcmp(names[i][0], op)))
      return PyUnicode_InternFromString(names[i][2]);
  return NULL;
}

static void find_other_names(struct op_signature *signature) {
  for (int i = 0; i < signature->n_inputs; i++)
    signature->input_alias[i] = other_name(signature->name, signature->inputs[i].name);
  for (int i = 0; i < signature->n_attrs; i++)
    signature->attrs[i].alias = other_name(signature->name, signature->attrs[i].name);
  if (signature->n_inputs != 2 || strcmp(signature->inputs[1].name, "reduction_indices") != 0)
    return;
  signature->input_alias[0] = PyUnicode_InternFromString("input_tensor");
  signature->inputs[1].all_axes = true;
}

/* Orders the parameters after the inputs: attributes with a default last, as in TensorFlow. */
static void order_params(struct op_signature *signature) {
  signature->n_params = signature->n_inputs;
  for (int preset = 0; preset < 2; preset++)
    for (int i = 0; i < signature->n_attrs; i++)
      if (!signature->attrs[i].inferred && signature->attrs[i].has_preset == preset)
        signature->param_attr[signature->n_params++] = i;
}

bool op_signature_parse(const situ_op *op, struct op_signature *out) {
  char word[256];
  *out = (struct op_signature){.name = op->name, .on_host = op->on_host};
  const char *text = op->attrs ? op->attrs : "";
  while (out->n_attrs < MAX_ATTRS && next_word(&text, word, sizeof word))
    if (parse_attr(word, &out->attrs[out->n_attrs])) out->n_attrs++;
  text = op->inputs ? op->inputs : "";
  while (out->n_inputs < MAX_INPUTS && next_word(&text, word, sizeof word))
    if (parse_input(out, word, &out->inputs[out->n_inputs])) out->n_inputs++;
  text = op->outputs ? op->outputs : "";
  while (next_word(&text, word, sizeof word)) {
    out->n_outputs++;
    const char *type = strchr(word, ':');
    const int attr = type ? find_attr(out, type + 1) : -1;
    if (strchr(word, '*') || (attr >= 0 && out->attrs[attr].kind == SITU_ATTR_TYPES))
      out->list_output = true;
  }
  order_params(out);
  find_other_names(out);
  out->n_needed = out->n_inputs;
  while (out->n_needed && out->inputs[out->n_needed - 1].all_axes) out->n_needed--;
  find_same(out);
  out->simple = is_simple(out);
  return !PyErr_Occurred();
}
