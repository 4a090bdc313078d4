/* SPDX-License-Identifier: Apache-2.0
 * interrupt.h: the end of long work items. One that may take longer than 20 ms on the host (a sort,
 * a decomposition) tests INTERRUPTED in an outer loop and ends; its results are then discarded. The
 * .c file that includes the kernels includes "base/interrupt.h". GPUs do not ask. */
#ifndef SITU_KERNEL_INTERRUPT_H
#define SITU_KERNEL_INTERRUPT_H

/* Every 16384 iterations. */
#define IS_CHECK(k) (((k)&0x3fff) == 0x3fff)

#ifdef SITU_HOST
#define INTERRUPTED interrupt_pending()
#else
#define INTERRUPTED false
#endif

#endif
