/* SPDX-License-Identifier: Apache-2.0
 * staging_ops.c: staging areas: buffers of tensor tuples between steps, first in, first out (Stage)
 * or by key (MapStage, OrderedMapStage). The ops of an area refer to it by shared_name; the first
 * one that runs creates it. Tuples with a key may be put and taken in parts. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A tuple; parts that are missing or taken are NULL. */
struct entry {
  struct entry *next;
  int64_t key;
  situ_tensor *parts[];
};

struct staging_area {
  struct resource head;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_map, is_ordered;
  int n_parts;
  size_t capacity, memory_limit; /* 0: no limit */
  size_t count, bytes;           /* of complete tuples; of all tensors */
  struct entry *complete, *incomplete;
};

static void free_entry(const struct staging_area *area, struct entry *entry) {
  for (int i = 0; i < area->n_parts; i++) situ_tensor_release(entry->parts[i]);
  free(entry);
}

static void free_entries(const struct staging_area *area, struct entry **list) {
  while (*list) {
    struct entry *entry = *list;
    *list = entry->next;
    free_entry(area, entry);
  }
}

static void destroy(struct resource *resource) {
  struct staging_area *area = (struct staging_area *)resource;
  free_entries(area, &area->complete);
  free_entries(area, &area->incomplete);
  pthread_cond_destroy(&area->changed);
  pthread_mutex_destroy(&area->lock);
  free(area);
}

static const struct resource_kind staging_kind = {"staging area", destroy};

static situ_status create(void *context, struct resource **out) {
  const struct call *call = context;
  struct staging_area *area = calloc(1, sizeof *area);
  if (!area) return NO_MEMORY();
  pthread_mutex_init(&area->lock, NULL);
  pthread_cond_init(&area->changed, NULL);
  area->is_ordered = !strncmp(call->schema->op->name, "Ordered", 7);
  area->is_map = area->is_ordered || !strncmp(call->schema->op->name, "Map", 3);
  area->n_parts = (int)call_attr(call, "dtypes")->list.count;
  area->capacity = (size_t)call_integer(call, "capacity");
  area->memory_limit = (size_t)call_integer(call, "memory_limit");
  *out = &area->head;
  return NULL;
}

/* Finds the area of a call and locks it; end_use follows. */
static situ_status begin_use(const struct compute *compute, struct staging_area **out) {
  struct resource *resource = NULL;
  TRY(compute_find_resource(compute, &staging_kind, create, compute->call, &resource));
  *out = (struct staging_area *)resource;
  pthread_mutex_lock(&(*out)->lock);
  return NULL;
}

static situ_status end_use(struct staging_area *area, situ_status status) {
  pthread_cond_broadcast(&area->changed);
  pthread_mutex_unlock(&area->lock);
  resource_release(&area->head);
  return status;
}

static situ_status create_entry(const struct staging_area *area, int64_t key, struct entry **out) {
  *out = calloc(1, sizeof **out + sizeof(situ_tensor *) * (size_t)area->n_parts);
  if (!*out) return NO_MEMORY();
  (*out)->key = key;
  return NULL;
}

/* The link to the entry with a key, or to NULL. */
static struct entry **find_key(struct entry **list, int64_t key) {
  while (*list && (*list)->key != key) list = &(*list)->next;
  return list;
}

static void add_complete(struct staging_area *area, struct entry *entry) {
  struct entry **link = &area->complete;
  while (*link && !(area->is_ordered && (*link)->key > entry->key)) link = &(*link)->next;
  entry->next = *link;
  *link = entry;
  area->count++;
}

/* The values of a put: inputs `first` ... of the call, for the parts at `indices`; NULL: all. */
struct tuple {
  int64_t key;
  int first, n;
  const int32_t *indices;
};

static int part_of(const struct tuple *tuple, int i) {
  return tuple->indices ? tuple->indices[i] : i;
}

