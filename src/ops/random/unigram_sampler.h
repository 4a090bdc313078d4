/* SPDX-License-Identifier: Apache-2.0
 * unigram_sampler.h: sampling of classes in proportion to weights. */
#ifndef SITU_OPS_RANDOM_UNIGRAM_SAMPLER_H
#define SITU_OPS_RANDOM_UNIGRAM_SAMPLER_H

#include "schema/call.h"

/* Words of a class in a table: the bits of a float, how likely a draw of this entry keeps it; the
 * class that it is else; the bits of a float, how likely the class is. */
enum { UNIGRAM_WORDS = 3 };

/* Whether the attributes of a sampler are valid by themselves. */
situ_status unigram_check(const struct call *call) SITU_MUST_USE;

/* The table of a sampler with `range` classes, in the arena of the program; *likely is the number
 * of classes with a probability above 0. */
situ_status unigram_table(struct call *call, int64_t range, uint32_t **table,
                          int64_t *likely) SITU_MUST_USE;

#endif
