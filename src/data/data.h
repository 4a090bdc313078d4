/* SPDX-License-Identifier: Apache-2.0
 * data.h: data sets from the inside: what a kind is, and cursors that walk along a data set. */
#ifndef SITU_DATA_DATA_H
#define SITU_DATA_DATA_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "ops/io/iterator_ops.h"
#include "schema/resource.h"
#include "situ/data.h"

struct cursor;

enum { UNENDING = -1, UNKNOWN_COUNT = -2 };

/* A kind of data set: one row each. */
struct data_kind {
  const char *name;
  size_t size;            /* of its cursor, which begins with struct cursor */
  int n_inputs, n_params; /* at least */
  /* Checks a new data set, and sets n_parts where it is not that of input 0. May be NULL. */
  situ_status (*make)(situ_dataset *dataset);
  /* Prepares a cursor; those of the inputs are there (unless `lazy`). May be NULL. */
  situ_status (*open)(struct cursor *cursor);
  /* One tensor per part, or *end. Only one thread at a time. */
  situ_status (*next)(struct cursor *cursor, situ_tensor **parts, bool *end);
  /* Ends threads, and frees what open and next have taken; those of inputs come after. May be
   * NULL. */
  void (*close)(struct cursor *cursor);
  int64_t (*count)(const situ_dataset *dataset); /* NULL: that of input 0 */
  /* Passes n elements by, before any was asked for, sooner than by asking for them. May be NULL. */
  situ_status (*skip)(struct cursor *cursor, int64_t n);
  int seeds; /* of two seeds among the params, the number of the second; 0: there are none */
  bool lazy; /* cursors of inputs are opened by the kind itself: cursor_begin */
};

/* Every kind once; kind_X is defined by its file. */
#define DATA_KINDS(X)  \
  X(Tensor)            \
  X(TensorSlice)       \
  X(Numbers)           \
  X(Random)            \
  X(Generator)         \
  X(Handle)            \
  X(Bound)             \
  X(Rows)              \
  X(TextLine)          \
  X(TFRecord)          \
  X(FixedLengthRecord) \
  X(Zip)               \
  X(Concatenate)       \
  X(Repeat)            \
  X(Take)              \
  X(Skip)              \
  X(Shard)             \
  X(AssertCardinality) \
  X(Cache)             \
  X(CacheFile)         \
  X(Batch)             \
  X(PaddedBatch)       \
  X(Unbatch)           \
  X(Window)            \
  X(Shuffle)           \
  X(Prefetch)          \
  X(Map)               \
  X(Filter)            \
  X(TakeWhile)         \
  X(FlatMap)           \
  X(Interleave)        \
  X(CopyToDevice)      \
  X(Choose)            \
  X(Scan)              \
  X(Reduce)            \
  X(Group)             \
  X(Distinct)          \
  X(IgnoreErrors)

#define DATA_KIND_EXTERN(name) extern const struct data_kind kind_##name;
DATA_KINDS(DATA_KIND_EXTERN)
#undef DATA_KIND_EXTERN

/* What cursors of one data set share, and who comes later finds again (an order of shuffling, a
 * cache). */
struct shared_state {
  int references; /* atomic */
  pthread_mutex_t lock;
  void (*release)(struct shared_state *shared_state);
};

struct situ_dataset {
  struct resource head;
  const struct data_kind *kind;
  situ_dataset_spec spec; /* what it points to is the data set's own */
  int n_parts;
  pthread_mutex_t lock;
  struct shared_state *shared_state; /* of those iterators that share it; guarded by lock */
};

/* Values of the arguments of one iterator, and what its cursors keep. */
struct binding {
  int references; /* atomic */
  bool shares;    /* cursors keep what they keep with their data sets */
  int n_arguments;
  situ_tensor **arguments;
  pthread_mutex_t lock;
  struct kept {
    struct kept *next;
    const situ_dataset *of;
    struct shared_state *shared_state;
  } * kept;
};

/* What all cursors of an iterator share. */
struct iteration {
  _Atomic bool ending;  /* the iterator is going: loops give up */
  _Atomic bool logs;    /* functions print where their nodes go when they are first compiled */
  pthread_mutex_t lock; /* guards what follows */
  struct begun {
    struct begun *next;
    situ_transform *transform;
    situ_session *session;
  } * begun; /* functions that remember something, which begin anew with each iterator */
  struct mark *marks;
};

/* The seeds that a data set began with in a walk. */
struct mark {
  struct mark *next;
  const situ_dataset *of;
  int64_t seed, seed2, rolled; /* of its generator, as rng.c has them */
  int64_t again;               /* how often it began anew with seeds that are anybody's */
  bool known, given;           /* there are such; they have to be taken over */
};

/* Where an iterator stands. */
struct stand {
  int64_t asked; /* how many elements have been asked for */
  bool failed;   /* some of them failed */
};

