/* SPDX-License-Identifier: Apache-2.0
 * dataset.c: datasets: immutable descriptions of pipelines. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

#define KIND_ENTRY(name) &kind_##name,
static const struct data_kind *const kinds[] = {DATA_KINDS(KIND_ENTRY)};
#undef KIND_ENTRY

static const struct data_kind *find_kind(const char *name) {
  for (size_t i = 0; name && i < COUNT_OF(kinds); i++)
    if (!strcmp(kinds[i]->name, name)) return kinds[i];
  return NULL;
}

static void destroy(struct resource *resource) {
  situ_dataset *dataset = (situ_dataset *)resource;
  const situ_dataset_spec *spec = &dataset->spec;
  for (int i = 0; i < spec->n_inputs; i++) situ_dataset_release(spec->inputs[i]);
  for (int i = 0; i < spec->n_params; i++) situ_tensor_release(spec->params[i].tensor);
  situ_transform_release(spec->transform);
  situ_dataset_release(spec->inner);
  if (spec->generator && spec->generator->release)
    spec->generator->release(spec->generator->context);
  shared_state_release(dataset->shared_state);
  pthread_mutex_destroy(&dataset->lock);
  free((void *)spec->inputs);
  free((void *)spec->params);
  free((void *)spec->generator);
  free((void *)spec->shape);
  free((void *)spec->device);
  free((void *)spec->function);
  free((void *)spec->compression);
  free(dataset);
}

const struct resource_kind dataset_resource = {"dataset", destroy};

/* Copies an array; NULL for an empty one. Sets *failed if out of memory. */
static void *copy_array(const void *from, size_t count, size_t size, bool *failed) {
  if (!from || !count) return NULL;
  void *copy = malloc(count * size);
  if (copy)
    memcpy(copy, from, count * size);
  else
    *failed = true;
  return copy;
}

static char *copy_string(const char *from, bool *failed) {
  return from ? copy_array(from, strlen(from) + 1, 1, failed) : NULL;
}

static situ_status copy_spec(const situ_dataset_spec *spec, situ_dataset *dataset) {
  situ_dataset_spec *copy = &dataset->spec;
  bool failed = false;
  *copy = *spec;
  copy->inputs = copy_array(spec->inputs, (size_t)spec->n_inputs, sizeof(void *), &failed);
  copy->params = copy_array(spec->params, (size_t)spec->n_params, sizeof *spec->params, &failed);
  if (!copy->inputs) copy->n_inputs = 0;
  if (!copy->params) copy->n_params = 0;
  for (int i = 0; i < copy->n_inputs; i++) situ_dataset_retain(copy->inputs[i]);
  for (int i = 0; i < copy->n_params; i++) situ_tensor_retain(copy->params[i].tensor);
  situ_transform_retain(copy->transform);
  situ_dataset_retain(copy->inner);
  const int n_shapes = copy->n_inputs ? copy->inputs[0]->n_components : 0;
  copy->shape = copy_array(spec->shape, (size_t)n_shapes, sizeof *spec->shape, &failed);
  copy->device = copy_string(spec->device, &failed);
  copy->function = copy_string(spec->function, &failed);
  copy->compression = copy_string(spec->compression, &failed);
  copy->generator = copy_array(spec->generator, 1, sizeof *spec->generator, &failed);
  return failed ? NO_MEMORY() : NULL;
}

static situ_status check(const char *name, const struct data_kind *kind,
                         const situ_dataset_spec *spec) {
  if (!kind) return INVALID("Unknown kind of dataset: '%s'.", name ? name : "");
  if (spec->n_inputs < kind->n_inputs || spec->n_params < kind->n_params)
    return INVALID("A dataset %s needs %d inputs and %d params, not %d and %d.", name,
                   kind->n_inputs, kind->n_params, spec->n_inputs, spec->n_params);
  for (int i = 0; i < spec->n_inputs; i++)
    if (!spec->inputs[i]) return INVALID("Input %d of a dataset %s is NULL.", i, name);
  return NULL;
}

situ_status situ_dataset_create(const char *kind, const situ_dataset_spec *spec,
                                situ_dataset **out) {
  static const situ_dataset_spec nothing = {0};
  const struct data_kind *definition = find_kind(kind);
  if (!out) return INVALID("situ_dataset_create: `out` is NULL.");
  *out = NULL;
  if (!spec) spec = &nothing;
  TRY(check(kind, definition, spec));
  situ_dataset *dataset = calloc(1, sizeof *dataset);
  if (!dataset) return NO_MEMORY();
  dataset->head = (struct resource){.references = 1, .kind = &dataset_resource};
  dataset->kind = definition;
  pthread_mutex_init(&dataset->lock, NULL);
  situ_status status = copy_spec(spec, dataset);
  dataset->head.name = strdup(kind);
  if (!dataset->head.name && !status) status = NO_MEMORY();
  if (dataset->spec.n_inputs) dataset->n_components = dataset->spec.inputs[0]->n_components;
  if (!status && definition->init) status = definition->init(dataset);
  if (status) {
    free((void *)dataset->spec.generator); /* on failure the caller keeps its context */
    dataset->spec.generator = NULL;
    situ_dataset_release(dataset);
  } else {
    *out = dataset;
  }
  return status;
}

situ_dataset *situ_dataset_retain(situ_dataset *dataset) {
  return dataset ? (situ_dataset *)resource_retain(&dataset->head) : NULL;
}

