/* SPDX-License-Identifier: Apache-2.0
 * data.h: input pipelines: datasets and iterators over them.
 *
 * A dataset is an immutable description of a sequence of elements, each a fixed number of tensors
 * (components). Its source is tensors, files, a callback or other datasets. An iterator produces
 * the elements one by one and owns the threads for prefetching and parallel calls. Both are
 * reference-counted: see "Ownership" in situ.h.
 */
#ifndef SITU_DATA_H
#define SITU_DATA_H

#include "situ/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_dataset situ_dataset;
typedef struct situ_iterator situ_iterator;
typedef struct situ_transform situ_transform;

/* Creates a function of elements: the graph computes `outputs` from the fed `inputs`. Several
 * threads may run it concurrently. */
SITU_API situ_status situ_transform_create(situ_graph *graph, const situ_value *inputs,
                                           int n_inputs, const situ_value *outputs, int n_outputs,
                                           situ_transform **out) SITU_MUST_USE;

/* Adds a reference; returns the function. */
SITU_API situ_transform *situ_transform_retain(situ_transform *transform);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_transform_release(situ_transform *transform);

/* A parameter of a dataset: a tensor, or (tensor NULL) the index of an argument that is passed to
 * situ_iterator_create. */
typedef struct situ_param {
  situ_tensor *tensor;
  int argument;
} situ_param;

/* Callbacks that produce elements. `next` sets one tensor per component, or *end. `open` creates
 * the state of an iterator, which may be NULL. Any thread may call them. */
typedef struct situ_generator {
  situ_status (*open)(void *context, void **state);
  situ_status (*next)(void *state, situ_tensor **components, int n_components, bool *end);
  void (*close)(void *state);
  void (*release)(void *context); /* called when the dataset is freed; may be NULL */
  void *context;
} situ_generator;

enum {
  SITU_DROP_REMAINDER = 1, /* drop a final batch or window that is not full */
  SITU_RESHUFFLE = 4,      /* each iterator shuffles in a different order */
  SITU_LOG_WARNING = 8,    /* IgnoreErrors prints each error on standard error */
};

/* As `parallel` or prefetch count: situ chooses the number. */
enum { SITU_AUTOTUNE = -1 };

/* The arguments of a dataset; unused members are zero. The kind determines which are read. */
typedef struct situ_dataset_spec {
  situ_dataset *const *inputs;
  int n_inputs;
  const situ_param *params;
  int n_params;
  situ_transform *transform;       /* inputs: the components of an element, then captured values */
  const situ_generator *generator; /* copied */
  situ_dataset *inner;             /* its arguments are the outputs of `transform` */
  int parallel;                    /* concurrent calls; 0: in the caller's thread; or AUTOTUNE */
  int cycle, block;                /* Interleave: cycle_length and block_length;
                                      Unbatch: block is the batch size, 0 if unknown */
  unsigned flags;
  int n_components;        /* Generator, Scan, Elements: tensors per element */
  situ_type type;          /* Numbers: the element type */
  const situ_shape *shape; /* PaddedBatch: one per component */
  const char *device;      /* CopyToDevice */
  const char *compression; /* files: "GZIP" or "ZLIB"; NULL: none */
  const char *function;    /* FlatMap: the function of group_by_window that `transform` is: its
                              errors are INTERNAL and name it; else NULL */
} situ_dataset_spec;

/* Creates a dataset of a kind:
 *   Tensor, TensorSlice      params: tensors; one element, or one per slice of dimension 0
 *   Numbers                  params: start, stop, step (int64)
 *   Random                   params: two seeds; flags
 *   Generator                generator, n_components
 *   TextLine, TFRecord       params: file names; compression
 *   FixedLengthRecord        params: file names, header, record and footer bytes; compression
 *   Zip, Concatenate         inputs
 *   Repeat, Take, Skip       params: count; -1: forever, all
 *   AssertCardinality        params: count; any other number of elements is an error
 *   Shard                    params: number of shards, index
 *   Batch                    params: size, or several sizes that are used in turn; flags
 *   PaddedBatch              params: size, a padding value per component and, unless `shape` is
 *                            set, a shape vector per component; flags
 *   Unbatch, Cache           inputs
 *   CacheFile                params: file name
 *   Window                   params: size, shift, stride; flags; components become datasets
 *   Shuffle                  params: buffer size, two seeds; flags
 *   Prefetch                 params: buffer size
 *   Map, Filter, TakeWhile   transform, params: captured values; parallel, flags (Map)
 *   FlatMap, Interleave      transform, params, inner; parallel, cycle, block, flags (Interleave)
 *   CopyToDevice             device
 *   Scan, Reduce             transform: maps a state and an element to the next state and (Scan)
 *                            n_components outputs; params: initial state, captured values
 *   Group                    inputs: elements (key, window size, components...); produces
 *                            (key, dataset of the components)
 *   Distinct                 inputs
 *   Elements                 params: tensors, n_components per element
 *   Bound                    inner, params: its arguments
 *   Handle                   params: the handle of a dataset, as Window produces */
