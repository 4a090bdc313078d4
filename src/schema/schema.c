/* SPDX-License-Identifier: Apache-2.0
 * schema.c: the table of parsed op definitions, and resolution of attributes. */
#include "schema/schema.h"

#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "schema/signature.h"

/* The table; lives as long as the process. */
static struct {
  struct arena arena;
  struct schema *schemas;
  int count;
  struct map names;
  situ_status problem;
} table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void add_op(const struct op_def *op) {
  struct schema *schema = &table.schemas[table.count];
  int32_t found = -1;
  situ_status s = signature_parse(op, &table.arena, schema);
  schema->id = table.count;
  if (!s && !map_find_or_put(&table.names, op->name, table.count, &found)) s = NO_MEMORY();
  if (!s && found >= 0) s = INTERNAL("Op '%s' is there twice", op->name);
  if (!s) table.count++;
  table.problem = status_first(table.problem, s);
}

static void make_table(void) {
  int count = 0;
  for (const struct op_family *const *f = op_families; *f; f++) count += (*f)->count;
  table.schemas = ARENA_ARRAY(&table.arena, struct schema, count);
  if (!table.schemas) table.problem = NO_MEMORY();
  for (const struct op_family *const *f = op_families; *f && table.schemas; f++)
    for (int i = 0; i < (*f)->count; i++) add_op(&(*f)->ops[i]);
}

situ_status schema_check(void) {
  pthread_once(&table_once, make_table);
  return table.problem ? status_copy(table.problem) : NULL;
}

const struct schema *schema_find(const char *op) {
  pthread_once(&table_once, make_table);
  const int32_t id = map_get(&table.names, op, strlen(op));
  return id < 0 ? NULL : &table.schemas[id];
}

const struct schema *schema_get(int id) {
  pthread_once(&table_once, make_table);
  return &table.schemas[id];
}

int schema_count(void) {
  pthread_once(&table_once, make_table);
  return table.count;
}

/* How many letters must change to make b of a; both at most MOST long. */
static int distance(const char *a, const char *b) {
  enum { MOST = 64 };
  const int n = (int)strlen(a), m = (int)strlen(b);
  int schema[MOST + 1];
  if (n > MOST || m > MOST) return MOST;
  for (int j = 0; j <= m; j++) schema[j] = j;
  for (int i = 1; i <= n; i++) {
    int corner = schema[0];
    schema[0] = i;
    for (int j = 1; j <= m; j++) {
      const int change = corner + ((a[i - 1] | 32) != (b[j - 1] | 32));
      corner = schema[j];
      const int step = (schema[j] < schema[j - 1] ? schema[j] : schema[j - 1]) + 1;
      schema[j] = change < step ? change : step;
    }
  }
  return schema[m];
}

const char *schema_nearest(const char *op) {
  const char *nearest = NULL;
  int least = (int)strlen(op) / 3 + 1;
  for (int i = 0; i < schema_count(); i++) {
    const int steps = distance(op, table.schemas[i].op->name);
    if (steps > least || (nearest && steps == least)) continue;
    least = steps;
    nearest = table.schemas[i].op->name;
  }
  return nearest;
}

const situ_op_port *schema_port(const struct schema *schema, int input, int n) {
  int lists = 0, at = 0;
  for (int p = 0; p < schema->n_inputs; p++) lists += schema->inputs[p].is_list;
  const int each = lists ? (n - schema->n_inputs + lists) / lists : 1;
  for (int p = 0; p < schema->n_inputs; p++) {
    at += schema->inputs[p].is_list ? each : 1;
    if (input < at) return &schema->inputs[p];
  }
  return NULL;
}

int schema_attr(const struct schema *schema, const char *name) {
  for (int i = 0; i < schema->n_attrs; i++)
    if (!strcmp(schema->attrs[i].name, name)) return i;
  return -1;
}

bool schema_supports(const struct schema *schema, const struct attr_value *attrs,
                     const char *kind) {
  for (int i = 0; i < MAX_KINDS && schema->kinds[i]; i++) {
    if (strcmp(schema->kinds[i], kind)) continue;
    if (schema->kind_types[i] == UINT32_MAX) return true;
    return schema->kind_types[i] >> attrs[schema->device_type_attr].type & 1;
  }
  return false;
}

