/* SPDX-License-Identifier: Apache-2.0
 * forms.h: the words in which instructions are written: RUN(add_s32) { D(s32) = A(s32) + B(s32); }
 */
#ifndef SITU_TESTS_CUDA_FORMS_H
#define SITU_TESTS_CUDA_FORMS_H

#include "cuda/ptx/ptx.h"

/* An opcode and what does it. Underscores of the name may stand for dots. */
struct form {
  const char *name;
  insn_run *run;
};

/* Each file's, ending in an empty row. */
extern const struct form integer_forms[], real_forms[], compare_forms[], convert_forms[],
    access_forms[], flow_forms[];

#define RUN(name) static void name(struct thread *t, const struct insn *i)
#define D(type) t->words[i->d].type
#define A(type) t->words[i->a].type
#define B(type) t->words[i->b].type
#define C(type) t->words[i->c].type
#define V0(type) t->words[i->v[0]].type

#endif
