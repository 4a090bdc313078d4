/* SPDX-License-Identifier: Apache-2.0
 * access.c: loads, stores, atomics; every address is checked. */
#include <string.h>

#include "cuda/ptx/forms.h"

static const char *const space_names[] = {"generic", "global", "shared", "local", "param"};

/* ---- Addresses ---- */

static bool within(uint64_t address, size_t bytes, uint64_t base, size_t size) {
  return address >= base && address - base <= size && bytes <= size - (address - base);
}

static void outside(struct thread *t, const struct insn *i, uint64_t address, size_t bytes) {
  launch_fault(t, i, FAULT_ADDRESS,
               "%zu bytes at 0x%llx are outside of all %s memory of the device", bytes,
               (unsigned long long)address, space_names[i->space]);
}

static void race(struct thread *t, const struct insn *i, uint64_t address, uint32_t other) {
  launch_fault(t, i, FAULT_RACE, "race at 0x%llx with thread %u", (unsigned long long)address,
               other);
}

/* Memory of the device. */
static unsigned char *global_at(struct thread *t, const struct insn *i, uint64_t address,
                                size_t bytes, enum access access) {
  struct launch_context *launch = t->block->launch;
  struct extent **near = &t->block->near[i->number];
  uint32_t other = 0;
  if (!*near || !within(address, bytes, (*near)->address, (*near)->bytes))
    *near = launch->find(address);
  struct extent *extent = *near;
  if (!extent || !within(address, bytes, extent->address, extent->bytes)) {
    outside(t, i, address, bytes);
    return NULL;
  }
  if (!(extent->from & launch->device)) {
    launch_fault(t, i, FAULT_ADDRESS, "0x%llx is memory of another device",
                 (unsigned long long)address);
    return NULL;
  }
  const size_t at = (size_t)(address - extent->address);
  if (launch->races && extent->shades &&
      !shade_touch(extent->shades + at, bytes, access, t, &other)) {
    race(t, i, address, other);
    return NULL;
  }
  return extent->data + at;
}

static unsigned char *shared_at(struct thread *t, const struct insn *i, uint64_t address,
                                size_t bytes, enum access access) {
  const struct launch_context *launch = t->block->launch;
  const size_t size = (size_t)launch->module->shared_bytes;
  uint32_t other = 0;
  if (!within(address, bytes, PTX_SHARED_BASE, size)) {
    outside(t, i, address, bytes);
    return NULL;
  }
  const size_t at = (size_t)(address - PTX_SHARED_BASE);
  if (launch->races && !shade_touch(t->block->shades + at, bytes, access, t, &other)) {
    race(t, i, address, other);
    return NULL;
  }
  return t->block->shared + at;
}

static unsigned char *local_at(struct thread *t, const struct insn *i, uint64_t address,
                               size_t bytes) {
  const struct module *module = t->block->launch->module;
  if (within(address, bytes, PTX_LOCAL_BASE, (size_t)module->local_bytes))
    return t->local + (address - PTX_LOCAL_BASE);
  outside(t, i, address, bytes);
  return NULL;
}

/* Where an access goes; NULL where it is a fault. */
static unsigned char *at(struct thread *t, const struct insn *i, size_t bytes, enum access access) {
  uint64_t address = (uint64_t)i->offset;
  if (i->space == SPACE_PARAM) return t->param + t->function->first_param + address;
  if (i->a != NO_WORD) address += A(u64);
  if (address % bytes) {
    launch_fault(t, i, FAULT_ALIGNMENT, "0x%llx is no multiple of %zu", (unsigned long long)address,
                 bytes);
    return NULL;
  }
  enum ptx_space space = (enum ptx_space)i->space;
  if (space == SPACE_GENERIC)
    space = address - PTX_SHARED_BASE < PTX_WINDOW  ? SPACE_SHARED
            : address - PTX_LOCAL_BASE < PTX_WINDOW ? SPACE_LOCAL
                                                    : SPACE_GLOBAL;
  if (space == SPACE_SHARED) return shared_at(t, i, address, bytes, access);
  if (space == SPACE_LOCAL) return local_at(t, i, address, bytes);
  return global_at(t, i, address, bytes, access);
}

/* ---- Loads and stores ---- */

#define MEMORY_TYPES(X) \
  X(u8) X(s8) X(b8) X(u16) X(s16) X(b16) X(u32) X(s32) X(b32) X(u64) X(s64) X(b64) X(f32) X(f64)

