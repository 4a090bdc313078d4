/* SPDX-License-Identifier: Apache-2.0
 * gemm.c: GEMM: chooses the algorithm by size and distributes its blocks over threads. */
#include "host/gemm.h"

#include <stdatomic.h>
#include <string.h>

#include "device/backend.h"
#include "host/dnn.h"
#include "host/gemm_kernels.h"
#include "host/half.h"
#include "host/thread_pool.h"

enum {
  MAX_TINY = 32,            /* m * n * k up to this: three plain loops */
  MIN_THIN = 16384,         /* thin products are special only above this */
  MAX_SMALL = 96 * 96 * 96, /* up to this: one thread, A is not packed */
  BLOCK_ROWS = 96,          /* block of the result, if there are enough of them */
  BLOCK_PANELS = 16,
  MIN_BLOCKS = 32,
  HALF_INLINE = 1536, /* half-precision elements converted on the stack */
  CONVERT_GRAIN = 1 << 14,
  MAX_CACHED_A_BYTES =
      5 << 19, /* A up to this size stays in the cache while a panel of B is used */
};

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Returns m * n * k as a double, since it may exceed 2^63. */
static double volume(int64_t m, int64_t n, int64_t k) { return (double)m * (double)n * (double)k; }

static const struct gemm_kernels *kernels_for(situ_type type) {
  static _Atomic(const struct gemm_kernels *) cached[MAX_TYPES];
  const struct gemm_kernels *kernels = atomic_load_explicit(&cached[type], memory_order_relaxed);
  if (kernels) return kernels;
  kernels = gemm_kernels(type);
  atomic_store_explicit(&cached[type], kernels, memory_order_relaxed);
  return kernels;
}

static bool is_thin(const struct gemm *g) {
  return g->m <= THIN && (g->b_col == 1 || (g->b_row == 1 && g->a_col == 1));
}

/* Returns the transposed product. */
static struct gemm transpose_gemm(const struct gemm *g) {
  struct gemm s = *g;
  s.m = g->n, s.n = g->m;
  s.a = g->b, s.b = g->a;
  s.a_row = g->b_col, s.a_col = g->b_row;
  s.b_row = g->a_col, s.b_col = g->a_row;
  s.c_row = g->c_col, s.c_col = g->c_row;
  return s;
}

static size_t packed_bytes(situ_type type, int64_t m, int64_t n, int64_t k) {
  if (volume(m, n, k) <= MAX_SMALL || m <= THIN || n <= THIN) return 0;
  if (!kernels_for(type)) return 0;
  const int64_t cols = MAX_COLS_BYTES / (int64_t)situ_type_size(type);
  const int64_t n_lines = ceil_div(m, ROWS) * ROWS + ceil_div(n, cols) * cols;
  return (size_t)n_lines * MAX_DEPTH * situ_type_size(type);
}

size_t gemm_workspace_size(situ_type type, int64_t m, int64_t n, int64_t k) {
  if (type != SITU_HALF) return packed_bytes(type, m, n, k);
  const int64_t elements = m * k + k * n + m * n;
  if (elements <= HALF_INLINE) return 0;
  return round_up((size_t)elements * sizeof(float), 64) + packed_bytes(SITU_FLOAT, m, n, k);
}

/* A product as seen by the threads of the pool. */
struct job {
  const struct gemm *g;
  const struct gemm_kernels *kernels;
  int64_t first, k;                      /* current rows of B */
  int64_t height, width, blocks_per_row; /* of a block; number of blocks per row */
  bool pack_a;
};

static situ_status pack_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  job->kernels->pack(job->g, job->first, job->k, begin, end);
  return NULL;
}

static situ_status block_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    const int64_t top = i / job->blocks_per_row * job->height,
                  left = i % job->blocks_per_row * job->width;
    const struct block block = {.first = job->first,
                                .k = job->k,
                                .top = top,
                                .bottom = min_i64(job->g->m, top + job->height),
                                .left = left,
                                .right = min_i64(job->g->n, left + job->width),
                                .packed_a = job->pack_a};
    job->kernels->block(job->g, &block);
  }
  return NULL;
}

static situ_status rows_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  job->kernels->pack_rows(job->g, begin, end);
  return NULL;
}

static situ_status columns_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  job->kernels->columns(job->g, job->k, job->pack_a, begin, end);
  return NULL;
}

static situ_status strip_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  for (int64_t i = begin; i < end; i++)
    job->kernels->strip(job->g, i * job->width, min_i64(job->g->n, (i + 1) * job->width));
  return NULL;
}

static situ_status dots_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  job->kernels->dots(job->g, begin, end);
  return NULL;
}

/* Chooses blocks so small that there are enough for all threads, by the sizes only. */
static void choose_blocks(struct job *job) {
  const struct gemm *g = job->g;
  const int64_t cols = job->kernels->cols;
  job->height = BLOCK_ROWS;
  job->width = BLOCK_PANELS * cols;
  while (ceil_div(g->m, job->height) * ceil_div(g->n, job->width) < MIN_BLOCKS &&
         (job->height > 4 * ROWS || job->width > 4 * cols)) {
    if (job->height > 4 * ROWS) job->height /= 2;
    if (job->width > 4 * cols) job->width /= 2;
  }
  job->blocks_per_row = ceil_div(g->n, job->width);
}

/* Returns whether A stays in the cache while B is streamed, and there are enough columns of B for
 * all threads. */
static bool fits_cache(const struct job *job) {
  const struct gemm *g = job->g;
  const int64_t bytes = (g->m + ROWS) * g->k * (int64_t)situ_type_size(g->type);
  const bool fits = g->a_col == 1 || (size_t)bytes <= packed_bytes(g->type, g->m, g->n, g->k);
  return fits && bytes <= MAX_CACHED_A_BYTES &&
         ceil_div(g->n, job->kernels->cols) >= 4 * thread_pool_threads();
}

