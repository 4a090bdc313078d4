/* SPDX-License-Identifier: Apache-2.0
 * soft_placement_log.h: the warning about nodes that soft placement moved to another device. */
#ifndef SITU_PLACE_SOFT_PLACEMENT_LOG_H
#define SITU_PLACE_SOFT_PLACEMENT_LOG_H

#include "place/state.h"

/* Formats the warning in the arena; NULL if soft placement changed nothing. */
situ_status soft_placement_log_warn(const struct placer *placer, struct arena *arena,
                                    const char **out) SITU_MUST_USE;

#endif