bool schema_computes_strings(const struct schema *schema, const struct attr_value *attrs) {
  return schema->op->compute_strings && schema->device_type_attr >= 0 &&
         attrs[schema->device_type_attr].type == SITU_STRING;
}

/* Attributes of a call */

static situ_status wrong_type(const struct schema *schema, const situ_op_port *port, int first,
                              situ_type type, situ_type expected) {
  if (port->type_attr < 0)
    return INVALID("Input '%s' of '%s' Op has type %s that does not match expected type of %s.",
                   port->name, schema->op->name, situ_type_numpy(type), situ_type_numpy(expected));
  return INVALID("Input '%s' of '%s' Op has type %s that does not match type %s of argument '%s'.",
                 port->name, schema->op->name, situ_type_numpy(type), situ_type_numpy(expected),
                 schema->inputs[first].name);
}

/* The first input that says what an attribute is. */
static int first_input(const struct schema *schema, int type_attr) {
  int i = 0;
  while (i < schema->n_inputs - 1 && schema->inputs[i].type_attr != type_attr) i++;
  return i;
}

/* Element `k` of a list of types. */
static situ_status match_element(const struct schema *schema, const situ_op_port *port, int k,
                                 situ_type type, const struct attr_value *attrs) {
  const situ_type want = (situ_type)attrs[port->type_attr].list.items[k];
  if (type == want) return NULL;
  return INVALID("Input %d of '%s' of '%s' Op has type %s that does not match expected type of %s.",
                 k, port->name, schema->op->name, situ_type_numpy(type), situ_type_numpy(want));
}

static situ_status match_type(const struct schema *schema, const situ_op_port *port, situ_type type,
                              struct attr_value *attrs) {
  if (port->type_attr < 0)
    return type == port->type ? NULL : wrong_type(schema, port, 0, type, port->type);
  struct attr_value *attr = &attrs[port->type_attr];
  if (attr->kind == SITU_ATTR_NONE)
    *attr = (struct attr_value){.kind = SITU_ATTR_TYPE, .type = type};
  if (attr->type == type) return NULL;
  return wrong_type(schema, port, first_input(schema, port->type_attr), type, attr->type);
}

static situ_status wrong_count(const struct schema *schema, int n_in) {
  return INVALID("Op '%s' takes %d inputs (\"%s\"), but %d were given.", schema->op->name,
                 schema->n_inputs, schema->op->inputs ? schema->op->inputs : "", n_in);
}

/* Infers the lengths of lists. */
static situ_status match_count(const struct schema *schema, int n_in, struct attr_value *attrs) {
  int lists = 0, open = -1, fixed = 0;
  for (int i = 0; i < schema->n_inputs; i++) {
    const int number = schema->inputs[i].number_attr;
    if (schema->inputs[i].is_types) {
      const struct attr_value *types = &attrs[schema->inputs[i].type_attr];
      if (types->kind != SITU_ATTR_TYPES)
        return INVALID("Op '%s' needs the attribute '%s'.", schema->op->name,
                       schema->attrs[schema->inputs[i].type_attr].name);
      fixed += (int)types->list.count;
    } else if (number < 0) {
      fixed++;
    } else if (attrs[number].kind == SITU_ATTR_INT && number != open) {
      if (attrs[number].integer < 0 || attrs[number].integer > n_in)
        return wrong_count(schema, n_in);
      fixed += (int)attrs[number].integer;
    } else {
      if (open >= 0 && open != number)
        return INVALID("Op '%s' needs the attribute '%s'.", schema->op->name,
                       schema->attrs[number].name);
      open = number;
      lists++;
    }
  }
  if (open < 0) return fixed == n_in ? NULL : wrong_count(schema, n_in);
  if (n_in < fixed || (n_in - fixed) % lists) return wrong_count(schema, n_in);
  attrs[open] = (struct attr_value){.kind = SITU_ATTR_INT, .integer = (n_in - fixed) / lists};
  return NULL;
}

/* The order in which types are listed. */
static const situ_type listed[] = {SITU_BFLOAT16, SITU_HALF,   SITU_FLOAT,       SITU_DOUBLE,
                                   SITU_INT8,     SITU_INT16,  SITU_INT32,       SITU_INT64,
                                   SITU_UINT8,    SITU_UINT16, SITU_UINT32,      SITU_UINT64,
                                   SITU_INT4,     SITU_UINT4,  SITU_FLOAT8_E5M2, SITU_FLOAT8_E4M3FN,
                                   SITU_STRING,   SITU_BOOL,   SITU_COMPLEX64,   SITU_COMPLEX128};

