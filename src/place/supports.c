/* SPDX-License-Identifier: Apache-2.0
 * supports.c: rows of kinds and kernel priorities, and what two rows have in common. */
#include "place/supports.h"

#include <string.h>

enum { FIRST_ROWS = 32 };

/* An array of twice the size with the old elements in it; NULL without memory. */
static void *twice(struct arena *arena, const void *old, int32_t *capacity, size_t size) {
  const int32_t before = *capacity, after = before ? before * 2 : FIRST_ROWS;
  void *grown = arena_zero(arena, size * (size_t)after);
  if (!grown) return NULL;
  if (before) memcpy(grown, old, size * (size_t)before);
  *capacity = after;
  return grown;
}

static bool grow_kinds(struct supports *supports) {
  if (supports->n_kinds < supports->kind_capacity) return true;
  struct support_text *grown =
      twice(supports->arena, supports->kinds, &supports->kind_capacity, sizeof *supports->kinds);
  supports->mine = ARENA_ARRAY(supports->arena, struct support_kind, supports->kind_capacity);
  supports->theirs = ARENA_ARRAY(supports->arena, struct support_kind, supports->kind_capacity);
  if (grown) supports->kinds = grown;
  return grown && supports->mine && supports->theirs;
}

static int32_t find_kind(const struct supports *supports, const char *text) {
  for (int32_t i = 0; i < supports->n_kinds; i++)
    if (!strcmp(supports->kinds[i].text, text)) return i;
  return -1;
}

/* The number of a kind, new where nobody named it before; -1 without memory. */
static int32_t need_kind(struct supports *supports, const char *text, int priority) {
  const int32_t known = find_kind(supports, text);
  if (known >= 0) return known;
  uint64_t *mask = ARENA_ARRAY(supports->arena, uint64_t, supports->ranks->words);
  if (!mask || !grow_kinds(supports)) return -1;
  supports->kinds[supports->n_kinds] =
      (struct support_text){.text = text, .priority = priority, .mask = mask};
  return supports->n_kinds++;
}

static bool goes_before(const struct supports *supports, struct support_kind a,
                        struct support_kind b) {
  const struct support_text *x = &supports->kinds[a.kind], *y = &supports->kinds[b.kind];
  if (a.priority != b.priority) return a.priority > b.priority;
  return x->priority != y->priority ? x->priority > y->priority : strcmp(x->text, y->text) < 0;
}

/* By insertion: a row has a handful of kinds. */
static void sort(const struct supports *supports, struct support_kind *kinds, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    const struct support_kind moving = kinds[i];
    int32_t to = i;
    for (; to > 0 && goes_before(supports, moving, kinds[to - 1]); to--) kinds[to] = kinds[to - 1];
    kinds[to] = moving;
  }
}

/* Takes the devices that lack what a row needs out of a mask. */
static void drop_lacking(const struct supports *supports, unsigned needs, uint64_t *mask) {
  for (int need = 0; need < NEEDS_COUNT; need++)
    for (int32_t w = 0; needs >> need & 1 && w < supports->ranks->words; w++)
      mask[w] &= ~supports->lacking[need][w];
}

/* Fills the masks of a row whose kinds are set; false without memory. */
static bool fill_masks(const struct supports *supports, struct support_row *row) {
  const int32_t words = supports->ranks->words;
  row->all = ARENA_ARRAY(supports->arena, uint64_t, words);
  row->tiers = ARENA_ARRAY(supports->arena, uint64_t, (size_t)words * (size_t)row->n_kinds);
  if (!row->all || !row->tiers) return false;
  for (int32_t i = 0; i < row->n_kinds; i++) {
    if (!i || row->kinds[i].priority != row->kinds[i - 1].priority) row->n_tiers++;
    const uint64_t *mask = supports->kinds[row->kinds[i].kind].mask;
    for (int32_t w = 0; w < words; w++) {
      row->tiers[words * (row->n_tiers - 1) + w] |= mask[w];
      row->all[w] |= mask[w];
    }
  }
  drop_lacking(supports, row->needs, row->all);
  for (int32_t i = 0; i < row->n_tiers; i++)
    drop_lacking(supports, row->needs, row->tiers + (size_t)i * (size_t)words);
  return true;
}

static bool same_kinds(const struct support_kind *a, const struct support_kind *b, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (a[i].kind != b[i].kind || a[i].priority != b[i].priority) return false;
  return true;
}

