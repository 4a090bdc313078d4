/* SPDX-License-Identifier: Apache-2.0
 * einsum_labels.h: the equation of an Einsum op: "ij...,jk->ik...".
 *
 * A dimension has a label: a letter, or a negative number for one that "..." stands for, counted
 * from the right: -1 is the last. */
#ifndef SITU_OPS_LINALG_EINSUM_LABELS_H
#define SITU_OPS_LINALG_EINSUM_LABELS_H

#include "schema/call.h"

/* The letters of one tensor: those before "..." and those after it. */
struct subscripts {
  const char *front, *back;
  int n_front, n_back;
  bool dots;
};

struct equation {
  struct subscripts in[2], out;
  int n_in;
};

/* The label of each dimension of a tensor. */
struct labels {
  int rank;
  int label[SITU_MAX_RANK];
};

/* Parses an equation with one or two inputs; it points into the text. */
situ_status einsum_parse(const char *text, struct equation *out) SITU_MUST_USE;

/* The labels of a tensor where "..." stands for `ellipsis` dimensions. Fails if there are more than
 * SITU_MAX_RANK. */
situ_status einsum_labels_of(const struct subscripts *subscripts, int ellipsis,
                             struct labels *out) SITU_MUST_USE;

/* The labels of all inputs and of the output of a call whose ranks are known. */
situ_status einsum_labels(const struct call *call, const struct equation *equation,
                          struct labels in[2], struct labels *out) SITU_MUST_USE;

/* Infers the output shape of an Einsum. */
situ_status einsum_shape(struct call *call) SITU_MUST_USE;

#endif
