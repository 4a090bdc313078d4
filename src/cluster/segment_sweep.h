/* SPDX-License-Identifier: Apache-2.0
 * segment_sweep.h: removes shared memory that killed processes have left behind. */
#ifndef SITU_CLUSTER_SEGMENT_SWEEP_H
#define SITU_CLUSTER_SEGMENT_SWEEP_H

/* Unlinks the segments of this user whose creator has ended. Memory that processes have mapped
 * stays usable for them. */
void segment_sweep(void);

#endif