SITU_API situ_status situ_dataset_create(const char *kind, const situ_dataset_spec *spec,
                                         situ_dataset **out) SITU_MUST_USE;

/* The most common kinds. The new dataset retains its arguments. */
SITU_API situ_status situ_dataset_from_tensor_slices(situ_tensor *const *tensors, int n,
                                                     situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_range(int64_t start, int64_t stop, int64_t step,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_files(const char *kind, const char *const *names, int n,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_map(situ_dataset *input, situ_transform *transform, int parallel,
                                      situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_shuffle(situ_dataset *input, int64_t buffer_size, int64_t seed,
                                          situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_batch(situ_dataset *input, int64_t size, bool drop_remainder,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_repeat(situ_dataset *input, int64_t count,
                                         situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_prefetch(situ_dataset *input, int64_t count,
                                           situ_dataset **out) SITU_MUST_USE;

/* Returns the number of components of an element. */
SITU_API int situ_dataset_components(const situ_dataset *dataset);

/* Returns the number of elements: -1 for infinite, -2 for unknown, as in TensorFlow. */
SITU_API int64_t situ_dataset_cardinality(const situ_dataset *dataset);

/* Creates a scalar resource handle of the dataset. */
SITU_API situ_status situ_dataset_handle(situ_dataset *dataset, situ_tensor **out) SITU_MUST_USE;

/* Adds a reference; returns the dataset. */
SITU_API situ_dataset *situ_dataset_retain(situ_dataset *dataset);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_dataset_release(situ_dataset *dataset);

/* Creates an iterator at the first element. `arguments` are the values of params without a tensor.
 */
SITU_API situ_status situ_iterator_create(situ_dataset *dataset, situ_tensor *const *arguments,
                                          int n_arguments, situ_iterator **out) SITU_MUST_USE;

/* Gets the next element: one tensor per component, which the caller releases; or sets *end. May
 * block. Thread-safe. After a failure the next call continues with the following element. */
SITU_API situ_status situ_iterator_next(situ_iterator *iterator, situ_tensor **components,
                                        bool *end) SITU_MUST_USE;

/* Makes the functions of the dataset log the placement of their nodes, each when this iterator is
 * the first to call it. */
SITU_API void situ_iterator_log_placement(situ_iterator *iterator);

/* Fails if a function of elements depends on state that situ_iterator_save does not save: random
 * ops, variables, callbacks. */
SITU_API situ_status situ_iterator_check_state(situ_iterator *iterator) SITU_MUST_USE;

/* Saves the position of an iterator as a vector, for situ_iterator_restore of an iterator over an
 * equal dataset. Elements are not saved: restore skips as many as were read, with the same seeds,
 * and calls functions of elements only where they have state. */
SITU_API situ_status situ_iterator_save(situ_iterator *iterator, situ_tensor **out) SITU_MUST_USE;
SITU_API situ_status situ_iterator_restore(situ_iterator *iterator,
                                           const situ_tensor *saved) SITU_MUST_USE;

/* Creates a scalar resource handle of the iterator, for IteratorGetNext nodes. */
SITU_API situ_status situ_iterator_handle(situ_iterator *iterator, situ_tensor **out) SITU_MUST_USE;

/* Adds a reference; returns the iterator. */
SITU_API situ_iterator *situ_iterator_retain(situ_iterator *iterator);

/* Drops a reference; dropping the last one ends all threads of the iterator. NULL is ignored. */
SITU_API void situ_iterator_release(situ_iterator *iterator);

#ifdef __cplusplus
}
#endif
#endif