static situ_status string_not_allowed(const struct schema *schema, const situ_op_attr *spec,
                                      const char *given) {
  struct strbuf list = {0};
  for (const char *at = spec->strings; *at; at++)
    strbuf_append(&list, *at == '\'' ? "\"" : *at == ',' ? ", " : (char[]){*at, '\0'});
  const situ_status s = INVALID("Attr '%s' of '%s' Op passed string '%s' not in: %s.", spec->name,
                                schema->op->name, given, strbuf_get(&list));
  strbuf_free(&list);
  return s;
}

static situ_status not_allowed(const struct schema *schema, const situ_op_attr *spec,
                               const char *given) {
  if (spec->strings && given) return string_not_allowed(schema, spec, given);
  struct strbuf list = {0};
  for (size_t i = 0; i < COUNT_OF(listed) && !spec->strings; i++)
    if (spec->types >> listed[i] & 1)
      strbuf_appendf(&list, "%s%s", list.length ? ", " : "", situ_type_name(listed[i]));
  if (spec->strings) strbuf_append(&list, spec->strings);
  const situ_status s =
      INVALID("Value for attr '%s' of %s is not in the list of allowed values: %s (op '%s')",
              spec->name, given ? given : "", strbuf_get(&list), schema->op->name);
  strbuf_free(&list);
  return s;
}

static bool is_word(const char *words, const char *text) {
  const size_t length = strlen(text);
  for (const char *at = strchr(words, '\''); at; at = strchr(at, '\'')) {
    const char *end = strchr(++at, '\'');
    if (!end) return false;
    if ((size_t)(end - at) == length && !memcmp(at, text, length)) return true;
    at = end + 1;
  }
  return false;
}

static situ_status check_type(const struct schema *schema, const situ_op_attr *spec, int64_t type) {
  if (type > SITU_NO_TYPE && type < MAX_TYPES && spec->types >> type & 1) return NULL;
  const bool is_type = type >= 0 && type < MAX_TYPES;
  return not_allowed(schema, spec, is_type ? situ_type_name((situ_type)type) : "unknown type");
}

static situ_status check_integer(const struct schema *schema, const situ_op_attr *spec,
                                 int64_t value) {
  const bool is_narrow = spec->maximum == INT32_MAX;
  if (value > spec->maximum || (is_narrow && value < INT32_MIN))
    return INVALID("Attr %s has value %lld out of range for an int32 (op '%s')", spec->name,
                   (long long)value, schema->op->name);
  if (value >= spec->minimum) return NULL;
  return INVALID("Value for attr '%s' of %lld must be at least minimum %lld (op '%s')", spec->name,
                 (long long)value, (long long)spec->minimum, schema->op->name);
}

static situ_status check_length(const struct schema *schema, const situ_op_attr *spec,
                                int64_t length) {
  if (length < spec->min_length)
    return INVALID("Length for attr '%s' of %lld must be at least minimum %lld (op '%s')",
                   spec->name, (long long)length, (long long)spec->min_length, schema->op->name);
  if (length <= spec->max_length) return NULL;
  return INVALID("Length for attr '%s' of %lld must be %lld (op '%s')", spec->name,
                 (long long)length, (long long)spec->max_length, schema->op->name);
}

static situ_status check_value(const struct schema *schema, const situ_op_attr *spec,
                               const struct attr_value *value) {
  switch (value->kind) {
    case SITU_ATTR_TYPE:
      return check_type(schema, spec, value->type);
    case SITU_ATTR_TYPES:
      TRY(check_length(schema, spec, value->list.count));
      for (int64_t i = 0; i < value->list.count; i++)
        TRY(check_type(schema, spec, value->list.items[i]));
      return NULL;
    case SITU_ATTR_INT:
      return check_integer(schema, spec, value->integer);
    case SITU_ATTR_INTS:
      TRY(check_length(schema, spec, value->list.count));
      for (int64_t i = 0; i < value->list.count; i++)
        TRY(check_integer(schema, spec, value->list.items[i]));
      return NULL;
    case SITU_ATTR_FLOATS:
      return check_length(schema, spec, value->reals.count);
    case SITU_ATTR_SHAPES:
      return check_length(schema, spec, value->shapes.count);
    case SITU_ATTR_STRING:
      if (!spec->strings || (value->text && is_word(spec->strings, value->text))) return NULL;
      return not_allowed(schema, spec, value->text);
    default:
      return NULL;
  }
}