static situ_status check_index(const struct staging_area *area, int64_t key, int32_t index) {
  if (index >= 0 && index < area->n_parts) return NULL;
  return INVALID("Index '%d' for key '%lld' was out of bounds '%d'.", index, (long long)key,
                 area->n_parts);
}

/* Waits until there is room for the tensors of a put, and for another tuple. */
static situ_status wait_for_room(const struct compute *compute, struct staging_area *area,
                                 size_t bytes, bool completes) {
  const size_t limit = area->memory_limit;
  if (limit && bytes > limit)
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "Attempted to insert tensors with combined size of '%zu' bytes into "
                              "Staging Area with a memory limit of '%zu'.",
                              bytes, limit);
  situ_status status = NULL;
  while (!status && ((limit && area->bytes + bytes > limit) ||
                     (completes && area->capacity && area->count >= area->capacity)))
    status = compute_wait(compute, &area->changed, &area->lock, "Stage operation");
  return status;
}

static size_t input_bytes(const struct compute *compute, const struct tuple *tuple) {
  size_t bytes = 0;
  for (int i = 0; i < tuple->n; i++) bytes += compute->in[tuple->first + i]->bytes;
  return bytes;
}

static situ_status check_parts(const struct staging_area *area, const struct tuple *tuple,
                               const struct entry *entry) {
  for (int i = 0; i < tuple->n; i++) {
    TRY(check_index(area, tuple->key, part_of(tuple, i)));
    if (entry && entry->parts[part_of(tuple, i)])
      return INVALID("The tensor for index '%d' for key '%lld' was already initialized '%d'.",
                     part_of(tuple, i), (long long)tuple->key, area->n_parts);
  }
  return NULL;
}

static situ_status fill_entry(const struct compute *compute, const struct tuple *tuple,
                              struct entry *entry) {
  for (int i = 0; i < tuple->n; i++)
    TRY(compute_keep(compute, tuple->first + i, &entry->parts[part_of(tuple, i)]));
  return NULL;
}

static bool is_complete(const struct staging_area *area, const struct entry *entry) {
  for (int i = 0; i < area->n_parts; i++)
    if (!entry->parts[i]) return false;
  return true;
}

/* Puts a tuple or some of its parts. A key that is complete already keeps its tuple. */
static situ_status put(const struct compute *compute, struct staging_area *area,
                       const struct tuple *tuple) {
  const size_t bytes = input_bytes(compute, tuple);
  const bool completes = tuple->n == area->n_parts;
  TRY(check_parts(area, tuple, NULL));
  TRY(wait_for_room(compute, area, bytes, completes));
  if (area->is_map && completes && *find_key(&area->complete, tuple->key)) return NULL;
  struct entry **link = find_key(&area->incomplete, tuple->key), *entry = *link;
  if (completes || !area->is_map) entry = NULL;
  if (entry) TRY(check_parts(area, tuple, entry));
  const bool is_new = !entry;
  if (is_new) TRY(create_entry(area, tuple->key, &entry));
  const situ_status status = fill_entry(compute, tuple, entry);
  if (status) {
    if (is_new) free_entry(area, entry);
    return status;
  }
  area->bytes += bytes;
  if (is_complete(area, entry)) {
    if (!is_new) *link = entry->next;
    add_complete(area, entry);
  } else if (is_new) {
    entry->next = area->incomplete;
    area->incomplete = entry;
  }
  return NULL;
}

