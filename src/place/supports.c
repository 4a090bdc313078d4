/* SPDX-License-Identifier: Apache-2.0
 * supports.c: interns kernel sets and intersects them. */
#include "place/supports.h"

#include <string.h>

enum { FIRST_ROWS = 32 };

/* Copies an array to one of twice the size; NULL when memory runs out. */
static void *double_capacity(struct arena *arena, const void *old, int32_t *capacity, size_t size) {
  const int32_t before = *capacity, after = before ? before * 2 : FIRST_ROWS;
  void *grown = arena_zero(arena, size * (size_t)after);
  if (!grown) return NULL;
  if (before) memcpy(grown, old, size * (size_t)before);
  *capacity = after;
  return grown;
}

static bool grow_kinds(struct supports *supports) {
  if (supports->n_kinds < supports->kind_capacity) return true;
  struct device_kind *grown = double_capacity(supports->arena, supports->kinds,
                                              &supports->kind_capacity, sizeof *supports->kinds);
  supports->buffer_a = ARENA_ARRAY(supports->arena, struct kernel_kind, supports->kind_capacity);
  supports->buffer_b = ARENA_ARRAY(supports->arena, struct kernel_kind, supports->kind_capacity);
  if (grown) supports->kinds = grown;
  return grown && supports->buffer_a && supports->buffer_b;
}

static int32_t find_kind(const struct supports *supports, const char *text) {
  for (int32_t i = 0; i < supports->n_kinds; i++)
    if (!strcmp(supports->kinds[i].text, text)) return i;
  return -1;
}

/* The index of a kind, added if it is new; -1: out of memory. */
static int32_t find_or_add_kind(struct supports *supports, const char *text, int priority) {
  const int32_t known = find_kind(supports, text);
  if (known >= 0) return known;
  uint64_t *mask = ARENA_ARRAY(supports->arena, uint64_t, supports->ranks->words);
  if (!mask || !grow_kinds(supports)) return -1;
  supports->kinds[supports->n_kinds] =
      (struct device_kind){.text = text, .priority = priority, .mask = mask};
  return supports->n_kinds++;
}

static bool precedes(const struct supports *supports, struct kernel_kind a, struct kernel_kind b) {
  const struct device_kind *x = &supports->kinds[a.kind], *y = &supports->kinds[b.kind];
  if (a.priority != b.priority) return a.priority > b.priority;
  return x->priority != y->priority ? x->priority > y->priority : strcmp(x->text, y->text) < 0;
}

/* Insertion sort: a kernel set has few kinds. */
static void sort(const struct supports *supports, struct kernel_kind *kinds, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    const struct kernel_kind kind = kinds[i];
    int32_t to = i;
    for (; to > 0 && precedes(supports, kind, kinds[to - 1]); to--) kinds[to] = kinds[to - 1];
    kinds[to] = kind;
  }
}

/* Removes the devices that lack a needed feature from a mask. */
static void drop_lacking(const struct supports *supports, unsigned needs, uint64_t *mask) {
  for (int need = 0; need < NEEDS_COUNT; need++)
    for (int32_t w = 0; needs >> need & 1 && w < supports->ranks->words; w++)
      mask[w] &= ~supports->lacking[need][w];
}

/* Sets the masks of a kernel set from its kinds; false when memory runs out. */
static bool fill_masks(const struct supports *supports, struct kernel_set *kernel_set) {
  const int32_t words = supports->ranks->words;
  kernel_set->all = ARENA_ARRAY(supports->arena, uint64_t, words);
  kernel_set->tiers =
      ARENA_ARRAY(supports->arena, uint64_t, (size_t)words * (size_t)kernel_set->n_kinds);
  if (!kernel_set->all || !kernel_set->tiers) return false;
  for (int32_t i = 0; i < kernel_set->n_kinds; i++) {
    if (!i || kernel_set->kinds[i].priority != kernel_set->kinds[i - 1].priority)
      kernel_set->n_tiers++;
    const uint64_t *mask = supports->kinds[kernel_set->kinds[i].kind].mask;
    for (int32_t w = 0; w < words; w++) {
      kernel_set->tiers[words * (kernel_set->n_tiers - 1) + w] |= mask[w];
      kernel_set->all[w] |= mask[w];
    }
  }
  drop_lacking(supports, kernel_set->needs, kernel_set->all);
  for (int32_t i = 0; i < kernel_set->n_tiers; i++)
    drop_lacking(supports, kernel_set->needs, kernel_set->tiers + (size_t)i * (size_t)words);
  return true;
}

