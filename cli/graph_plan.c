/* SPDX-License-Identifier: Apache-2.0
 * graph_plan.c: see graph_plan.h. */
#include "graph_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "json.h"
#include "table.h"

#define NO_MEMORY() situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.")

/* ---- Loading the graph ---- */

static situ_status cannot_read(const char *path) {
  const int error = errno;
  return situ_status_create(error == ENOENT ? SITU_NOT_FOUND : SITU_UNAVAILABLE,
                            "Cannot read '%s': %s", path, strerror(error));
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

/* Prefixes an error with the path. */
static situ_status add_path(situ_status status, const char *path) {
  const situ_status named =
      situ_status_create(situ_status_code(status), "%s: %s", path, situ_status_message(status));
  situ_status_release(status);
  return named;
}

static bool is_python(const char *path) {
  const size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".py");
}

static situ_status add_hint(situ_status status, const char *add_feed_hint) {
  const situ_status hinted = situ_status_create(situ_status_code(status), "%s\n%s",
                                                situ_status_message(status), add_feed_hint);
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
      s = situ_status_create(SITU_INVALID_ARGUMENT, "The graph has no nodes.");
    if (s) s = add_path(s, is_stdin ? "standard input" : path);
    if (s && is_python(path))
      s = add_hint(s,
                   "This is a Python program, not a graph. Save its graph with "
                   "tf.train.write_graph, or use situ simulate or situ run.");
  }
  free(text);
  return s;
}

/* ---- Feeds and fetches ---- */

struct request {
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

static situ_status read_request(const struct args *args, situ_graph *graph, struct request *out) {
  out->feeds = calloc((size_t)args->n_options + 1, sizeof *out->feeds);
  out->fetches = calloc((size_t)args->n_options + 1, sizeof *out->fetches);
  if (!out->feeds || !out->fetches) return NO_MEMORY();
  situ_status s = NULL;
  for (int i = 0; !s && i < args->n_options; i++) {
    const char *option = args->options[i].option->name, *value = args->options[i].value;
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

static void free_request(struct request *request) {
  for (int i = 0; i < request->n_feeds; i++) situ_tensor_release(request->feeds[i].tensor);
  free(request->feeds);
  free(request->fetches);
}

/* If a placeholder has no known shape, adds the --feed option that sets it. */
static situ_status add_feed_hint(situ_graph *graph, situ_status status) {
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
      situ_status_create(situ_status_code(status), "%s\nSet its shape: --feed %s=%s",
                         situ_status_message(status), name, *dims ? dims : "SHAPE");
  situ_status_release(status);
  return hinted;
}

int graph_plan_create(const struct args *args, struct graph_plan *out) {
  *out = (struct graph_plan){0};
  struct request request = {0};
  const situ_config config = {.allow_soft_placement = args_has(args, "soft")};
  situ_status s = load(args->positional[0], &out->graph);
  if (!s) s = read_request(args, out->graph, &request);
  if (!s) s = situ_session_create(out->graph, &config, &out->session);
  if (!s)
    s = situ_plan_create(out->session, request.feeds, request.n_feeds, request.fetches,
                         request.n_fetches, &out->plan);
  if (s) s = add_feed_hint(out->graph, s);
  free_request(&request);
  return s ? command_fail(args, s) : SUCCESS;
}

void graph_plan_free(struct graph_plan *graph_plan) {
  situ_plan_release(graph_plan->plan);
  situ_session_release(graph_plan->session);
  situ_graph_release(graph_plan->graph);
  *graph_plan = (struct graph_plan){0};
}

/* ---- Copies ---- */

bool graph_plan_print_copies(const situ_plan *plan) {
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
    printf("\nNo copies between devices.\n");
    return true;
  }
  char a[32], b[32];
  printf("\nCopies between devices: %s in every run, %s once\n", table_size(bytes, a),
         table_size(once, b));
  return table_print(&table);
}

void graph_plan_copies_json(const situ_plan *plan) {
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
