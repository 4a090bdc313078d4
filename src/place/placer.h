/* SPDX-License-Identifier: Apache-2.0
 * placer.h: which device each node runs on, as an abstract problem: it knows no graph and no op.
 *
 * Nodes are numbered; what they ask for, and where they have kernels, are numbers too, so that a
 * node costs a few nanoseconds. Two policies: `reference` follows TensorFlow 2.21 to the letter,
 * its slips included; the other keeps the rules and repairs the slips (devices sort by number, a
 * refused colocation leaves nothing behind) and speaks with the guides' words. The result is
 * complete or a failure, never a part.
 */
#ifndef SITU_PLACE_PLACER_H
#define SITU_PLACE_PLACER_H

#include "base/arena.h"
#include "device/name.h"

struct strbuf;

/* What a kernel may need that not every device has. */
enum place_needs { NEEDS_HALF = 1, NEEDS_DOUBLE = 2, NEEDS_COUNT = 2 };

struct place_device {
  struct device_name name; /* complete */
  const char *text;        /* the full name */
  int priority;            /* of its kind: the highest is preferred */
  unsigned lacks;          /* of enum place_needs */
};

/* A requested device. */
struct place_spec {
  struct device_name name;
  const char *text; /* as it is shown to the user */
  bool malformed;   /* the text is no device name; `name` does not count */
};

/* Where an op has kernels, in any order. */
struct place_kernel {
  const char *kind;
  int priority; /* of the kernel: the highest is preferred, before the kind's; mostly 0 */
};
struct place_support {
  const struct place_kernel *kernels;
  int32_t count;
  unsigned needs; /* of enum place_needs */
};

/* Instead of the number of a device: not assigned beforehand; assigned to what is no device. */
enum { PLACE_FREE = -1, PLACE_LOST = -2 };

enum place_flags {
  PLACE_REF_OUTPUT = 1,    /* output 0 is a reference */
  PLACE_HANDLE_OUTPUT = 2, /* output 0 is a handle of a resource */
  PLACE_METADATA = 4       /* looks at the shape of its input only */
};

struct place_node {
  int32_t edges;    /* where its inputs begin in place_problem.edges; the next node's follow them */
  int32_t n_inputs; /* of these edges carry data; those behind are control edges */
  int32_t spec, support;
  int32_t assigned; /* a device, beforehand; or PLACE_FREE or PLACE_LOST */
  uint16_t n_outputs;
  uint16_t flags; /* of enum place_flags */
};

/* A data edge into an input that takes a reference or a handle. */
struct place_reference {
  int32_t producer, consumer;
};

/* A node is in a colocation group. */
struct place_member {
  int32_t node, group;
};

/* Words for the texts; only called to make one. All but `name` and `op` may be NULL. */
struct place_words {
  const void *context;
  const char *(*name)(const void *context, int32_t node);
  const char *(*op)(const void *context, int32_t node);
  void (*describe)(const void *context, int32_t node, struct strbuf *out); /* the node in a line */
  void (*kernels)(const void *context, int32_t node, struct strbuf *out);  /* "CPU, GPU (float)" */
  situ_status (*order)(const void *context, int32_t *order); /* in which nodes are named first */
};

struct place_problem {
  const struct place_device *devices;
  int32_t n_devices;
  const struct place_spec *specs; /* number 0 asks for nothing */
  int32_t n_specs;
  const struct place_support *supports;
  int32_t n_supports;
  const struct place_node *nodes; /* one more than n_nodes: its `edges` ends the last one's */
  int32_t n_nodes;
  const int32_t *edges;                     /* the producers, node after node */
  const struct place_reference *references; /* by consumer, then by input */
  int32_t n_references;
  const struct place_member *members; /* by node; the group of a node's own name is its last */
  int32_t n_members, n_groups;
  int32_t default_device;   /* goes first wherever it is allowed; or -1 */
  struct device_name local; /* job, replica and task of this process, as far as known */
  bool soft;                /* a request that cannot be met is dropped */
  bool reference;
  struct place_words words;
};

/* What decided, with what is said of it; `other` of a reason is the node in question. */
enum place_cause {
  CAUSE_ASSIGNED,  /* it had this device before */
  CAUSE_REQUESTED, /* its own request */
  CAUSE_REFERENCE, /* a reference or handle edge joins it with `other` */
  CAUSE_COLOCATED, /* it is colocated with `other` */
  CAUSE_INPUT,     /* it only looks at the shape of `other` and follows it */
  CAUSE_CONSUMERS, /* all its consumers are there, `other` is one */
  CAUSE_DEFAULT,   /* the default device */
  CAUSE_ONLY_KIND, /* no other kind of device has a kernel */
  CAUSE_PRIORITY,  /* the preferred one of the kinds that have a kernel */
  CAUSE_SOFT       /* soft placement: its request could not be met; `why` says why */
};

enum place_why { WHY_NOTHING, WHY_NO_DEVICE, WHY_NO_KERNEL, WHY_NEIGHBOURS };

struct place_reason {
  uint8_t cause, why; /* of enum place_cause, enum place_why */
  int32_t other;      /* a node, or -1 */
};

struct place_result {
  int32_t *device;              /* per node */
  struct place_reason *reasons; /* per node */
  const char *warning;          /* what soft placement moved and ignored, or NULL */
};

/* Places every node. What `out` points to lives in the arena. Fails with InvalidArgument for a
 * request that cannot be met, Internal for a wrong assignment beforehand, FailedPrecondition
 * without devices. */
situ_status placer_run(const struct place_problem *problem, struct arena *arena,
                       struct place_result *out) SITU_MUST_USE;

#endif