static bool same_kinds(const struct kernel_kind *a, const struct kernel_kind *b, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (a[i].kind != b[i].kind || a[i].priority != b[i].priority) return false;
  return true;
}

/* The index of the kernel set with these sorted kinds; -1: out of memory. */
static int32_t intern(struct supports *supports, const struct kernel_kind *kinds, int32_t n,
                      unsigned needs) {
  for (int32_t i = 0; i < supports->n_kernel_sets; i++)
    if (supports->kernel_sets[i].n_kinds == n && supports->kernel_sets[i].needs == needs &&
        same_kinds(supports->kernel_sets[i].kinds, kinds, n))
      return i;
  if (supports->n_kernel_sets == supports->kernel_set_capacity) {
    struct kernel_set *grown =
        double_capacity(supports->arena, supports->kernel_sets, &supports->kernel_set_capacity,
                        sizeof *supports->kernel_sets);
    if (!grown) return -1;
    supports->kernel_sets = grown;
  }
  struct kernel_set *kernel_set = &supports->kernel_sets[supports->n_kernel_sets];
  *kernel_set = (struct kernel_set){.n_kinds = n, .needs = needs};
  kernel_set->kinds = ARENA_ARRAY(supports->arena, struct kernel_kind, n);
  if (!kernel_set->kinds) return -1;
  if (n) memcpy(kernel_set->kinds, kinds, sizeof *kinds * (size_t)n);
  if (!fill_masks(supports, kernel_set)) return -1;
  kernel_set->first = supports_first(supports, supports->n_kernel_sets, kernel_set->all);
  kernel_set->cause = n == 1 ? CAUSE_ONLY_KIND : CAUSE_PRIORITY;
  if (kernel_set->first >= 0 && kernel_set->first == supports->default_rank)
    kernel_set->cause = CAUSE_DEFAULT;
  return supports->n_kernel_sets++;
}

situ_status supports_create(const struct place_problem *problem, const struct ranks *ranks,
                            struct arena *arena, struct supports *out) {
  *out = (struct supports){.problem = problem, .ranks = ranks, .arena = arena};
  out->default_rank = problem->default_device < 0 ? -1 : ranks->rank[problem->default_device];
  for (int need = 0; need < NEEDS_COUNT; need++)
    out->lacking[need] = ARENA_ARRAY(arena, uint64_t, ranks->words);
  if (arena->failed) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_devices; i++) {
    const struct place_device *device = &problem->devices[i];
    const int32_t kind = find_or_add_kind(out, device->name.kind, device->priority);
    if (kind < 0) return NO_MEMORY();
    out->kinds[kind].present = true;
    ranks_add(out->kinds[kind].mask, ranks->rank[i]);
    for (int need = 0; need < NEEDS_COUNT; need++)
      if (device->lacks >> need & 1) ranks_add(out->lacking[need], ranks->rank[i]);
  }
  return intern(out, NULL, 0, 0) < 0 ? NO_MEMORY() : NULL;
}

static bool has_kind(const struct kernel_kind *kinds, int32_t n, int32_t kind) {
  for (int32_t i = 0; i < n; i++)
    if (kinds[i].kind == kind) return true;
  return false;
}

