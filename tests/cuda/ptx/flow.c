/* SPDX-License-Identifier: Apache-2.0
 * flow.c: branches, calls, barriers; and the table of all instructions. */
#include <string.h>

#include "cuda/ptx/forms.h"

RUN(branch) { t->pc = t->function->insns + i->target; }

RUN(call) {
  const struct call *call = i->call;
  const struct function *callee = call->callee;
  if (t->depth == CALL_DEPTH) {
    launch_fault(t, i, FAULT_TRAP, "calls are nested too deep");
    return;
  }
  for (int k = 0; k < call->n_args; k++)
    memcpy(t->param + callee->first_param + callee->params[k].offset,
           t->param + t->function->first_param + call->args[k], (size_t)callee->params[k].bytes);
  t->frames[t->depth++] = (struct frame){t->function, t->pc, call};
  t->function = callee;
  t->pc = callee->insns;
}

RUN(back) {
  (void)i;
  if (!t->depth) {
    t->stopped = true;
    return;
  }
  const struct frame frame = t->frames[--t->depth];
  const struct function *callee = t->function;
  if (frame.call->has_result)
    memcpy(t->param + frame.function->first_param + frame.call->result,
           t->param + callee->first_param + callee->result.offset, (size_t)callee->result.bytes);
  t->function = frame.function;
  t->pc = frame.back;
}

RUN(leave) {
  (void)i;
  t->depth = 0;
  t->stopped = true;
}

RUN(barrier) {
  t->waits = i;
  t->stopped = true;
}

RUN(trap) { launch_fault(t, i, FAULT_TRAP, "trap"); }

/* What orders memory: threads run one after another, so there is nothing to do. */
RUN(fence) {
  (void)t;
  (void)i;
}

const struct form flow_forms[] = {{"bra", branch},
                                  {"call", call},
                                  {"ret", back},
                                  {"exit", leave},
                                  {"bar.sync", barrier},
                                  {"barrier.sync", barrier},
                                  {"trap", trap},
                                  {"membar", fence},
                                  {"fence", fence},
                                  {"bar.warp.sync", fence},
                                  {0}};

/* ---- Look-up ---- */

/* A name of a table may have an underscore for a dot. */
static bool same(const char *row, const char *opcode) {
  while (*row && (*row == *opcode || (*row == '_' && *opcode == '.'))) row++, opcode++;
  return *row == *opcode;
}

insn_run *forms_find(const char *opcode) {
  const struct form *const tables[] = {integer_forms, real_forms,   compare_forms,
                                       convert_forms, access_forms, flow_forms};
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
    for (const struct form *row = tables[k]; row->name; row++)
      if (same(row->name, opcode)) return row->run;
  return NULL;
}