/* Extends what is narrower than a word: registers may be wider than what is loaded. */
#define EXTEND_f32(x) (x).u32
#define EXTEND_f64(x) (x).u64
#define EXTEND_OTHER(type, x) (uint64_t)(int64_t)(x).type
#define EXTEND_u8(x) EXTEND_OTHER(u8, x)
#define EXTEND_s8(x) EXTEND_OTHER(s8, x)
#define EXTEND_b8(x) EXTEND_OTHER(b8, x)
#define EXTEND_u16(x) EXTEND_OTHER(u16, x)
#define EXTEND_s16(x) EXTEND_OTHER(s16, x)
#define EXTEND_b16(x) EXTEND_OTHER(b16, x)
#define EXTEND_u32(x) EXTEND_OTHER(u32, x)
#define EXTEND_s32(x) EXTEND_OTHER(s32, x)
#define EXTEND_b32(x) EXTEND_OTHER(b32, x)
#define EXTEND_u64(x) EXTEND_OTHER(u64, x)
#define EXTEND_s64(x) EXTEND_OTHER(s64, x)
#define EXTEND_b64(x) EXTEND_OTHER(b64, x)

#define LOAD_RUN(type)                                                                          \
  RUN(ld_##type) {                                                                              \
    const size_t one = sizeof D(type);                                                          \
    const unsigned char *from = at(t, i, one * (size_t)(i->count ? i->count : 1), ACCESS_READ); \
    union word word = {0};                                                                      \
    if (!from) return;                                                                          \
    if (!i->count) {                                                                            \
      memcpy(&word, from, one);                                                                 \
      D(u64) = EXTEND_##type(word);                                                             \
    }                                                                                           \
    for (int k = 0; k < i->count; k++) {                                                        \
      memcpy(&word, from + one * (size_t)k, one);                                               \
      t->words[i->v[k]].u64 = EXTEND_##type(word);                                              \
    }                                                                                           \
  }                                                                                             \
  RUN(st_##type) {                                                                              \
    const size_t one = sizeof D(type);                                                          \
    unsigned char *to = at(t, i, one * (size_t)(i->count ? i->count : 1), ACCESS_WRITE);        \
    if (!to) return;                                                                            \
    if (!i->count) memcpy(to, &B(u64), one);                                                    \
    for (int k = 0; k < i->count; k++) memcpy(to + one * (size_t)k, &t->words[i->v[k]], one);   \
  }
MEMORY_TYPES(LOAD_RUN)

/* ---- Atomics: b is the operand, c the second one of cas ---- */

#define ATOMIC_TYPES(X, op, expr) \
  X(op, u32, expr) X(op, s32, expr) X(op, u64, expr) X(op, s64, expr)
/* clang-format off */
#define ATOMICS(X)                                                                                \
  ATOMIC_TYPES(X, add, (old + b))                                                                 \
  X(add, f32, (old + b))                                                                          \
  X(add, f64, (old + b))                                                                          \
  ATOMIC_TYPES(X, min, (old < b ? old : b))                                                       \
  ATOMIC_TYPES(X, max, (old > b ? old : b))                                                       \
  X(exch, b32, b)                                                                                 \
  X(exch, b64, b)                                                                                 \
  X(and, b32, (old & b))                                                                          \
  X(or, b32, (old | b)) X(xor, b32, (old ^ b)) X(and, b64, (old & b)) X(or, b64, (old | b))       \
      X(xor, b64, (old ^ b)) X(inc, u32, (old >= b ? 0 : old + 1))                                \
          X(dec, u32, (old == 0 || old > b ? b : old - 1)) X(cas, b32, (old == b ? C(b32) : old)) \
              X(cas, b64, (old == b ? C(b64) : old))
/* clang-format on */
#define ATOMIC_RUN(op, type, expr)                                  \
  RUN(atom_##op##_##type) {                                         \
    unsigned char *place = at(t, i, sizeof D(type), ACCESS_ATOMIC); \
    if (!place) return;                                             \
    __typeof__(D(type)) old;                                        \
    const __typeof__(D(type)) b = B(type);                          \
    memcpy(&old, place, sizeof old);                                \
    const __typeof__(D(type)) new = (__typeof__(D(type)))(expr);    \
    memcpy(place, &new, sizeof new);                                \
    if (i->d != NO_WORD) D(type) = old;                             \
  }
ATOMICS(ATOMIC_RUN)

#define MEMORY_ROW(type) {"ld." #type, ld_##type}, {"st." #type, st_##type},
#define ATOMIC_ROW(op, type, expr) {"atom." #op "." #type, atom_##op##_##type},
const struct form access_forms[] = {MEMORY_TYPES(MEMORY_ROW) ATOMICS(ATOMIC_ROW){0}};
