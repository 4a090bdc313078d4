/* SPDX-License-Identifier: Apache-2.0
 * planned.c: see planned.h. */
#include "planned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "json.h"
#include "table.h"

#define NO_MEMORY() situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory.")

/* ---- The graph ---- */

static situ_status cannot_read(const char *path) {
  const int error = errno;
  return situ_status_create(error == ENOENT ? SITU_NOT_FOUND : SITU_UNAVAILABLE,
                            "'%s' cannot be read: %s", path, strerror(error));
}

static situ_status read_stream(FILE *stream, const char *path, char **text, size_t *length) {
  size_t capacity = 0, got = 1;
  *length = 0;
  while (got) {
    if (*length == capacity) {
      capacity = capacity ? 2 * capacity : 1 << 16;
      char *more = realloc(*text, capacity);
      if (!more) return NO_MEMORY();
      *text = more;
    }
    got = fread(*text + *length, 1, capacity - *length, stream);
    *length += got;
  }
  return ferror(stream) ? cannot_read(path) : NULL;
}

/* Says of which file an error speaks. */
static situ_status in_file(situ_status status, const char *path) {
  const situ_status named =
      situ_status_create(situ_status_code(status), "%s: %s", path, situ_status_message(status));
  situ_status_release(status);
  return named;
}

static bool is_python(const char *path) {
  const size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".py");
}

static situ_status status_hint(situ_status status, const char *hint) {
  const situ_status hinted =
      situ_status_create(situ_status_code(status), "%s\n%s", situ_status_message(status), hint);
  situ_status_release(status);
  return hinted;
}

static situ_status load(const char *path, situ_graph **out) {
  const bool is_stdin = !strcmp(path, "-");
  FILE *stream = is_stdin ? stdin : fopen(path, "rb");
  if (!stream) return cannot_read(path);
  char *text = NULL;
  size_t length = 0;
  situ_status s = read_stream(stream, path, &text, &length);
  if (!is_stdin) fclose(stream);
  if (!s) {
    s = situ_graph_load(text, length, out);
    if (!s && !situ_graph_count(*out))
      s = situ_status_create(SITU_INVALID_ARGUMENT, "There are no nodes in it.");
    if (s) s = in_file(s, is_stdin ? "standard input" : path);
    if (s && is_python(path))
      s = status_hint(s,
                      "This is a program, not a graph. Save its graph, as with "
                      "tf.train.write_graph, or try: situ simulate, situ run.");
  }
  free(text);
  return s;
}

/* ---- What is asked of it ---- */

struct asked {
  situ_feed *feeds;
  situ_value *fetches;
  int n_feeds, n_fetches;
};

static situ_status find_fetch(situ_graph *graph, const char *name, situ_value *out) {
  *out = situ_graph_find(graph, name);
  if (out->graph && out->node >= 0) return NULL;
  for (int i = 0; i < situ_graph_count(graph); i++) { /* nodes without outputs have no values */
    const situ_value node = situ_graph_node(graph, i);
    if (strcmp(situ_value_name(node), name) != 0) continue;
    *out = node;
    return NULL;
  }
  return situ_status_create(SITU_NOT_FOUND, "--fetch %s: the graph has no such node.", name);
}

static situ_status ask(const struct args *args, situ_graph *graph, struct asked *out) {
  out->feeds = calloc((size_t)args->n_given + 1, sizeof *out->feeds);
  out->fetches = calloc((size_t)args->n_given + 1, sizeof *out->fetches);
  if (!out->feeds || !out->fetches) return NO_MEMORY();
  situ_status s = NULL;
  for (int i = 0; !s && i < args->n_given; i++) {
    const char *option = args->given[i].option->name, *value = args->given[i].value;
    if (!strcmp(option, "fetch")) {
      s = find_fetch(graph, value, &out->fetches[out->n_fetches]);
      if (!s) out->n_fetches++;
    } else if (!strcmp(option, "feed")) {
      s = feed_parse(graph, value, &out->feeds[out->n_feeds]);
      if (!s) out->n_feeds++;
    }
  }
  return s;
}

static void free_asked(struct asked *asked) {
  for (int i = 0; i < asked->n_feeds; i++) situ_tensor_release(asked->feeds[i].tensor);
  free(asked->feeds);
  free(asked->fetches);
}

/* Says how the shape of a value that a plan lacks is given, where that is what failed. */
static situ_status hint(situ_graph *graph, situ_status status) {
  const char *name = situ_status_node(status);
  const situ_value value = name && graph ? situ_graph_find(graph, name) : (situ_value){0};
  if (!situ_value_valid(value) || strcmp(situ_value_op(value), "Placeholder") != 0) return status;
  const situ_shape shape = situ_value_shape(value);
  char dims[256] = "";
  for (int i = 0; i < shape.rank; i++) {
    char dim[24] = "N";
    if (shape.dim[i] >= 0) snprintf(dim, sizeof dim, "%lld", (long long)shape.dim[i]);
    const size_t length = strlen(dims);
    snprintf(dims + length, sizeof dims - length, "%s%s", i ? "x" : "", dim);
  }
  const situ_status hinted =
      situ_status_create(situ_status_code(status), "%s\nSay how large it will be: --feed %s=%s",
                         situ_status_message(status), name, *dims ? dims : "SHAPE");
  situ_status_release(status);
  return hinted;
}

int planned_make(const struct args *args, struct planned *out) {
  *out = (struct planned){0};
  struct asked asked = {0};
  const situ_config config = {.allow_soft_placement = args_has(args, "soft")};
  situ_status s = load(args->words[0], &out->graph);
  if (!s) s = ask(args, out->graph, &asked);
  if (!s) s = situ_session_create(out->graph, &config, &out->session);
  if (!s)
    s = situ_plan_create(out->session, asked.feeds, asked.n_feeds, asked.fetches, asked.n_fetches,
                         &out->plan);
  if (s) s = hint(out->graph, s);
  free_asked(&asked);
  return s ? command_fail(args, s) : DONE;
}

void planned_free(struct planned *planned) {
  situ_plan_release(planned->plan);
  situ_session_release(planned->session);
  situ_graph_release(planned->graph);
  *planned = (struct planned){0};
}

/* ---- Copies ---- */

bool planned_copies(const situ_plan *plan) {
  int count = 0;
  const situ_copy *copies = situ_plan_copies(plan, &count);
  uint64_t bytes = 0, once = 0;
  struct table table = {.heads = {"value", "from", "to", ">bytes", "when"}};
  for (int i = 0; i < count; i++) {
    table_add(&table, copies[i].value);
    table_add(&table, table_device(copies[i].from));
    table_add(&table, table_device(copies[i].to));
    table_bytes(&table, copies[i].bytes);
    table_add(&table, copies[i].once ? "first run" : "every run");
    if (copies[i].once)
      once += copies[i].bytes;
    else
      bytes += copies[i].bytes;
  }
  if (!count) {
    printf("\nNothing is copied between devices.\n");
    return true;
  }
  char a[32], b[32];
  printf("\nCopies between devices: %s in every run, %s once\n", table_size(bytes, a),
         table_size(once, b));
  return table_print(&table);
}

void planned_copies_json(const situ_plan *plan) {
  int count = 0;
  const situ_copy *copies = situ_plan_copies(plan, &count);
  json_open("copies", '[');
  for (int i = 0; i < count; i++) {
    json_open(NULL, '{');
    json_string("value", copies[i].value);
    json_string("from", copies[i].from);
    json_string("to", copies[i].to);
    json_size("bytes", copies[i].bytes);
    json_bool("once", copies[i].once);
    json_close();
  }
  json_close();
}
