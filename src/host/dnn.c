/* SPDX-License-Identifier: Apache-2.0
 * dnn.c: oneDNN's sgemm, loaded at run time with dlopen. Only struct-free functions of its C API
 * are used, which are the same in versions 2 and 3. */
#include "host/dnn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "host/gemm_kernels.h"
#include "host/thread_pool.h"

#define REQUIRED_SYMBOLS(X)                                                                        \
  X(int, dnnl_sgemm,                                                                               \
    (char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, \
     float, float *, int64_t))
#define OPTIONAL_SYMBOLS(X)           \
  X(void, omp_set_num_threads, (int)) \
  X(int, omp_get_max_threads, (void))

struct table {
  REQUIRED_SYMBOLS(DL_FIELD)
  OPTIONAL_SYMBOLS(DL_FIELD)
};

static struct table dnn;
static bool is_loaded;
static char reason[DL_REASON_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define REQUIRED(result, name, args) DL_SYMBOL(struct table, name)
#define OPTIONAL(result, name, args) DL_OPTIONAL(struct table, name)
  static const struct dl_symbol symbols[] = {REQUIRED_SYMBOLS(REQUIRED) OPTIONAL_SYMBOLS(OPTIONAL)};
  static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
  const char *setting = getenv("SITU_ONEDNN");
  if (setting && !strcmp(setting, "0")) {
    strcpy(reason, "disabled by SITU_ONEDNN=0");
    return;
  }
  is_loaded = dl_load(names, symbols, (int)COUNT_OF(symbols), &dnn, reason);
}

bool dnn_available(const char **why) {
  pthread_once(&once, load);
  if (why) *why = is_loaded ? "" : reason;
  return is_loaded;
}

bool dnn_use_gemm(int64_t m, int64_t n, int64_t k) {
  static _Atomic int decision; /* 0: unknown; 1: no; 2: yes */
  if (m < 64 || n < 64 || k < 64) return false;
  if (!decision) {
    const char *setting = getenv("SITU_ONEDNN");
    const bool is_portable = !strcmp(gemm_kernels(SITU_FLOAT)->kind, "portable");
    const bool is_enabled = (setting && !strcmp(setting, "1")) || is_portable;
    decision = is_enabled && dnn_available(NULL) ? 2 : 1;
  }
  return decision == 2;
}

static situ_status rows_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct gemm *g = args[0].pointer;
  /* omp_set_num_threads affects the calling thread: restore its value afterwards. */
  const int n_threads = dnn.omp_get_max_threads ? dnn.omp_get_max_threads() : 0;
  if (dnn.omp_set_num_threads) dnn.omp_set_num_threads(1);
  const bool transpose_a = g->a_col != 1, transpose_b = g->b_col != 1;
  const int status = dnn.dnnl_sgemm(
      transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', end - begin, g->n, g->k, 1,
      (const float *)g->a + begin * g->a_row, transpose_a ? g->a_col : g->a_row, g->b,
      transpose_b ? g->b_col : g->b_row, 0, (float *)g->c + begin * g->c_row, g->c_row);
  if (dnn.omp_set_num_threads && n_threads > 0) dnn.omp_set_num_threads(n_threads);
  return status ? INTERNAL("oneDNN's sgemm failed with status %d.", status) : NULL;
}

situ_status dnn_gemm(const struct gemm *gemm) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)gemm}};
  /* Chunks of whole register tiles, large enough to amortize that oneDNN packs B for each. */
  const int64_t grain = max_i64(48, (gemm->m / 16 + 47) / 48 * 48);
  return thread_pool_run(rows_kernel, args, gemm->m, grain);
}
