/* SPDX-License-Identifier: Apache-2.0
 * data.h: input pipelines: data sets and iterators over them.
 *
 * A data set describes elements, each some tensors, and does nothing. It is made of tensors, files
 * or a function, or of other data sets, and never changes. An iterator gives the elements one by
 * one; whatever runs besides (prefetching, parallel calls) ends with it. Both are counted: see
 * "Ownership" in situ.h.
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

/* A function of elements: the graph computes `outputs` when `inputs` are fed. Several threads may
 * run it at once. */
SITU_API situ_status situ_transform_create(situ_graph *graph, const situ_value *inputs,
                                           int n_inputs, const situ_value *outputs, int n_outputs,
                                           situ_transform **out) SITU_MUST_USE;

/* Adds a reference; returns the function. */
SITU_API situ_transform *situ_transform_retain(situ_transform *transform);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_transform_release(situ_transform *transform);

/* A value that a data set needs. A NULL tensor: the value is the argument of that number, given
 * when an iterator begins. */
typedef struct situ_param {
  situ_tensor *tensor;
  int argument;
} situ_param;

/* Elements that a callback produces. `next` fills in one tensor per part, or sets *end; every
 * iterator has a state of its own, which may be NULL. All may be called by any thread. */
typedef struct situ_generator {
  situ_status (*open)(void *context, void **state);
  situ_status (*next)(void *state, situ_tensor **parts, int n_parts, bool *end);
  void (*close)(void *state);
  void (*release)(void *context); /* with the data set; may be NULL */
  void *context;
} situ_generator;

enum {
  SITU_DROP_REMAINDER = 1, /* a batch or window that is not full is left out */
  SITU_RESHUFFLE = 4,      /* each iterator shuffles in another order */
};

/* Choosing the number of parallel calls, or of elements to prefetch, is left to situ. */
enum { SITU_AUTOTUNE = -1 };

/* The arguments of a data set; unused members are zero. Which members are read depends on the
 * kind. */
typedef struct situ_dataset_spec {
  situ_dataset *const *inputs;
  int n_inputs;
  const situ_param *params;
  int n_params;
  situ_transform *transform;       /* its inputs: the parts of an element, then captured values */
  const situ_generator *generator; /* copied */
  situ_dataset *inner;             /* what `transform` gives the arguments of */
  int parallel;                    /* calls at a time; 0: in the caller's thread; or AUTOTUNE */
  int cycle, block;                /* Interleave: elements under way, and how many from each;
                                      Unbatch: rows of each element, 0: not known */
  unsigned flags;
  int n_parts;             /* Generator, Scan, Rows: tensors of an element */
  situ_type type;          /* Numbers: of them */
  const situ_shape *shape; /* PaddedBatch: per part */
  const char *text;        /* CopyToDevice: its name; of files: GZIP or ZLIB, NULL: not packed */
} situ_dataset_spec;

/* Makes a data set of a kind:
 *   Tensor, TensorSlice      params: tensors; one element, or one for each row
 *   Numbers                  params: start, stop, step (int64)
 *   Random                   params: two seeds; flags
 *   Generator                generator, n_parts
 *   TextLine, TFRecord       params: names of files
 *   FixedLengthRecord        params: names, header, record and footer bytes
 *   Zip, Concatenate         inputs
 *   Repeat, Take, Skip       params: count; -1: for ever, all
 *   AssertCardinality        params: count; another one is an error
 *   Shard                    params: number of shards, index
 *   Batch                    params: size, or several that take turns; flags
 *   PaddedBatch              params: size, a padding value per part, and unless `shape` says them
 *                            a shape (a vector) per part; flags
 *   Unbatch, Cache           input alone
 *   CacheFile                params: the name of a file
 *   Window                   params: size, shift, stride; flags; parts become data sets
 *   Shuffle                  params: room, two seeds; flags
 *   Prefetch                 params: how many
 *   Map, Filter, TakeWhile   transform, params: captured values; parallel, flags (Map)
 *   FlatMap, Interleave      transform, params, inner; parallel, cycle, block, flags (Interleave)
 *   CopyToDevice             text
 *   Scan, Reduce             transform: of a state and the parts of an element, the next state and
 *                            (Scan) n_parts to give; params: the first state, captured values
 *   Group                    input: a key, a size, others; gives the key, a data set of the others
 *   Distinct                 input alone
 *   Rows                     params: tensors, n_parts for each element
 *   Bound                    inner, params: the arguments of that one
 *   Handle                   params: a handle of a data set (Window gives them) */