/* Copies parts of an entry to the outputs from `first` on; with `take`, removes them. */
static situ_status get_parts(const struct compute *compute, struct staging_area *area,
                             struct entry **link, const struct tuple *tuple, bool take) {
  struct entry *entry = *link;
  for (int i = 0; i < tuple->n; i++) {
    const int part = part_of(tuple, i);
    TRY(check_index(area, entry->key, part));
    if (!entry->parts[part])
      return INVALID("Tensor at index '%d' for key '%lld' has already been removed.", part,
                     (long long)entry->key);
    if (entry->parts[part]->type != compute->call->out[tuple->first + i].type)
      return INVALID("Component %d of the staging area has type %s, not %s.", part,
                     situ_type_name(entry->parts[part]->type),
                     situ_type_name(compute->call->out[tuple->first + i].type));
    compute->out[tuple->first + i] = situ_tensor_retain(entry->parts[part]);
  }
  if (!take) return NULL;
  bool is_empty = true;
  for (int i = 0; i < tuple->n; i++) {
    situ_tensor **part = &entry->parts[part_of(tuple, i)];
    area->bytes -= (*part)->bytes;
    situ_tensor_release(*part);
    *part = NULL;
  }
  for (int i = 0; i < area->n_parts; i++) is_empty = is_empty && !entry->parts[i];
  if (!is_empty) return NULL;
  *link = entry->next;
  area->count--;
  free_entry(area, entry);
  return NULL;
}

/* First in, first out */

static situ_status compute_stage(struct compute *compute) {
  struct staging_area *area = NULL;
  const struct tuple tuple = {.n = compute->call->n_in};
  TRY(begin_use(compute, &area));
  return end_use(area, put(compute, area, &tuple));
}

static situ_status get_at(const struct compute *compute, struct staging_area *area, int64_t index,
                          bool take) {
  const struct tuple tuple = {.n = compute->call->n_out};
  if (tuple.n != area->n_parts)
    return INVALID("Mismatch stage/unstage: %d vs. %d", area->n_parts, tuple.n);
  situ_status status = NULL;
  while (!status && (index < 0 || (size_t)index >= area->count))
    status = compute_wait(compute, &area->changed, &area->lock, "Unstage operation");
  TRY(status);
  struct entry **link = &area->complete;
  for (int64_t i = 0; i < index; i++) link = &(*link)->next;
  return get_parts(compute, area, link, &tuple, take);
}

static situ_status compute_unstage(struct compute *compute) {
  struct staging_area *area = NULL;
  TRY(begin_use(compute, &area));
  return end_use(area, get_at(compute, area, 0, true));
}

/* Reads an integer input that may be on a device; `what` names it in errors. */
static situ_status read_scalar(const struct compute *compute, int input, const char *what,
                               int64_t *out) {
  situ_tensor *host = NULL;
  char shape[SHAPE_STRING_SIZE];
  if (situ_shape_count(compute->in[input]->shape) != 1)
    return INVALID("%s, got tensor with shape: %s", what,
                   shape_print(&compute->in[input]->shape, shape));
  TRY(tensor_host(compute->in[input], &host));
  const void *data = situ_tensor_data(host);
  *out = host->type == SITU_INT64 ? *(const int64_t *)data : *(const int32_t *)data;
  situ_tensor_release(host);
  return NULL;
}

static situ_status compute_peek(struct compute *compute) {
  struct staging_area *area = NULL;
  int64_t index = 0;
  TRY(read_scalar(compute, 0, "index must be scalar", &index));
  TRY(begin_use(compute, &area));
  return end_use(area, get_at(compute, area, index, false));
}

/* By key */

static situ_status read_key(const struct compute *compute, int64_t *out) {
  if (!situ_shape_count(compute->in[0]->shape)) return INVALID("key must not be empty");
  return read_scalar(compute, 0, "key must be an int64 scalar", out);
}

static situ_status check_order(const int32_t *indices, int64_t n) {
  if (!n) return INVALID("Indices are empty");
  for (int64_t i = 1; i < n; i++)
    if (indices[i - 1] >= indices[i]) return INVALID("Indices are not strictly ordered");
  return NULL;
}