static situ_status complete(const struct schema *schema, int attr, struct attr_value *value) {
  const situ_op_attr *spec = &schema->attrs[attr];
  if (value->kind == SITU_ATTR_NONE) {
    if (!spec->default_value)
      return INVALID("NodeDef missing attr '%s' from Op '%s'", spec->name, schema->op->name);
    *value = schema->defaults[attr];
    return NULL;
  }
  if (value->kind == SITU_ATTR_INT && spec->kind == SITU_ATTR_FLOAT)
    *value = (struct attr_value){.kind = SITU_ATTR_FLOAT, .real = (double)value->integer};
  if (value->kind != spec->kind)
    return INVALID("AttrValue had value with type '%s' when '%s' expected for attr '%s' of Op '%s'",
                   attr_kind_name(value->kind), attr_kind_name(spec->kind), spec->name,
                   schema->op->name);
  return check_value(schema, spec, value);
}

/* Fails on a list of more outputs than a node may have: a few bytes of a GraphDef must not make
 * billions of them. */
static situ_status check_outputs(const struct schema *schema, const struct attr_value *attrs) {
  enum { MOST_OUTPUTS = 65536 };
  for (int i = 0; i < schema->n_outputs; i++) {
    const int number = schema->outputs[i].number_attr;
    if (number < 0 || (attrs[number].integer >= 0 && attrs[number].integer <= MOST_OUTPUTS))
      continue;
    return INVALID(
        "Value for attr '%s' of %lld is not between 0 and %d, the most outputs that a "
        "node may have (op '%s')",
        schema->attrs[number].name, (long long)attrs[number].integer, (int)MOST_OUTPUTS,
        schema->op->name);
  }
  return NULL;
}

static int port_count(const situ_op_port *port, const struct attr_value *attrs) {
  if (port->is_types) return (int)attrs[port->type_attr].list.count;
  return port->number_attr < 0 ? 1 : (int)attrs[port->number_attr].integer;
}

static situ_status resolve(const struct schema *schema, const situ_type *in_types, int n_in,
                           struct attr_value *attrs, int *n_out) {
  TRY(match_count(schema, n_in, attrs));
  for (int i = 0; i < schema->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    const int count = port_count(port, attrs);
    for (int k = 0; k < count; k++, in_types++)
      TRY(port->is_types ? match_element(schema, port, k, *in_types, attrs)
                         : match_type(schema, port, *in_types, attrs));
  }
  for (int i = 0; i < schema->n_attrs; i++) TRY(complete(schema, i, &attrs[i]));
  TRY(check_outputs(schema, attrs));
  int total = 0;
  for (int i = 0; i < schema->n_outputs; i++) total += port_count(&schema->outputs[i], attrs);
  *n_out = total;
  return NULL;
}

situ_status schema_resolve(const struct schema *schema, const char *node, const situ_type *in_types,
                           int n_in, struct attr_value *attrs, int *n_out) {
  const situ_status s = resolve(schema, in_types, n_in, attrs, n_out);
  return s ? status_at_node(s, node) : NULL;
}

/* The port that a flat index belongs to, and the index within it; the last one for an index past
 * the end. */
static const situ_op_port *find_port(const situ_op_port *ports, int count,
                                     const struct attr_value *attrs, int *index) {
  int i = 0;
  while (i < count - 1 && *index >= port_count(&ports[i], attrs))
    *index -= port_count(&ports[i++], attrs);
  return &ports[i];
}

situ_type schema_output_type(const struct schema *schema, const struct attr_value *attrs,
                             int index) {
  const situ_op_port *port = find_port(schema->outputs, schema->n_outputs, attrs, &index);
  if (port->is_types) return (situ_type)attrs[port->type_attr].list.items[index];
  return port->type_attr < 0 ? port->type : attrs[port->type_attr].type;
}

const situ_op_port *schema_output_port(const struct schema *schema, const struct attr_value *attrs,
                                       int index, int *within) {
  *within = index;
  return find_port(schema->outputs, schema->n_outputs, attrs, within);
}

const situ_op_port *schema_input_port(const struct schema *schema, const struct attr_value *attrs,
                                      int index) {
  return find_port(schema->inputs, schema->n_inputs, attrs, &index);
}