void situ_dataset_release(situ_dataset *dataset) {
  if (dataset) resource_release(&dataset->head);
}

int situ_dataset_components(const situ_dataset *dataset) {
  return dataset ? dataset->n_components : 0;
}

int64_t situ_dataset_cardinality(const situ_dataset *dataset) {
  if (!dataset) return 0;
  if (dataset->kind->cardinality) return dataset->kind->cardinality(dataset);
  return situ_dataset_cardinality(dataset->spec.inputs[0]);
}

situ_status situ_dataset_handle(situ_dataset *dataset, situ_tensor **out) {
  if (!dataset || !out) return INVALID("situ_dataset_handle: an argument is NULL.");
  return resource_handle(&situ_dataset_retain(dataset)->head, out);
}

int64_t dataset_int_param(const situ_dataset *dataset, int index, int64_t unknown) {
  const situ_tensor *tensor = dataset->spec.params[index].tensor;
  if (!tensor || !situ_tensor_data(tensor) || situ_shape_count(tensor->shape) < 1) return unknown;
  return number_integer_at(tensor->type, situ_tensor_data(tensor), 0);
}

int64_t dataset_cardinality_one(const situ_dataset *dataset) {
  (void)dataset;
  return 1;
}

int64_t dataset_cardinality_unknown(const situ_dataset *dataset) {
  (void)dataset;
  return UNKNOWN_COUNT;
}

situ_status dataset_check_function(const situ_dataset *dataset) {
  const situ_transform *transform = dataset->spec.transform;
  if (!transform) return INVALID("A dataset %s needs a function.", dataset->kind->name);
  const int components = dataset->spec.inputs[0]->n_components, captured = dataset->spec.n_params;
  if (transform_inputs(transform) == components + captured) return NULL;
  return INVALID(
      "The function of a dataset %s has %d inputs, but gets %d components and %d captured "
      "values.",
      dataset->kind->name, transform_inputs(transform), components, captured);
}

/* ---- Convenience constructors ---- */

enum { MOST_PARAMS = 4 };

/* Creates a dataset with at most one input and int64 params. */
static situ_status create_with_ints(const char *kind, situ_dataset *input, const int64_t *numbers,
                                    int n, situ_dataset_spec spec, situ_dataset **out) {
  situ_param params[MOST_PARAMS] = {{0}};
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++)
    status = situ_tensor_create(SITU_INT64, SITU_SCALAR, &numbers[i], &params[i].tensor);
  spec.inputs = &input;
  spec.n_inputs = input != NULL;
  spec.params = params;
  spec.n_params = n;
  if (!status) status = situ_dataset_create(kind, &spec, out);
  for (int i = 0; i < n; i++) situ_tensor_release(params[i].tensor);
  return status;
}

situ_status situ_dataset_from_tensor_slices(situ_tensor *const *tensors, int n,
                                            situ_dataset **out) {
  if (n < 1 || !tensors) return INVALID("situ_dataset_from_tensor_slices: there are no tensors.");
  situ_param *params = calloc((size_t)n, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int i = 0; i < n; i++) params[i].tensor = tensors[i];
  const situ_dataset_spec spec = {.params = params, .n_params = n};
  const situ_status status = situ_dataset_create("TensorSlice", &spec, out);
  free(params);
  return status;
}

situ_status situ_dataset_range(int64_t start, int64_t stop, int64_t step, situ_dataset **out) {
  const int64_t numbers[] = {start, stop, step};
  return create_with_ints("Numbers", NULL, numbers, 3, (situ_dataset_spec){0}, out);
}

situ_status situ_dataset_files(const char *kind, const char *const *names, int n,
                               situ_dataset **out) {
  if (n < 1 || !names) return INVALID("situ_dataset_files: there are no names.");
  situ_param param = {0};
  TRY(situ_tensor_create(SITU_STRING, SITU_SHAPE(n), names, &param.tensor));
  const situ_dataset_spec spec = {.params = &param, .n_params = 1};
  const situ_status status = situ_dataset_create(kind, &spec, out);
  situ_tensor_release(param.tensor);
  return status;
}

situ_status situ_dataset_map(situ_dataset *input, situ_transform *transform, int parallel,
                             situ_dataset **out) {
  const situ_dataset_spec spec = {
      .inputs = &input, .n_inputs = 1, .transform = transform, .parallel = parallel};
  return situ_dataset_create("Map", &spec, out);
}

situ_status situ_dataset_shuffle(situ_dataset *input, int64_t buffer_size, int64_t seed,
                                 situ_dataset **out) {
  const int64_t numbers[] = {buffer_size, seed, seed};
  return create_with_ints("Shuffle", input, numbers, 3,
                          (situ_dataset_spec){.flags = SITU_RESHUFFLE}, out);
}

situ_status situ_dataset_batch(situ_dataset *input, int64_t size, bool drop_remainder,
                               situ_dataset **out) {
  const situ_dataset_spec spec = {.flags = drop_remainder ? SITU_DROP_REMAINDER : 0};
  return create_with_ints("Batch", input, &size, 1, spec, out);
}

situ_status situ_dataset_repeat(situ_dataset *input, int64_t count, situ_dataset **out) {
  return create_with_ints("Repeat", input, &count, 1, (situ_dataset_spec){0}, out);
}

situ_status situ_dataset_prefetch(situ_dataset *input, int64_t count, situ_dataset **out) {
  return create_with_ints("Prefetch", input, &count, 1, (situ_dataset_spec){0}, out);
}