int32_t supports_intern(struct supports *supports, const struct place_support *support) {
  struct kernel_kind *kinds = supports->buffer_a;
  int32_t n = 0;
  for (int32_t i = 0; i < support->count; i++) {
    const int32_t kind = find_kind(supports, support->kernels[i].kind);
    if (kind < 0 || !supports->kinds[kind].present || has_kind(kinds, n, kind)) continue;
    kinds[n++] = (struct kernel_kind){kind, support->kernels[i].priority};
  }
  sort(supports, kinds, n);
  return intern(supports, kinds, n, support->needs);
}

int32_t supports_any(struct supports *supports, const char *kind) {
  int32_t n = 0;
  const int32_t number = kind ? find_or_add_kind(supports, kind, -1) : 0;
  if (number < 0) return -1;
  if (kind) supports->buffer_a[n++] = (struct kernel_kind){number, 0};
  for (int32_t i = 0; !kind && i < supports->n_kinds; i++)
    if (supports->kinds[i].present) supports->buffer_a[n++] = (struct kernel_kind){i, 0};
  sort(supports, supports->buffer_a, n);
  return intern(supports, supports->buffer_a, n, 0);
}

/* Copies the kinds of `from` that `with` has too, in the order of `from`. */
static int32_t intersect(const struct kernel_set *from, const struct kernel_set *with,
                         struct kernel_kind *out) {
  int32_t n = 0;
  for (int32_t i = 0; i < from->n_kinds; i++)
    for (int32_t j = 0; j < with->n_kinds; j++)
      if (from->kinds[i].kind == with->kinds[j].kind) out[n++] = from->kinds[i];
  return n;
}

static bool has_priorities(const struct kernel_kind *kinds, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (kinds[i].priority) return true;
  return false;
}

int32_t supports_intersect(struct supports *supports, int32_t a, int32_t b) {
  if (a == b || a < 0 || b < 0) return a < b ? a : b;
  struct kernel_kind *a_kinds = supports->buffer_a, *b_kinds = supports->buffer_b;
  const int32_t n = intersect(&supports->kernel_sets[a], &supports->kernel_sets[b], a_kinds);
  intersect(&supports->kernel_sets[b], &supports->kernel_sets[a], b_kinds);
  const unsigned needs = supports->kernel_sets[a].needs | supports->kernel_sets[b].needs;
  if (!has_priorities(b_kinds, n)) return intern(supports, a_kinds, n, needs);
  if (!has_priorities(a_kinds, n)) return intern(supports, b_kinds, n, needs);
  bool agree = true;
  for (int32_t i = 0; i < n; i++) agree = agree && a_kinds[i].kind == b_kinds[i].kind;
  if (agree) return intern(supports, a_kinds, n, needs);
  for (int32_t i = 0; i < n; i++) a_kinds[i].priority = 0;
  sort(supports, a_kinds, n);
  return intern(supports, a_kinds, n, needs);
}

int32_t supports_first(const struct supports *supports, int32_t kernel_set, const uint64_t *mask) {
  const struct kernel_set *of = &supports->kernel_sets[kernel_set];
  const int32_t default_rank = supports->default_rank;
  if (default_rank >= 0 && ranks_hold(mask, default_rank) && ranks_hold(of->all, default_rank))
    return default_rank;
  for (int32_t i = 0; i < of->n_tiers; i++) {
    const uint64_t *tier = of->tiers + (size_t)i * (size_t)supports->ranks->words;
    const int32_t first = ranks_first(supports->ranks, tier, mask);
    if (first >= 0) return first;
  }
  return -1;
}

bool supports_kind(const struct supports *supports, int32_t kernel_set, const char *kind) {
  const struct kernel_set *of = &supports->kernel_sets[kernel_set];
  for (int32_t i = 0; i < of->n_kinds; i++)
    if (!strcmp(supports->kinds[of->kinds[i].kind].text, kind)) return true;
  return false;
}
