/* SPDX-License-Identifier: Apache-2.0
 * dataset.c: data sets: descriptions of elements, made of tensors, functions and each other. */
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
  free((void *)spec->text);
  free(dataset);
}

const struct resource_kind dataset_resource = {"dataset", destroy};

/* A copy of an array; NULL for none. Sets *failed. */
static void *copy_array(const void *from, size_t count, size_t size, bool *failed) {
  if (!from || !count) return NULL;
  void *copy = malloc(count * size);
  if (copy)
    memcpy(copy, from, count * size);
  else
    *failed = true;
  return copy;
}

static situ_status copy_spec(const situ_dataset_spec *spec, situ_dataset *dataset) {
  situ_dataset_spec *own = &dataset->spec;
  bool failed = false;
  *own = *spec;
  own->inputs = copy_array(spec->inputs, (size_t)spec->n_inputs, sizeof(void *), &failed);
  own->params = copy_array(spec->params, (size_t)spec->n_params, sizeof *spec->params, &failed);
  if (!own->inputs) own->n_inputs = 0;
  if (!own->params) own->n_params = 0;
  for (int i = 0; i < own->n_inputs; i++) situ_dataset_retain(own->inputs[i]);
  for (int i = 0; i < own->n_params; i++) situ_tensor_retain(own->params[i].tensor);
  situ_transform_retain(own->transform);
  situ_dataset_retain(own->inner);
  const int n_shapes = own->n_inputs ? own->inputs[0]->n_parts : 0;
  own->shape = copy_array(spec->shape, (size_t)n_shapes, sizeof *spec->shape, &failed);
  own->text = spec->text ? strdup(spec->text) : NULL;
  own->generator = copy_array(spec->generator, 1, sizeof *spec->generator, &failed);
  return failed || (spec->text && !own->text) ? NO_MEMORY() : NULL;
}

static situ_status check(const char *name, const struct data_kind *kind,
                         const situ_dataset_spec *spec) {
  if (!kind) return INVALID("There is no kind of data set '%s'.", name ? name : "");
  if (spec->n_inputs < kind->n_inputs || spec->n_params < kind->n_params)
    return INVALID("A data set %s needs %d inputs and %d params, not %d and %d.", name,
                   kind->n_inputs, kind->n_params, spec->n_inputs, spec->n_params);
  for (int i = 0; i < spec->n_inputs; i++)
    if (!spec->inputs[i]) return INVALID("Input %d of a data set %s is NULL.", i, name);
  return NULL;
}

situ_status situ_dataset_create(const char *kind, const situ_dataset_spec *spec,
                                situ_dataset **out) {
  static const situ_dataset_spec nothing = {0};
  const struct data_kind *row = find_kind(kind);
  if (!out) return INVALID("situ_dataset_create: the data set has nowhere to go: `out` is NULL.");
  *out = NULL;
  if (!spec) spec = &nothing;
  TRY(check(kind, row, spec));
  situ_dataset *dataset = calloc(1, sizeof *dataset);
  if (!dataset) return NO_MEMORY();
  dataset->head = (struct resource){.references = 1, .kind = &dataset_resource};
  dataset->kind = row;
  pthread_mutex_init(&dataset->lock, NULL);
  situ_status status = copy_spec(spec, dataset);
  dataset->head.name = strdup(kind);
  if (!dataset->head.name && !status) status = NO_MEMORY();
  if (dataset->spec.n_inputs) dataset->n_parts = dataset->spec.inputs[0]->n_parts;
  if (!status && row->make) status = row->make(dataset);
  if (status) {
    free((void *)dataset->spec.generator); /* its context stays the caller's */
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

int situ_dataset_components(const situ_dataset *dataset) { return dataset ? dataset->n_parts : 0; }

int64_t situ_dataset_cardinality(const situ_dataset *dataset) {
  if (!dataset) return 0;
  if (dataset->kind->count) return dataset->kind->count(dataset);
  return situ_dataset_cardinality(dataset->spec.inputs[0]);
}

situ_status situ_dataset_handle(situ_dataset *dataset, situ_tensor **out) {
  if (!dataset || !out) return INVALID("situ_dataset_handle: an argument is NULL.");
  return resource_handle(&situ_dataset_retain(dataset)->head, out);
}

int64_t dataset_number(const situ_dataset *dataset, int index, int64_t unknown) {
  const situ_tensor *tensor = dataset->spec.params[index].tensor;
  if (!tensor || !situ_tensor_data(tensor) || situ_shape_count(tensor->shape) < 1) return unknown;
  return number_integer_at(tensor->type, situ_tensor_data(tensor), 0);
}

int64_t dataset_count_one(const situ_dataset *dataset) {
  (void)dataset;
  return 1;
}

int64_t dataset_count_unknown(const situ_dataset *dataset) {
  (void)dataset;
  return UNKNOWN_COUNT;
}

situ_status dataset_check_function(const situ_dataset *dataset) {
  const situ_transform *transform = dataset->spec.transform;
  if (!transform) return INVALID("A data set %s needs a function.", dataset->kind->name);
  const int parts = dataset->spec.inputs[0]->n_parts, captured = dataset->spec.n_params;
  if (transform_inputs(transform) == parts + captured) return NULL;
  return INVALID(
      "The function of a data set %s has %d inputs, but gets %d parts and %d captured "
      "values.",
      dataset->kind->name, transform_inputs(transform), parts, captured);
}

/* The kinds that are needed most */

enum { MOST_PARAMS = 4 };

/* A data set of one input (or none) whose params are numbers. */
static situ_status with_numbers(const char *kind, situ_dataset *input, const int64_t *numbers,
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
  return with_numbers("Numbers", NULL, numbers, 3, (situ_dataset_spec){0}, out);
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

situ_status situ_dataset_shuffle(situ_dataset *input, int64_t room, int64_t seed,
                                 situ_dataset **out) {
  const int64_t numbers[] = {room, seed, seed};
  return with_numbers("Shuffle", input, numbers, 3, (situ_dataset_spec){.flags = SITU_RESHUFFLE},
                      out);
}

situ_status situ_dataset_batch(situ_dataset *input, int64_t size, bool drop_remainder,
                               situ_dataset **out) {
  const situ_dataset_spec spec = {.flags = drop_remainder ? SITU_DROP_REMAINDER : 0};
  return with_numbers("Batch", input, &size, 1, spec, out);
}

situ_status situ_dataset_repeat(situ_dataset *input, int64_t count, situ_dataset **out) {
  return with_numbers("Repeat", input, &count, 1, (situ_dataset_spec){0}, out);
}

situ_status situ_dataset_prefetch(situ_dataset *input, int64_t count, situ_dataset **out) {
  return with_numbers("Prefetch", input, &count, 1, (situ_dataset_spec){0}, out);
}
