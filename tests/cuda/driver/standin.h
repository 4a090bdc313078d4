/* SPDX-License-Identifier: Apache-2.0
 * standin.h: a libcuda.so.1 for tests: devices, contexts, memory, streams, modules without a GPU.
 *
 * It is strict where a real driver is lenient or only sometimes fails: streams do nothing until
 * waited for, and then run in a random order that streams and events allow; memory
 * is poisoned, and every access is checked against the allocation and the device it belongs to;
 * memory that is freed while work is queued is gone.
 *
 * Every call but a few needs a context that is current in its thread, as the real driver's does.
 *
 * Settings: STANDIN_DEVICES (2), STANDIN_MEMORY (MiB of each, 64), STANDIN_SEED (1), STANDIN_DRIVER
 * (the version, 13000), STANDIN_RACES (1; 0 does not look for them), STANDIN_FAIL
 * ("cuMemAlloc_v2:3=2,...": call number 3 of the function gives error 2, of * all do; with a !
 * behind it the context is lost).
 */
#ifndef SITU_TESTS_CUDA_STANDIN_H
#define SITU_TESTS_CUDA_STANDIN_H

#include <pthread.h>

#include "backend/cuda/driver.h"
#include "cuda/ptx/ptx.h"

enum { MOST_CARDS = 8, MOST_STREAMS = 256 };

#define EXPORT __attribute__((visibility("default")))

/* A device and its primary context. */
struct card {
  int number; /* before CUDA_VISIBLE_DEVICES */
  char name[64], bus_id[16];
  int major, minor;
  size_t memory, used;
  unsigned peers; /* bits of the devices that may use its memory */
  int retained;
  struct CUctx_st *context;
};

struct CUctx_st {
  struct card *card;
  cuda_result error; /* from a failure on, every call gives it */
};

struct CUstream_st {
  struct CUctx_st *context;
  struct work *first, *last;
  bool is_closed; /* destroyed; work that is left still runs */
};

struct CUevent_st {
  struct CUctx_st *context;
  uint64_t ticket; /* of the last recording; 0: none */
};

struct CUfunc_st {
  struct CUmod_st *module;
  struct function *function;
  struct CUfunc_st *next;
};

struct CUmod_st {
  struct CUctx_st *context;
  struct module *module;
  struct CUfunc_st *functions;
};

/* One lock for everything. */
extern pthread_mutex_t standin_lock;

/* Begins a call: takes the lock; the error to give back at once, or CUDA_OK. `leave` gives it
 * back. */
enum { LOST_TOO = 2 }; /* needs a context, also one that failed: gives things back */
cuda_result standin_enter(const char *function, int needs_context);
cuda_result standin_leave(cuda_result result);
#define ENTER(needs_context)                                            \
  do {                                                                  \
    const cuda_result entered = standin_enter(__func__, needs_context); \
    if (entered != CUDA_OK) return standin_leave(entered);              \
  } while (0)

/* The current context of the thread. */
struct CUctx_st *standin_context(void);
struct card *standin_card(int device);
int standin_cards(void);
void standin_start(void);
int standin_version(void);

/* A number between 0 and n - 1 from the seed. */
unsigned standin_random(unsigned n);
/* Says something on standard error, and keeps it. */
void standin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For other stand-ins: the error that STANDIN_FAIL asks for, of a call of a function. */
EXPORT unsigned standin_fault(const char *function);
/* For other stand-ins: the device of a stream; -1: it is none. */
EXPORT int standin_device(cuda_stream stream);
/* For other stand-ins: whether memory is all in one allocation of a device. */
EXPORT bool standin_owns(int device, cuda_pointer address, size_t bytes);
/* Makes streams of several devices meet: none goes on before all have come, and one of them has
 * called. A stream of a context that failed does not come; then the others wait until the meeting
 * is called off. */
struct meeting;
EXPORT struct meeting *standin_meet(const cuda_stream *streams, int n, void (*call)(void *),
                                    void *context);
EXPORT void standin_call_off(struct meeting *meeting);
/* What was said last; "" before that. For tests. */
EXPORT const char *standin_said(void);
/* Says something on standard error, and keeps it, for other stand-ins. */
EXPORT void standin_report(const char *text);
/* The data of memory of any device, for other stand-ins, from inside of a host function; NULL, and
 * says so, where it is not all in one allocation. */
EXPORT unsigned char *standin_data(cuda_pointer address, size_t bytes);
EXPORT cuda_result cuLaunchHostFunc(cuda_stream stream, void (*call)(void *), void *context);
EXPORT cuda_result cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device device);
EXPORT cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device);
/* Begins chance anew. */
EXPORT void standin_seed(uint64_t seed);

/* memory.c: with the lock. Memory of a device that an address is in; or NULL. */
struct extent *memory_find(uint64_t address);
/* Takes memory of a card; what modules hold is not counted, as the driver keeps a part for it. */
cuda_result memory_take(struct card *card, size_t bytes, bool is_counted, uint64_t *address);
bool memory_give(struct card *card, uint64_t address);
/* Frees all memory of a card. */
void memory_end(struct card *card);
/* Whether host memory is pinned, all of it. */
bool memory_is_pinned(const void *data, size_t bytes);
/* The data of device memory that a card may use; NULL, and says so, where it is not. */
unsigned char *memory_data(const struct card *card, uint64_t address, size_t bytes,
                           const char *what);
/* The card has other peers than before. */
void memory_share(const struct card *card);

/* streams.c: with the lock. */
struct work {
  struct work *next;
  enum {
    WORK_TO_DEVICE,
    WORK_TO_HOST,
    WORK_ON_DEVICE,
    WORK_HOST_FUNCTION,
    WORK_LAUNCH,
    WORK_RECORD,
    WORK_WAIT,
    WORK_MEET
  } kind;
  uint64_t to, from; /* device memory */
  struct card *to_card, *from_card;
  void *host;
  size_t bytes;
  unsigned char *staged; /* a copy of what was in pageable memory */
  void (*call)(void *);
  void *context;
  uint64_t ticket;
  struct meeting *meeting;
  struct CUfunc_st *function;
  unsigned grid[3], block[3];
  unsigned char *params;
};
cuda_result streams_add(struct CUstream_st *stream, const struct work *work);
/* Runs until the stream is empty, or until a ticket is done. */
cuda_result streams_finish(struct CUstream_st *stream);

/* modules.c: runs a launch. */
cuda_result modules_run(const struct card *card, const struct work *work);

#endif
