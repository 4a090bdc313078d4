/* SPDX-License-Identifier: Apache-2.0
 * catalog.h: queries the table of op definitions, for listings, documentation and bindings. */
#ifndef SITU_CATALOG_H
#define SITU_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An input or output of an op. Attributes are indices into situ_op.attrs; -1: none. */
typedef struct situ_op_port {
  const char *name;
  const char *type_name; /* the type attribute or the fixed type; of a handle: of its variable */
  situ_type type;        /* the fixed type; SITU_NO_TYPE: see type_attr */
  int type_attr;         /* the attribute with the type, or with the types of a list */
  int number_attr;       /* of a list of one type: the attribute with its length */
  int handle_attr;       /* of a handle: the attribute with the type of the variable; -1: any */
  bool is_list;          /* any number of tensors */
  bool is_types;         /* a list: type_attr is a list of types, one per tensor */
  bool is_ref;           /* a reference to a variable; of inputs also a handle */
  bool is_handle;        /* of type resource: the handle of a variable */
  bool is_host;          /* an input whose value is read on the host, to plan the call */
} situ_op_port;

/* An attribute of an op. */
typedef struct situ_op_attr {
  const char *name;
  situ_attr_kind kind;
  const char *type; /* as in the definition: "int>=1", "{half float}", "{'SAME','VALID'}" */
  const char *default_value; /* as in the definition: "1", "float", "'SAME'"; NULL: none */
  uint32_t types;            /* of types: bit i allows situ_type i; all ones: any */
  const char *strings;       /* of a string: the allowed values, "'SAME','VALID'"; NULL: any */
  int64_t minimum,
      maximum; /* of an int, or of the elements of a list; INT64_MIN, INT64_MAX: none */
  int64_t min_length, max_length; /* of a list; 0, INT64_MAX: any */
  bool inferred;                  /* from the inputs: callers do not pass it */
} situ_op_attr;

/* An op definition. All strings and arrays are static. */
typedef struct situ_op {
  int number; /* the index of the op, for situ_call.op */
  const char *name, *family;
  const situ_op_port *inputs, *outputs;
  const situ_op_attr *attrs;
  int n_inputs, n_outputs, n_attrs;
  const char *python;  /* names under tf */
  const char *devices; /* device kinds with kernels: "CPU GPU(float double)" */
  const char *host;    /* inputs that are read on the host */
  const char *doc;
  const char *samples; /* test inputs, for situ_selftest */
  bool on_host;        /* a host op: runs in the caller's thread and may block */
  bool is_stateful;    /* reads or changes what outlives a run, or is random */
  bool has_effect;     /* has a side effect outside of resources, such as printing */
} situ_op;

/* Returns the number of ops; situ_ops_get describes op 0 <= number < count. */
SITU_API int situ_ops_count(void);
SITU_API situ_status situ_ops_get(int number, situ_op *out) SITU_MUST_USE;

/* Finds an op by name. NotFound suggests the most similar name. */
SITU_API situ_status situ_ops_find(const char *name, situ_op *out) SITU_MUST_USE;

/* Copies the sentence that documents an input or attribute of an op; empty if there is none. */
SITU_API situ_status situ_ops_argument_doc(int number, const char *argument, char *out,
                                           size_t size) SITU_MUST_USE;

/* Returns the version of the library: "0.1.0". */
SITU_API const char *situ_version(void);

#ifdef __cplusplus
}
#endif
#endif