/* Each thread packs the panels of B it needs, which causes less memory traffic than run_blocks,
 * where panels are shared between blocks. A with contiguous rows is read in place: packing it would
 * need another pass and a barrier. */
static situ_status run_columns(struct job *job) {
  const union arg args[] = {{.pointer = job}};
  const struct gemm *g = job->g;
  job->k = ceil_div(g->k, ceil_div(g->k, job->kernels->depth));
  job->pack_a = g->a_col != 1;
  if (job->pack_a) TRY(thread_pool_run(rows_kernel, args, ceil_div(g->m, ROWS), 8));
  return thread_pool_run(columns_kernel, args, ceil_div(g->n, job->kernels->cols), 1);
}

static situ_status run_blocks(struct job *job) {
  const union arg args[] = {{.pointer = job}};
  const struct gemm *g = job->g;
  if (fits_cache(job)) return run_columns(job);
  /* Packing short contiguous rows costs more than it gains. */
  job->pack_a = g->k > job->kernels->depth || g->a_col != 1;
  choose_blocks(job);
  const int64_t panels =
      ceil_div(g->n, job->kernels->cols) + (job->pack_a ? ceil_div(g->m, ROWS) : 0);
  const int64_t blocks = ceil_div(g->m, job->height) * job->blocks_per_row;
  const int64_t n_passes = ceil_div(g->k, job->kernels->depth), depth = ceil_div(g->k, n_passes);
  for (job->first = 0; job->first < g->k; job->first += depth) {
    job->k = min_i64(depth, g->k - job->first);
    TRY(thread_pool_run(pack_kernel, args, panels, 4));
    TRY(thread_pool_run(block_kernel, args, blocks, 1));
  }
  return NULL;
}

static situ_status run_thin(struct job *job) {
  const union arg args[] = {{.pointer = job}};
  const struct gemm *g = job->g;
  const int64_t work = g->m * g->k; /* per column */
  if (g->b_col != 1) return thread_pool_run(dots_kernel, args, g->n, max_i64(1, 65536 / work));
  job->width = min_i64(STRIP, max_i64(64, 262144 / work / 64 * 64));
  return thread_pool_run(strip_kernel, args, ceil_div(g->n, job->width),
                         max_i64(1, 65536 / (work * job->width)));
}

situ_status gemm_run_with(const struct gemm_kernels *kernels, const struct gemm *g) {
  struct job job = {.g = g, .kernels = kernels};
  if (volume(g->m, g->n, g->k) <= MAX_TINY) return kernels->tiny(g), NULL;
  const bool is_small = volume(g->m, g->n, g->k) <= MIN_THIN;
  if (!is_small && is_thin(g)) return run_thin(&job);
  const struct gemm transposed = transpose_gemm(g);
  if (!is_small && is_thin(&transposed)) return job.g = &transposed, run_thin(&job);
  if (!packed_bytes(g->type, g->m, g->n, g->k)) return kernels->small(g), NULL;
  return run_blocks(&job);
}

static situ_status run_gemm(const struct gemm *g) {
  const struct gemm_kernels *kernels = kernels_for(g->type);
  if (!kernels) return INTERNAL("GEMM does not support type %s.", situ_type_name(g->type));
  if (g->type == SITU_FLOAT && dnn_use_gemm(g->m, g->n, g->k)) return dnn_gemm(g);
  return gemm_run_with(kernels, g);
}

static situ_status widen_kernel(const union arg *args, int64_t begin, int64_t end) {
  half_to_float((const uint16_t *)args[0].pointer + begin, (float *)args[1].pointer + begin,
                end - begin);
  return NULL;
}

static situ_status narrow_kernel(const union arg *args, int64_t begin, int64_t end) {
  half_from_float((const float *)args[0].pointer + begin, (uint16_t *)args[1].pointer + begin,
                  end - begin);
  return NULL;
}

static situ_status convert(host_kernel *kernel, const void *from, void *to, int64_t count) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)from}, {.pointer = to}};
  return thread_pool_run(kernel, args, count, CONVERT_GRAIN);
}

/* Computes in float. */
static situ_status run_half(const struct gemm *g) {
  float inline_buffer[HALF_INLINE];
  const int64_t a_count = g->m * g->k, b_count = g->k * g->n, c_count = g->m * g->n;
  const int64_t count = a_count + b_count + c_count;
  float *a = count <= HALF_INLINE ? inline_buffer : g->workspace, *b = a + a_count,
        *c = b + b_count;
  struct gemm wide = *g;
  wide.type = SITU_FLOAT;
  wide.a = a, wide.b = b, wide.c = c;
  wide.c_row = g->n, wide.c_col = 1;
  if (g->workspace)
    wide.workspace = (char *)g->workspace + round_up((size_t)count * sizeof(float), 64);
  TRY(convert(widen_kernel, g->a, a, a_count));
  TRY(convert(widen_kernel, g->b, b, b_count));
  TRY(run_gemm(&wide));
  return convert(narrow_kernel, c, g->c, c_count);
}

static void fill_zero(const struct gemm *g) {
  const size_t size = situ_type_size(g->type);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++)
      memset((char *)g->c + (size_t)(i * g->c_row + j * g->c_col) * size, 0, size);
}

situ_status gemm_run(const struct gemm *g) {
  if (g->m <= 0 || g->n <= 0) return NULL;
  if (g->k <= 0) return fill_zero(g), NULL;
  return g->type == SITU_HALF ? run_half(g) : run_gemm(g);
}