/* The number of the row with these kinds, which are sorted; -1 without memory. */
static int32_t intern(struct supports *supports, const struct support_kind *kinds, int32_t n,
                      unsigned needs) {
  for (int32_t i = 0; i < supports->n_rows; i++)
    if (supports->rows[i].n_kinds == n && supports->rows[i].needs == needs &&
        same_kinds(supports->rows[i].kinds, kinds, n))
      return i;
  if (supports->n_rows == supports->row_capacity) {
    struct support_row *grown =
        twice(supports->arena, supports->rows, &supports->row_capacity, sizeof *supports->rows);
    if (!grown) return -1;
    supports->rows = grown;
  }
  struct support_row *row = &supports->rows[supports->n_rows];
  *row = (struct support_row){.n_kinds = n, .needs = needs};
  row->kinds = ARENA_ARRAY(supports->arena, struct support_kind, n);
  if (!row->kinds) return -1;
  if (n) memcpy(row->kinds, kinds, sizeof *kinds * (size_t)n);
  if (!fill_masks(supports, row)) return -1;
  row->first = supports_first(supports, supports->n_rows, row->all);
  row->cause = n == 1 ? CAUSE_ONLY_KIND : CAUSE_PRIORITY;
  if (row->first >= 0 && row->first == supports->default_rank) row->cause = CAUSE_DEFAULT;
  return supports->n_rows++;
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
    const int32_t kind = need_kind(out, device->name.kind, device->priority);
    if (kind < 0) return NO_MEMORY();
    out->kinds[kind].present = true;
    ranks_add(out->kinds[kind].mask, ranks->rank[i]);
    for (int need = 0; need < NEEDS_COUNT; need++)
      if (device->lacks >> need & 1) ranks_add(out->lacking[need], ranks->rank[i]);
  }
  return intern(out, NULL, 0, 0) < 0 ? NO_MEMORY() : NULL;
}

static bool has_kind(const struct support_kind *kinds, int32_t n, int32_t kind) {
  for (int32_t i = 0; i < n; i++)
    if (kinds[i].kind == kind) return true;
  return false;
}

int32_t supports_row(struct supports *supports, const struct place_support *support) {
  struct support_kind *kinds = supports->mine;
  int32_t n = 0;
  for (int32_t i = 0; i < support->count; i++) {
    const int32_t kind = find_kind(supports, support->kernels[i].kind);
    if (kind < 0 || !supports->kinds[kind].present || has_kind(kinds, n, kind)) continue;
    kinds[n++] = (struct support_kind){kind, support->kernels[i].priority};
  }
  sort(supports, kinds, n);
  return intern(supports, kinds, n, support->needs);
}

int32_t supports_any(struct supports *supports, const char *kind) {
  int32_t n = 0;
  const int32_t number = kind ? need_kind(supports, kind, -1) : 0;
  if (number < 0) return -1;
  if (kind) supports->mine[n++] = (struct support_kind){number, 0};
  for (int32_t i = 0; !kind && i < supports->n_kinds; i++)
    if (supports->kinds[i].present) supports->mine[n++] = (struct support_kind){i, 0};
  sort(supports, supports->mine, n);
  return intern(supports, supports->mine, n, 0);
}

/* Copies the kinds of `from` that `with` has too, in the order of `from`. */
static int32_t common(const struct support_row *from, const struct support_row *with,
                      struct support_kind *out) {
  int32_t n = 0;
  for (int32_t i = 0; i < from->n_kinds; i++)
    for (int32_t j = 0; j < with->n_kinds; j++)
      if (from->kinds[i].kind == with->kinds[j].kind) out[n++] = from->kinds[i];
  return n;
}

static bool has_priorities(const struct support_kind *kinds, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (kinds[i].priority) return true;
  return false;
}

int32_t supports_meet(struct supports *supports, int32_t a, int32_t b) {
  if (a == b || a < 0 || b < 0) return a < b ? a : b;
  struct support_kind *mine = supports->mine, *theirs = supports->theirs;
  const int32_t n = common(&supports->rows[a], &supports->rows[b], mine);
  common(&supports->rows[b], &supports->rows[a], theirs);
  const unsigned needs = supports->rows[a].needs | supports->rows[b].needs;
  if (!has_priorities(theirs, n)) return intern(supports, mine, n, needs);
  if (!has_priorities(mine, n)) return intern(supports, theirs, n, needs);
  bool agree = true;
  for (int32_t i = 0; i < n; i++) agree = agree && mine[i].kind == theirs[i].kind;
  if (agree) return intern(supports, mine, n, needs);
  for (int32_t i = 0; i < n; i++) mine[i].priority = 0;
  sort(supports, mine, n);
  return intern(supports, mine, n, needs);
}

int32_t supports_first(const struct supports *supports, int32_t row, const uint64_t *mask) {
  const struct support_row *of = &supports->rows[row];
  const int32_t preset = supports->default_rank;
  if (preset >= 0 && ranks_hold(mask, preset) && ranks_hold(of->all, preset)) return preset;
  for (int32_t i = 0; i < of->n_tiers; i++) {
    const uint64_t *tier = of->tiers + (size_t)i * (size_t)supports->ranks->words;
    const int32_t first = ranks_first(supports->ranks, tier, mask);
    if (first >= 0) return first;
  }
  return -1;
}

bool supports_kind(const struct supports *supports, int32_t row, const char *kind) {
  const struct support_row *of = &supports->rows[row];
  for (int32_t i = 0; i < of->n_kinds; i++)
    if (!strcmp(supports->kinds[of->kinds[i].kind].text, kind)) return true;
  return false;
}
