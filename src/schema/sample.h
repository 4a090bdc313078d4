/* SPDX-License-Identifier: Apache-2.0
 * sample.h: the samples of an op definition as tensors, for tests. */

/* clang-format off */
/*
 * Samples are separated by `;`. A sample has NAME=VALUE for attributes, then an item per input:
 *   [2,3]          random values: reals from -4 to 4, integers from -9 to 9, booleans
 *   [2,3]:pos      positive             [2,3]:unit    between -1 and 1
 *   [2,3]:probability  between 0 and 1, exclusive
 *   [2,3]:above1   1 or more            [2,3]:whole   integers from 1 to 4
 *   [2,3]:share    rows that sum to 1
 *   [2,3]=1,2,...  these values         [0]=          none
 * All reals are multiples of 1/64, exact in every type. A sample serves every
 * type of the op's first type attribute, unless it sets that attribute.
 */
/* clang-format on */
#ifndef SITU_SCHEMA_SAMPLE_H
#define SITU_SCHEMA_SAMPLE_H

#include "base/arena.h"
#include "schema/schema.h"

enum { SAMPLE_MOST = 16 }; /* inputs and attributes of a sample */

struct sample {
  const struct schema *schema;
  situ_attr attrs[SAMPLE_MOST]; /* for situ_emit */
  int n_attrs;
  situ_tensor *inputs[SAMPLE_MOST];
  bool is_host[SAMPLE_MOST]; /* an input that must be constant */
  int n_inputs;
};

/* The number of samples of an op. */
int sample_count(const struct schema *schema);

/* The types to try sample `number` with, as bits; bit 0 alone: its types are its own. */
uint32_t sample_types(const struct schema *schema, int number);

/* Creates sample `number` for a type (SITU_NO_TYPE: the sample sets it); strings are allocated
 * from the arena. */
situ_status sample_make(const struct schema *schema, int number, situ_type type,
                        struct arena *arena, struct sample *out) SITU_MUST_USE;

void sample_free(struct sample *sample);

/* Element i of a tensor as a number. */
double sample_number(const situ_tensor *tensor, int64_t i);

/* The numbers that sample_number can return: two per complex element. */
int64_t sample_count_numbers(const situ_tensor *tensor);

#endif