/* Reads input `input`, the indices of a tuple; the caller releases *host. */
static situ_status read_indices(const struct compute *compute, int input, struct tuple *tuple,
                                situ_tensor **host) {
  TRY(tensor_host(compute->in[input], host));
  tuple->indices = situ_tensor_data(*host);
  const int64_t n = situ_shape_count((*host)->shape);
  situ_status status = check_order(tuple->indices, n);
  if (!status && n != tuple->n)
    status = INVALID("output/indices size mismatch: %d vs. %lld", tuple->n, (long long)n);
  if (!status) return NULL;
  situ_tensor_release(*host);
  *host = NULL;
  return status;
}

static situ_status compute_map_stage(struct compute *compute) {
  struct tuple tuple = {.first = 2, .n = compute->call->n_in - 2};
  struct staging_area *area = NULL;
  situ_tensor *indices = NULL;
  TRY(read_key(compute, &tuple.key));
  TRY(read_indices(compute, 1, &tuple, &indices));
  situ_status status = begin_use(compute, &area);
  if (!status) status = end_use(area, put(compute, area, &tuple));
  situ_tensor_release(indices);
  return status;
}

static situ_status get_key(const struct compute *compute, struct staging_area *area,
                           const struct tuple *tuple, bool take) {
  situ_status status = NULL;
  while (!status && !*find_key(&area->complete, tuple->key))
    status = compute_wait(compute, &area->changed, &area->lock, "MapUnstage operation");
  TRY(status);
  return get_parts(compute, area, find_key(&area->complete, tuple->key), tuple, take);
}

static situ_status get_by_key(const struct compute *compute, bool take) {
  struct tuple tuple = {.n = compute->call->n_out};
  struct staging_area *area = NULL;
  situ_tensor *indices = NULL;
  TRY(read_key(compute, &tuple.key));
  TRY(read_indices(compute, 1, &tuple, &indices));
  situ_status status = begin_use(compute, &area);
  if (!status) status = end_use(area, get_key(compute, area, &tuple, take));
  situ_tensor_release(indices);
  return status;
}

static situ_status compute_map_peek(struct compute *compute) { return get_by_key(compute, false); }
static situ_status compute_map_unstage(struct compute *compute) {
  return get_by_key(compute, true);
}

static situ_status get_any(const struct compute *compute, struct staging_area *area,
                           const struct tuple *tuple) {
  situ_status status = NULL;
  while (!status && !area->complete)
    status = compute_wait(compute, &area->changed, &area->lock, "MapUnstage operation");
  TRY(status);
  TRY(situ_tensor_create(SITU_INT64, SITU_SCALAR, &area->complete->key, &compute->out[0]));
  return get_parts(compute, area, &area->complete, tuple, true);
}

static situ_status compute_map_unstage_any(struct compute *compute) {
  struct tuple tuple = {.first = 1, .n = compute->call->n_out - 1};
  struct staging_area *area = NULL;
  situ_tensor *indices = NULL;
  TRY(read_indices(compute, 0, &tuple, &indices));
  situ_status status = begin_use(compute, &area);
  if (!status) status = end_use(area, get_any(compute, area, &tuple));
  situ_tensor_release(indices);
  return status;
}

/* Sizes */

static situ_status compute_size(struct compute *compute) {
  struct staging_area *area = NULL;
  TRY(begin_use(compute, &area));
  const int32_t count = (int32_t)area->count;
  return end_use(area, situ_tensor_create(SITU_INT32, SITU_SCALAR, &count, &compute->out[0]));
}

static situ_status compute_incomplete_size(struct compute *compute) {
  struct staging_area *area = NULL;
  int32_t count = 0;
  TRY(begin_use(compute, &area));
  for (const struct entry *entry = area->incomplete; entry; entry = entry->next) count++;
  return end_use(area, situ_tensor_create(SITU_INT32, SITU_SCALAR, &count, &compute->out[0]));
}

static situ_status compute_clear(struct compute *compute) {
  struct staging_area *area = NULL;
  TRY(begin_use(compute, &area));
  free_entries(area, &area->complete);
  free_entries(area, &area->incomplete);
  area->count = area->bytes = 0;
  return end_use(area, NULL);
}

