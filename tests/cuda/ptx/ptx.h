/* SPDX-License-Identifier: Apache-2.0
 * ptx.h: an interpreter of PTX, the language that NVRTC makes of CUDA: modules, instructions,
 * threads.
 *
 * A module is parsed once into arrays of instructions, each with the function that does it. All
 * registers, and constants, are words of a thread; every function has words of its own (there is no
 * recursion), so that a call is a jump. */
#ifndef SITU_TESTS_CUDA_PTX_H
#define SITU_TESTS_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A register. What is narrower than 64 bits lies in its low end. */
union word {
  uint64_t u64, b64;
  int64_t s64;
  uint32_t u32, b32;
  int32_t s32;
  uint16_t u16, b16;
  int16_t s16;
  uint8_t u8, b8;
  int8_t s8;
  float f32;
  double f64;
};

/* Registers that the hardware fills: the first words of every thread. */
/* clang-format off */
#define PTX_SPECIALS(X)                                                                   \
  X(TID_X, "%tid.x")                                                                      \
  X(TID_Y, "%tid.y")                                                                      \
  X(TID_Z, "%tid.z")                                                                      \
  X(NTID_X, "%ntid.x")                                                                    \
  X(NTID_Y, "%ntid.y") X(NTID_Z, "%ntid.z") X(CTAID_X, "%ctaid.x") X(CTAID_Y, "%ctaid.y") \
      X(CTAID_Z, "%ctaid.z") X(NCTAID_X, "%nctaid.x") X(NCTAID_Y, "%nctaid.y")            \
          X(NCTAID_Z, "%nctaid.z") X(LANEID, "%laneid") X(WARPID, "%warpid")
/* clang-format on */

enum {
#define SPECIAL_ENUM(name, text) SPECIAL_##name,
  PTX_SPECIALS(SPECIAL_ENUM)
#undef SPECIAL_ENUM
      N_SPECIALS
};

/* Where memory is. The address of a shared or local variable is the same in its space and as a
 * generic address, and fits 32 bits. Addresses of the device's memory are far above. */
enum ptx_space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };
#define PTX_SHARED_BASE ((uint64_t)0x5a300000)
#define PTX_LOCAL_BASE ((uint64_t)0x5b400000)
#define PTX_WINDOW ((uint64_t)0x00100000)

struct insn;
struct thread;
typedef void insn_run(struct thread *t, const struct insn *i);

enum { VECTOR_MOST = 4, CALL_ARGS = 8, CALL_DEPTH = 16, NO_WORD = -1 };

/* The copies that a call makes, in bytes of the thread's parameter memory. */
struct call {
  char name[128];
  struct function *callee;
  int n_args, has_result;
  int32_t args[CALL_ARGS], result; /* the caller's */
};

struct insn {
  insn_run *run;
  int32_t d, a, b, c;     /* words of the thread */
  int32_t v[VECTOR_MOST]; /* the elements of a vector; v[0] also the second result of setp */
  int32_t guard;          /* a predicate, or NO_WORD */
  bool unless;            /* it must be false */
  int8_t count;           /* elements of a vector */
  int8_t bytes;           /* of one element of a memory access */
  int8_t space;           /* enum ptx_space */
  int8_t mode;            /* how setp joins its third operand */
  int32_t line;           /* of the text */
  int32_t number;         /* in its function */
  int32_t target;         /* of a branch: a number of an instruction */
  int64_t offset;         /* of an address */
  struct call *call;
};

/* A constant, or the address of a variable, that a word of every thread holds. */
struct constant {
  int32_t word;
  union word value;
};

struct param {
  char name[128];
  int32_t offset, bytes; /* in the thread's parameter memory */
};

struct function {
  struct function *next;
  char name[128];
  bool is_entry, has_body, has_barrier;
  struct insn *insns;
  int n_insns;
  struct constant *constants;
  int n_constants;
  int32_t first_word, n_words;      /* of the thread's words; those of entries begin at 0 */
  int32_t first_local, local_bytes; /* of the thread's local memory */
  int32_t first_param, param_bytes;
  int32_t shared_bytes;
  struct param *params, result;
  int n_params;
  bool has_result;
};

/* A variable of the module, with what it holds at first. */
struct variable {
  struct variable *next;
  char name[128];
  size_t bytes;
  unsigned char *data;
  uint64_t address; /* on the device: whoever loads the module sets it */
};

struct module {
  struct function *functions;
  struct variable *variables;
  int32_t n_words, local_bytes, param_bytes, shared_bytes; /* a thread's, a block's */
  char error[512];
};

/* Parses a module. NULL, with `error` (512 characters) filled, where something is not understood.
 * `place` gives each variable its address. */
struct module *ptx_parse(const char *text, bool (*place)(void *context, struct variable *),
                         void *context, char *error);
void ptx_free(struct module *module);
struct function *ptx_function(const struct module *module, const char *name);

/* The function that does an opcode ("add.s32"), or NULL. */
insn_run *forms_find(const char *opcode);

/* ---- Running ---- */

enum fault_kind {
  FAULT_NONE,
  FAULT_ADDRESS, /* memory that is not the device's, or beyond an allocation */
  FAULT_ALIGNMENT,
  FAULT_RACE,
  FAULT_BARRIER, /* not all threads of a block reach it */
  FAULT_ENDLESS,
  FAULT_TRAP,
};

/* Memory of a device as the interpreter sees it. */
struct extent {
  uint64_t address;
  size_t bytes;
  unsigned char *data;
  struct shade *shades; /* who touched it, or NULL */
  unsigned from;        /* bits of the devices that may use it */
  bool is_counted;      /* against the memory of its device */
};

struct launch_context {
  const struct module *module;
  const struct function *entry;
  uint32_t grid[3], block[3];
  const void *params;
  size_t param_bytes;
  unsigned device;                          /* one bit */
  struct extent *(*find)(uint64_t address); /* whose memory an address is; or NULL */
  bool races;                               /* look for them */
  uint32_t number;                          /* of the launch, from 1 */
  enum fault_kind fault;
  char text[384]; /* what the fault was */
};

struct block {
  struct launch_context *launch;
  struct extent **near; /* per instruction of the entry: the memory it touched last */
  unsigned char *shared;
  struct shade *shades; /* of the shared memory */
  uint32_t first;       /* number of the first thread in the grid */
  uint32_t epoch;       /* barriers passed */
};

struct frame {
  const struct function *function;
  const struct insn *back;
  const struct call *call;
};

struct thread {
  union word *words;
  const struct insn *pc;
  const struct function *function;
  struct block *block;
  unsigned char *local, *param;
  struct frame frames[CALL_DEPTH];
  int depth;
  uint32_t number; /* in the grid */
  uint32_t carry;
  bool stopped;             /* ended, failed or at a barrier */
  const struct insn *waits; /* the barrier it stands at */
};

/* Runs a kernel over its grid. False where it failed: launch->fault and text say how. */
bool launch_run(struct launch_context *launch);

/* Ends the thread and the launch with a fault; the first one stays. */
void launch_fault(struct thread *t, const struct insn *i, enum fault_kind kind, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

/* ---- Races ---- */

/* Who read and wrote a byte last, in which launch and after how many barriers. */
struct touch {
  uint32_t thread, epoch; /* thread + 1; 0: nobody */
};
struct shade {
  uint32_t launch, atomic;
  struct touch writer, readers[2];
};

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

/* Notes an access to bytes; false, with the thread that it races with, where there is a race. */
bool shade_touch(struct shade *shades, size_t bytes, enum access access, const struct thread *t,
                 uint32_t *other);

#endif
