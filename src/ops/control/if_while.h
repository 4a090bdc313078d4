/* SPDX-License-Identifier: Apache-2.0
 * if_while.h: gradient functions of If and While. */
#ifndef SITU_OPS_CONTROL_IF_WHILE_H
#define SITU_OPS_CONTROL_IF_WHILE_H

#include "ops/gradient.h"

void if_while_if_grad(struct gradient *g);
void if_while_if_grad_grad(struct gradient *g);
void if_while_while_grad(struct gradient *g);
void if_while_while_grad_grad(struct gradient *g);

#endif
