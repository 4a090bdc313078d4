/* SPDX-License-Identifier: Apache-2.0
 * op_def.h: op definitions, the only description of an op. Graph, placer, planner, gradients,
 * Python, `situ ops` and the tests all read them. */
#ifndef SITU_SCHEMA_OP_DEF_H
#define SITU_SCHEMA_OP_DEF_H

#include "base/base.h"
#include "schema/attr.h"
#include "schema/call.h"
#include "schema/compute.h"

struct gradient;

enum op_flags {
  OP_STATEFUL = 1,   /* calls with equal inputs may differ: never folded or merged */
  OP_INPLACE = 2,    /* output 0 may reuse the memory of an equally large input that dies here */
  OP_ALIAS = 4,      /* output 0 is input 0's memory with another shape: nothing runs (Reshape) */
  OP_SHAPE_ONLY = 8, /* the output depends on the inputs' shapes alone (Shape, Size, Rank) */
  OP_CONSTANT = 16,  /* the output is the attribute "value" */
  OP_FED = 32,       /* has no value: must be fed (Placeholder) */
  OP_VARIABLE = 64,  /* the output is a reference to a variable of the session */
  OP_INPLACE_FIRST = 128,  /* as OP_INPLACE, but only the memory of input 0 */
  OP_UPDATES = 256,        /* input 0 is a variable that the kernels update; output 0 is the same */
  OP_SETS = 512,           /* as OP_UPDATES, and overwrites the whole variable */
  OP_NO_GRADIENT = 1024,   /* not differentiable: gradients end here (an op with real outputs has
                              this or `grad`) */
  OP_BLOCKS = 2048,        /* host op: may block on other steps, so it runs last */
  OP_DEVICE_INPUTS = 4096, /* host op: its inputs stay on their devices */
  OP_LAZY = 8192,          /* host op: need not produce outputs that nothing reads */
  OP_UNBLOCKS = 16384,     /* with OP_BLOCKS: may unblock other ops */
  OP_COLLECTIVE = 32768,   /* with OP_BLOCKS: a collective, in the same order in all processes */
  OP_ALL_REDUCE = 65536,   /* sums its inputs in any order: nodes with the same inputs on several
                        devices may become one all-reduce */
  OP_READS = 131072,    /* output 0 is the value of variable 0; it shares the memory (with OP_ALIAS)
                           until the variable changes */
  OP_PROBES = 262144,   /* host op: tests whether variable 0 is initialized (compute->ready) */
  OP_OPTIONAL = 524288, /* may be fed (PlaceholderWithDefault): its input is no static value */
  OP_EFFECT = 1048576,  /* has a side effect outside of resources: in a function it always runs, in
                           the order of the program */
  OP_CALLS = 2097152,   /* host op: calls a function of the program, which may block until another
                           such call of the run has happened: independent calls are concurrent */
};

struct op_def {
  const char *name;    /* "MatMul", as in a GraphDef */
  const char *inputs;  /* "a:T b:T"; a list "inputs:N*T"; fixed "shape:int32"; a reference "ref:&T";
                          a handle "resource:@T"; a shape "x:T[n,4]" */
  const char *outputs; /* "product:T" */
  const char *attrs;   /* "T:{half float double} transpose_a:bool=false"; grammar in schema.h */
  const char *python;  /* names under tf: "matmul linalg.matmul" */
  const char *doc;     /* first sentence: what it computes; then what a user should know */
  const char *args;    /* a line per input and attribute: "a: Left matrix.\nb: Right matrix."; see
                         arg_docs.h for attributes that all ops share */
  const char *samples; /* inputs to test it with: "[4,3] [3,5]; transpose_a=true [3,4] [3,5]" */
  const char *host;    /* inputs whose values are needed to plan the call (shapes, axes): "shape" */
  const char *forward_op; /* an op that may save results for this one (call_save_result); its inputs
                             and outputs are the first inputs of this op */
  const char
      *devices; /* where it has kernels, by type: "CPU GPU", "CPU GPU(float double)", "CPU" */
  unsigned flags;
  situ_status (*shape)(
      struct call *call); /* sets out[i].shape; input shapes may be unknown while building */
  situ_status (*record)(struct call *call);        /* records the kernel launches; all shapes
                                                      are known; NULL: none */
  void (*grad)(struct gradient *gradient);         /* builds the gradients of the inputs; see
                                                      ops/gradient.h and OP_NO_GRADIENT */
  situ_status (*compute)(struct compute *compute); /* of a host op, instead of `record`: see
                                                      compute.h */
  situ_status (*compute_strings)(struct compute *compute); /* of an op with `record`: instead of its
                                                              kernels if the first type attribute is
                                                              string */
};

/* The ops that one file of ops/ defines. */
struct op_family {
  const char *name;
  const struct op_def *ops;
  int count;
};

/* All families, ending in NULL; defined by ops/ops.c. */
extern const struct op_family *const op_families[];

#endif
