/* SPDX-License-Identifier: Apache-2.0
 * placer.h: assigns a device to each node of an abstract problem, independent of graphs and ops.
 *
 * Nodes, requested devices and sets of kernels are small integers, so that placing a node takes a
 * few nanoseconds. The `reference` policy reproduces TensorFlow 2.21 exactly, bugs included. The
 * default policy follows the same rules without the bugs (devices are sorted by index, a rejected
 * colocation has no effect) and uses the error messages of TensorFlow's guides. The placer places
 * all nodes or fails.
 */
#ifndef SITU_PLACE_PLACER_H
#define SITU_PLACE_PLACER_H

#include "base/arena.h"
#include "device/name.h"

struct strbuf;

/* Optional device features that a kernel may need. */
enum place_needs { NEEDS_HALF = 1, NEEDS_DOUBLE = 2, NEEDS_COUNT = 2 };

struct place_device {
  struct device_name name; /* complete */
  const char *text;        /* full name */
  int priority;            /* of its kind; higher is preferred */
  unsigned lacks;          /* enum place_needs */
};

/* A requested device. */
struct place_spec {
  struct device_name name;
  const char *text; /* as shown to the user */
  bool malformed;   /* `text` is not a device name; `name` is not set */
};

/* The kinds of devices for which an op has kernels, in any order. */
struct place_kernel {
  const char *kind;
  int priority; /* of the kernel; compared before the priority of the kind; usually 0 */
};
struct place_support {
  const struct place_kernel *kernels;
  int32_t count;
  unsigned needs; /* enum place_needs */
};

/* place_node.assigned without a device: not assigned yet; assigned to a device that does not exist.
 */
enum { PLACE_FREE = -1, PLACE_INVALID = -2 };

enum place_flags {
  PLACE_REF_OUTPUT = 1,    /* output 0 is a reference */
  PLACE_HANDLE_OUTPUT = 2, /* output 0 is a resource handle */
  PLACE_METADATA = 4       /* reads only the shape of its input */
};

struct place_node {
  int32_t edges;    /* index of its first edge in place_problem.edges; ends where the next begins */
  int32_t n_inputs; /* number of data edges; the other edges are control edges */
  int32_t spec, support;
  int32_t assigned; /* device fixed before placement, PLACE_FREE or PLACE_INVALID */
  uint16_t n_outputs;
  uint16_t flags; /* enum place_flags */
};

/* A data edge into a reference or handle input. */
struct place_reference {
  int32_t producer, consumer;
};

/* The membership of a node in a colocation group. */
struct place_member {
  int32_t node, group;
};

/* Describe nodes in errors and warnings. All but `name` and `op` may be NULL. */
struct place_callbacks {
  const void *context;
  const char *(*name)(const void *context, int32_t node);
  const char *(*op)(const void *context, int32_t node);
  void (*describe)(const void *context, int32_t node, struct strbuf *out); /* on one line */
  void (*kernels)(const void *context, int32_t node, struct strbuf *out);  /* "CPU, GPU (float)" */
  situ_status (*order)(const void *context, int32_t *order); /* errors name the first such node */
};

struct place_problem {
  const struct place_device *devices;
  int32_t n_devices;
  const struct place_spec *specs; /* specs[0] is the empty request */
  int32_t n_specs;
  const struct place_support *supports;
  int32_t n_supports;
  const struct place_node *nodes; /* n_nodes + 1: the last one only ends the edges */
  int32_t n_nodes;
  const int32_t *edges;                     /* producers, grouped by consumer */
  const struct place_reference *references; /* sorted by consumer, then by input */
  int32_t n_references;
  const struct place_member *members; /* sorted by node; the group with the node's name is last */
  int32_t n_members, n_groups;
  int32_t default_device;   /* preferred wherever it is allowed; -1: none */
  struct device_name local; /* job, replica and task of this process, as far as known */
  bool soft;                /* soft placement: drop requests that cannot be satisfied */
  bool reference;           /* the policy; see above */
  struct place_callbacks callbacks;
};

/* Why a node is on its device; `other` is place_reason.other. */
enum place_cause {
  CAUSE_ASSIGNED,  /* assigned before placement */
  CAUSE_REQUESTED, /* its own request */
  CAUSE_REFERENCE, /* connected with `other` by a reference or handle edge */
  CAUSE_COLOCATED, /* colocated with `other` */
  CAUSE_INPUT,     /* reads only the shape of `other` and follows it */
  CAUSE_CONSUMERS, /* all its consumers, such as `other`, are there */
  CAUSE_DEFAULT,   /* the default device */
  CAUSE_ONLY_KIND, /* no other kind of device has a kernel */
  CAUSE_PRIORITY,  /* the kind with the highest priority among those with a kernel */
  CAUSE_SOFT       /* soft placement dropped its request because of `soft_cause` */
};

enum place_soft_cause { SOFT_NONE, SOFT_NO_DEVICE, SOFT_NO_KERNEL, SOFT_COLOCATION };

struct place_reason {
  uint8_t cause, soft_cause; /* enum place_cause, enum place_soft_cause */
  int32_t other;             /* a node, or -1 */
};

struct place_result {
  int32_t *device;              /* per node */
  struct place_reason *reasons; /* per node */
  const char *warning;          /* requests that soft placement dropped; NULL: none */
};

/* Places all nodes. The result is allocated in the arena. Fails with INVALID_ARGUMENT if a request
 * cannot be satisfied, INTERNAL if a previous assignment is invalid, FAILED_PRECONDITION without
 * devices. */
situ_status placer_run(const struct place_problem *problem, struct arena *arena,
                       struct place_result *out) SITU_MUST_USE;

#endif
