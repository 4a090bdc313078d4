/* SPDX-License-Identifier: Apache-2.0
 * op_def.h: what an op is: one row. Everything that knows ops (graph, placer, planner, gradients,
 * Python, `situ ops`, the tests) reads the row; nobody keeps a second list. */
#ifndef SITU_SCHEMA_OP_DEF_H
#define SITU_SCHEMA_OP_DEF_H

#include "base/base.h"
#include "schema/attr.h"
#include "schema/call.h"
#include "schema/compute.h"

struct gradient;

enum op_flags {
  OP_STATEFUL = 1,   /* two calls with equal inputs may differ: never folded or merged */
  OP_INPLACE = 2,    /* output 0 may take the memory of an input of as many bytes that dies here */
  OP_ALIAS = 4,      /* output 0 is input 0's memory under another shape: nothing runs (Reshape) */
  OP_SHAPE_ONLY = 8, /* the output depends on the inputs' shapes alone (Shape, Size, Rank) */
  OP_CONSTANT = 16,  /* the output is the attribute "value" */
  OP_FED = 32,       /* has no value of its own: must be fed (Placeholder) */
  OP_VARIABLE = 64,  /* the output is a reference to state of the session */
  OP_INPLACE_FIRST = 128, /* as OP_INPLACE, but only the memory of input 0 */
  OP_UPDATES = 256,       /* input 0 is a reference, output 0 the same: the kernels write to it */
  OP_SETS = 512,          /* as OP_UPDATES, and all of it is new: what was there does not count */
  OP_NO_GRADIENT = 1024,  /* not differentiable: gradients end here (a row with real outputs has
                             this or `grad`) */
  OP_BLOCKS = 2048,       /* of a row with `compute`: may wait for others, so it comes late */
  OP_ANYWHERE = 4096,     /* of a row with `compute`: takes its inputs where they are */
  OP_LAZY = 8192,         /* of a row with `compute`: need not make outputs that nobody reads */
  OP_GIVES = 16384,       /* of a row with OP_BLOCKS: others may wait for what it does */
  OP_TOGETHER = 32768,    /* of a row with OP_BLOCKS: all processes do it in the same order */
  OP_SUMS = 65536,        /* the sum of the inputs, in any order: nodes with the same inputs on the
                             devices where these are may be one call of a library */
  OP_READS = 131072,      /* output 0 is what the variable of handle 0 holds then: it shares the
                             memory (with OP_ALIAS) until somebody changes the variable */
  OP_PROBES = 262144,     /* of a row with `compute`: asks about the variable of handle 0, which
                             need not have a value: compute->ready */
  OP_OPTIONAL = 524288,   /* is often fed (PlaceholderWithDefault): what it is else tells nothing of
                             it while a graph is built */
};

struct op_def {
  const char *name;    /* "MatMul", as in a GraphDef */
  const char *inputs;  /* "a:T b:T"; a list "inputs:N*T"; fixed "shape:int32"; a reference "ref:&T";
                          a handle "resource:@T" */
  const char *outputs; /* "product:T" */
  const char *attrs;   /* "T:{half float double} transpose_a:bool=false"; grammar in schema.h */
  const char *python;  /* names under tf: "matmul linalg.matmul" */
  const char *doc;     /* first sentence: what it gives; then what a user should know */
  const char *args;    /* a line per input and attribute: "a: Left matrix.\nb: Right matrix."; see
                         arg_docs.h for attributes that all ops share */
  const char *samples; /* inputs to test it with: "[4,3] [3,5]; transpose_a=true [3,4] [3,5]" */
  const char *host;    /* inputs whose values are needed to plan the call (shapes, axes): "shape" */
  const char *asks;    /* an op that may keep something for this one (call_keep); its inputs and
                          outputs are the first inputs here */
  const char
      *devices; /* where it has kernels, by type: "CPU GPU", "CPU GPU(float double)", "CPU" */
  unsigned flags;
  situ_status (*shape)(
      struct call *call); /* sets out[i].shape; while building, may meet unknowns */
  situ_status (*record)(struct call *call); /* says which kernels run, all shapes
                                               are known; NULL: none */
  void (*grad)(struct gradient *gradient);  /* says which ops give the gradients of the inputs:
                                               ops/gradient.h; or see OP_NO_GRADIENT */
  situ_status (*compute)(struct compute *compute); /* instead: computes on host tensors, in every
                                                      step: see compute.h */
};

/* A family of ops, as a file of ops/ defines it. */
struct op_family {
  const char *name;
  const struct op_def *ops;
  int count;
};

/* All families, ending in NULL; defined by ops/ops.c. */
extern const struct op_family *const op_families[];

#endif