SITU_API situ_status situ_dataset_create(const char *kind, const situ_dataset_spec *spec,
                                         situ_dataset **out) SITU_MUST_USE;

/* The kinds that are needed most. Each keeps its own references to what it is given. */
SITU_API situ_status situ_dataset_from_tensor_slices(situ_tensor *const *tensors, int n,
                                                     situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_range(int64_t start, int64_t stop, int64_t step,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_files(const char *kind, const char *const *names, int n,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_map(situ_dataset *input, situ_transform *transform, int parallel,
                                      situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_shuffle(situ_dataset *input, int64_t room, int64_t seed,
                                          situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_batch(situ_dataset *input, int64_t size, bool drop_remainder,
                                        situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_repeat(situ_dataset *input, int64_t count,
                                         situ_dataset **out) SITU_MUST_USE;
SITU_API situ_status situ_dataset_prefetch(situ_dataset *input, int64_t count,
                                           situ_dataset **out) SITU_MUST_USE;

/* The number of components of an element. */
SITU_API int situ_dataset_components(const situ_dataset *dataset);

/* The number of elements: -1 for infinite, -2 for unknown, as in TensorFlow. */
SITU_API int64_t situ_dataset_cardinality(const situ_dataset *dataset);

/* A scalar of type resource that names the data set. */
SITU_API situ_status situ_dataset_handle(situ_dataset *dataset, situ_tensor **out) SITU_MUST_USE;

/* Adds a reference; returns the data set. */
SITU_API situ_dataset *situ_dataset_retain(situ_dataset *dataset);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_dataset_release(situ_dataset *dataset);

/* Begins with the first element. `arguments` are the values of params that are arguments. */
SITU_API situ_status situ_iterator_create(situ_dataset *dataset, situ_tensor *const *arguments,
                                          int n_arguments, situ_iterator **out) SITU_MUST_USE;

/* The next element: one tensor per part, which the caller releases. *end: there is none. Waits
 * where that has to be; several threads may ask. After a failure the next call goes on. */
SITU_API situ_status situ_iterator_next(situ_iterator *iterator, situ_tensor **parts,
                                        bool *end) SITU_MUST_USE;

/* Makes functions of the data set print where each of their nodes goes, once per function, when the
 * iterator is the first to call it. */
SITU_API void situ_iterator_log_placement(situ_iterator *iterator);

/* Saves the position of an iterator as a vector, for situ_iterator_restore of an iterator over an
 * equal data set. Elements are not saved: restore skips as many as were read, with the same seeds,
 * and calls functions of elements only where they have state. */
SITU_API situ_status situ_iterator_save(situ_iterator *iterator, situ_tensor **out) SITU_MUST_USE;
SITU_API situ_status situ_iterator_restore(situ_iterator *iterator,
                                           const situ_tensor *saved) SITU_MUST_USE;

/* A scalar of type resource that names the iterator, for IteratorGetNext nodes. */
SITU_API situ_status situ_iterator_handle(situ_iterator *iterator, situ_tensor **out) SITU_MUST_USE;

/* Adds a reference; returns the iterator. */
SITU_API situ_iterator *situ_iterator_retain(situ_iterator *iterator);

/* Drops a reference; dropping the last one ends all threads of the iterator. NULL is ignored. */
SITU_API void situ_iterator_release(situ_iterator *iterator);

#ifdef __cplusplus
}
#endif
#endif