struct cursor {
  situ_dataset *dataset;       /* borrowed: the iterator has it */
  struct binding *binding;     /* borrowed; NULL: there are no arguments */
  struct iteration *iteration; /* borrowed */
  struct cursor **inputs;      /* one per input; NULL: not open */
  situ_tensor **row;           /* room for an element of input 0 */
};

/* cursor.c */

/* Opens a cursor of a data set. */
situ_status cursor_open(situ_dataset *dataset, struct binding *binding, struct iteration *iteration,
                        struct cursor **out) SITU_MUST_USE;
void cursor_close(struct cursor *cursor);

/* Opens the cursor of an input, anew where there is one. */
situ_status cursor_begin(struct cursor *cursor, int input) SITU_MUST_USE;

/* The next element of a cursor; Cancelled where the iterator is going. */
situ_status cursor_next(struct cursor *cursor, situ_tensor **parts, bool *end) SITU_MUST_USE;

/* The next element of input 0. */
situ_status cursor_pull(struct cursor *cursor, situ_tensor **parts, bool *end) SITU_MUST_USE;

/* Passes n elements by, of a cursor that has given none; and the same by asking for them. */
situ_status cursor_skip(struct cursor *cursor, int64_t n) SITU_MUST_USE;
situ_status cursor_pass(struct cursor *cursor, int64_t n) SITU_MUST_USE;

/* The value of a param; borrowed. */
situ_status cursor_param(const struct cursor *cursor, int index, situ_tensor **out) SITU_MUST_USE;

/* The number that a param is: the first element, of an integer type. */
situ_status cursor_number(const struct cursor *cursor, int index, int64_t *out) SITU_MUST_USE;

/* What the session lends whose run waits for an element in this thread; NULL: there is none. */
extern _Thread_local const struct services *cursor_services;

/* Waits for a condition, whose lock is held, for a while: fails where the program is interrupted.
 */
situ_status cursor_wait(pthread_cond_t *condition, pthread_mutex_t *lock) SITU_MUST_USE;

/* Releases an element. */
void cursor_drop(situ_tensor **parts, int n);

/* iterator_state.c */

/* The mark of a data set, made where it is not there; NULL without memory. Called with the lock of
 * the walk. */
struct mark *iterator_state_mark(struct iteration *iteration, const situ_dataset *dataset);

/* What is remembered in a walk goes. */
void iterator_state_forget(struct iteration *iteration);

/* Where an iterator over a data set stands, as a vector; a walk that is to begin where such a
 * vector says; and a cursor that goes there. */
situ_status iterator_state_save(struct iteration *iteration, situ_dataset *root, bool shares,
                                struct stand stand, situ_tensor **out) SITU_MUST_USE;
situ_status iterator_state_load(struct iteration *iteration, const situ_dataset *root,
                                const situ_tensor *saved, struct stand *stand) SITU_MUST_USE;
situ_status iterator_state_resume(struct cursor *cursor, struct stand stand) SITU_MUST_USE;

/* shared_state.c */

/* What cursors of the data set share: made by `create` where it is not there. With a reference. */
situ_status shared_state_find(const struct cursor *cursor,
                              situ_status (*create)(struct shared_state **out),
                              struct shared_state **out) SITU_MUST_USE;
void shared_state_release(struct shared_state *shared_state);

/* A binding takes references of the tensors. */
situ_status shared_state_bind(situ_tensor *const *arguments, int n, bool shares,
                              struct binding **out) SITU_MUST_USE;
void shared_state_unbind(struct binding *binding);

/* dataset.c: the number that a param is, or `unknown` where it is an argument. */
int64_t dataset_number(const situ_dataset *dataset, int index, int64_t unknown);

/* transform.c: runs the data set's function on n tensors (the parts of an element, behind a state)
 * and the captured values, which are the last params. */
situ_status transform_call(const struct cursor *cursor, situ_tensor *const *row, int n,
                           situ_tensor **results) SITU_MUST_USE;

/* What functions have remembered in a walk goes. */
void transform_forget(struct iteration *iteration);

/* Whether calls of the function leave nothing behind, so that one may be left out. */
bool transform_is_plain(const situ_transform *transform);
int transform_inputs(const situ_transform *transform);
int transform_outputs(const situ_transform *transform);

/* component.c */

/* Row `index` of a tensor in host memory, without a copy where its elements are numbers. */
situ_status component_slice(situ_tensor *tensor, int64_t index, situ_tensor **out) SITU_MUST_USE;

/* A tensor in host memory instead of one elsewhere: takes over the reference. */
situ_status component_to_host(situ_tensor **part) SITU_MUST_USE;

/* dataset.c */
extern const struct resource_kind dataset_resource;

/* Fails where the function does not take the parts of input 0 and the captured values. */
situ_status dataset_check_function(const situ_dataset *dataset) SITU_MUST_USE;

/* Counts for the rows of kinds. */
int64_t dataset_count_one(const situ_dataset *dataset);
int64_t dataset_count_unknown(const situ_dataset *dataset);

/* iterator.c: what IteratorGetNext and its like call is iterator_table of ops/io/iterator_ops.h. */

#endif
