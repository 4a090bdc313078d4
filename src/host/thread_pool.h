/* SPDX-License-Identifier: Apache-2.0
 * thread_pool.h: the thread pool of the process.
 *
 * A caller always participates; idle threads of the pool help with large calls. The pool keeps the
 * number of computing threads at or below the number of cores: callers never block, helpers yield
 * their core instead (also between two chunks of a call).
 */
#ifndef SITU_HOST_THREAD_POOL_H
#define SITU_HOST_THREAD_POOL_H

#include "device/backend.h"

/* Runs the kernel over the work items 0 <= i < items in the calling thread, with help from idle
 * pool threads if items >= 2 * grain (grain 0: never split). Chunk boundaries depend on items and
 * grain only, so that results are bit-identical for any number of threads. A kernel may call
 * thread_pool_run. Returns the first error; chunks not yet started are then skipped. Asks between
 * chunks whether the program is interrupted (base/interrupt.h). */
situ_status thread_pool_run(host_kernel *kernel, const union arg *args, int64_t items,
                            int64_t grain) SITU_MUST_USE;

/* Brackets a period in which a thread computes (a session run, a device worker) and therefore
 * occupies a core. Pairs nest. Never blocks; leave before waiting for another thread.
 * thread_pool_run does not need it. */
void thread_pool_enter(void);
void thread_pool_leave(void);

/* Returns the maximum number of computing threads including callers: SITU_THREADS, or the cores
 * available to the process. */
int thread_pool_threads(void);

/* Sets that number (0: the default). Running calls may keep their helpers. */
void thread_pool_set_threads(int threads);

/* Spins for a short time while a core is free, until the value differs from `seen`; returns whether
 * it does. Avoids the latency of sleeping. */
bool thread_pool_spin(const atomic_uint *number, unsigned seen);

/* How a call is split: `count` chunks of `size` items, the last one shorter. */
struct thread_pool_chunks {
  int64_t count, size;
};
struct thread_pool_chunks thread_pool_chunks(int64_t items, int64_t grain);

#endif