static situ_status any_shapes(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  return NULL;
}

#define NAMED                                                                            \
  "capacity:int>=0=0 memory_limit:int>=0=0 dtypes:list(type) container:string='' shared" \
  "_name:string=''"
#define AREA                                                            \
  "capacity: The largest number of tuples; 0: any.\n"                   \
  "memory_limit: The largest number of bytes of all tensors; 0: any.\n" \
  "dtypes: The types of the components.\n"                              \
  "shared_name: The name of the staging area; ops with the same name use the same area."
#define KEY "key: The key of the tuple.\n"
#define INDICES "indices: The components, in ascending order.\n"
#define OP_DEF(op, in, out, more, text, strings, kinds, shaper, function)                     \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = NAMED more, .python = "", .doc = text, \
    .args = strings AREA, .devices = EVERYWHERE,                                              \
    .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_DEVICE_INPUTS | (kinds), .shape = shaper,      \
    .compute = function                                                                       \
  }
#define MAP(prefix, order)                                                                      \
  OP_DEF(prefix "Stage", "key:int64 indices:int32 values:fake_dtypes", "",                      \
         " fake_dtypes:list(type)",                                                             \
         "Puts components of the tuple of a key in a staging area" order "; waits for room.",   \
         KEY INDICES "values: The components to put.\n", OP_BLOCKS | OP_UNBLOCKS, op_no_shape,  \
         compute_map_stage),                                                                    \
      OP_DEF(prefix "Peek", "key:int64 indices:int32", "values:dtypes", "",                     \
             "Reads components of the tuple of a key; waits until the tuple is complete.",      \
             KEY INDICES, OP_BLOCKS, any_shapes, compute_map_peek),                             \
      OP_DEF(prefix "Unstage", "key:int64 indices:int32", "values:dtypes", "",                  \
             "Takes components of the tuple of a key; waits until the tuple is complete.",      \
             KEY INDICES, OP_BLOCKS, any_shapes, compute_map_unstage),                          \
      OP_DEF(prefix "UnstageNoKey", "indices:int32", "key:int64 values:dtypes", "",             \
             "Takes components of a tuple" order "; waits until one is complete.", INDICES,     \
             OP_BLOCKS, any_shapes, compute_map_unstage_any),                                   \
      OP_DEF(prefix "Size", "", "size:int32", "", "The number of complete tuples.", "", 0,      \
             op_scalar_shape, compute_size),                                                    \
      OP_DEF(prefix "IncompleteSize", "", "size:int32", "", "The number of incomplete tuples.", \
             "", 0, op_scalar_shape, compute_incomplete_size),                                  \
      OP_DEF(prefix "Clear", "", "", "", "Removes all tuples.", "", 0, op_no_shape, compute_clear)

static const struct op_def op_defs[] = {
    OP_DEF("Stage", "values:dtypes", "", "", "Puts a tuple in a staging area; waits for room.",
           "values: The components of the tuple.\n", OP_BLOCKS | OP_UNBLOCKS, op_no_shape,
           compute_stage),
    OP_DEF("Unstage", "", "values:dtypes", "", "Takes the oldest tuple; waits for one.", "",
           OP_BLOCKS, any_shapes, compute_unstage),
    OP_DEF("StagePeek", "index:int32", "values:dtypes", "",
           "Reads the tuple at an index, from the oldest on; waits until there is one.",
           "index: The index of the tuple.\n", OP_BLOCKS, any_shapes, compute_peek),
    OP_DEF("StageSize", "", "size:int32", "", "The number of tuples.", "", 0, op_scalar_shape,
           compute_size),
    OP_DEF("StageClear", "", "", "", "Removes all tuples.", "", 0, op_no_shape, compute_clear),
    MAP("Map", ""),
    MAP("OrderedMap", ", smallest key first"),
};

OP_FAMILY(staging_ops, op_defs);
