/* SPDX-License-Identifier: Apache-2.0
 * thread_pool.h: the thread pool of the process.
 *
 * A caller always works itself; idle threads of the pool help it with large calls. Callers and
 * helpers together never exceed the cores, as far as it is in the pool's hand: a caller is never
 * held up, helpers give way instead (also in the middle of a call, between two chunks).
 */
#ifndef SITU_HOST_THREAD_POOL_H
#define SITU_HOST_THREAD_POOL_H

#include "device/backend.h"

/* Runs the kernel over the work items 0 <= i < items, in the calling thread, helped by idle threads
 * of the pool when items >= 2 * grain (grain 0: one call, never split). The borders of the chunks
 * depend on items and grain alone, never on the number of threads, so results are the same to the
 * bit for any number of them. A kernel may call thread_pool_run itself. The first failure wins;
 * chunks that nobody began are then left out. */
situ_status thread_pool_run(host_kernel *kernel, const union arg *args, int64_t items,
                            int64_t grain) SITU_MUST_USE;

/* Said by a thread that begins and stops computing for a while (a run of a session, a worker of a
 * device): as long as it computes it counts as a core in use. Pairs nest. Never blocks; leave
 * before waiting for another thread. thread_pool_run needs no pair around it. */
void thread_pool_enter(void);
void thread_pool_leave(void);

/* The most threads that compute at once, callers included: SITU_THREADS, else the cores that this
 * process may use. */
int thread_pool_threads(void);

/* Changes that number (at least 1; 0: back to the default). Calls that run already may keep their
 * helpers. */
void thread_pool_set_threads(int threads);

/* Looks for a short while, as long as a core is free for that, whether the number is another one
 * than `seen`; whether it is. For who would have to be woken otherwise, which takes long. */
bool thread_pool_spin(const atomic_uint *number, unsigned seen);

/* How a call is cut: `count` chunks of `size` items, the last one shorter. */
struct thread_pool_chunks {
  int64_t count, size;
};
struct thread_pool_chunks thread_pool_chunks(int64_t items, int64_t grain);

#endif
