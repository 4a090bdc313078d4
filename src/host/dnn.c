/* SPDX-License-Identifier: Apache-2.0
 * dnn.c: oneDNN, found at run time. Only its C API without structs is used, so that one table
 * serves versions 2 and 3. */
#include "host/dnn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "host/gemm_kernels.h"
#include "host/thread_pool.h"

#define NEEDED(X)                                                                                  \
  X(int, dnnl_sgemm,                                                                               \
    (char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, \
     float, float *, int64_t))
#define WISHED(X)                     \
  X(void, omp_set_num_threads, (int)) \
  X(int, omp_get_max_threads, (void))

struct table {
  NEEDED(DL_FIELD)
  WISHED(DL_FIELD)
};

static struct table dnn;
static bool loaded;
static char reason[DL_WHY];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define NEED(result, name, args) DL_SYMBOL(struct table, name)
#define WISH(result, name, args) DL_OPTION(struct table, name)
  static const struct dl_symbol symbols[] = {NEEDED(NEED) WISHED(WISH)};
  static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
  const char *wish = getenv("SITU_ONEDNN");
  if (wish && !strcmp(wish, "0")) {
    strcpy(reason, "turned off by SITU_ONEDNN=0");
    return;
  }
  loaded = dl_load(names, symbols, (int)COUNT_OF(symbols), &dnn, reason);
}

bool dnn_available(const char **why) {
  pthread_once(&once, load);
  if (why) *why = loaded ? "" : reason;
  return loaded;
}

bool dnn_use_gemm(int64_t m, int64_t n, int64_t k) {
  static _Atomic int asked; /* 0: not yet; 1: no; 2: yes */
  if (m < 64 || n < 64 || k < 64) return false;
  if (!asked) {
    const char *wish = getenv("SITU_ONEDNN");
    const bool plain = !strcmp(gemm_kernels(SITU_FLOAT)->kind, "portable");
    const bool yes = (wish && !strcmp(wish, "1")) || plain;
    asked = yes && dnn_available(NULL) ? 2 : 1;
  }
  return asked == 2;
}

static situ_status rows_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct gemm *g = args[0].pointer;
  /* The number of threads is the calling thread's own setting: put back what its owner chose. */
  const int before = dnn.omp_get_max_threads ? dnn.omp_get_max_threads() : 0;
  if (dnn.omp_set_num_threads) dnn.omp_set_num_threads(1);
  const bool turn_a = g->a_col != 1, turn_b = g->b_col != 1;
  const int status =
      dnn.dnnl_sgemm(turn_a ? 'T' : 'N', turn_b ? 'T' : 'N', end - begin, g->n, g->k, 1,
                     (const float *)g->a + begin * g->a_row, turn_a ? g->a_col : g->a_row, g->b,
                     turn_b ? g->b_col : g->b_row, 0, (float *)g->c + begin * g->c_row, g->c_row);
  if (dnn.omp_set_num_threads && before > 0) dnn.omp_set_num_threads(before);
  return status ? INTERNAL("oneDNN's sgemm failed with status %d.", status) : NULL;
}

situ_status dnn_gemm(const struct gemm *gemm) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)gemm}};
  /* Chunks of whole register tiles, large enough for oneDNN to pack the other operand again. */
  const int64_t grain = max_i64(48, (gemm->m / 16 + 47) / 48 * 48);
  return thread_pool_run(rows_kernel, args, gemm->m, grain);
}
