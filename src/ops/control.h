/* SPDX-License-Identifier: Apache-2.0
 * control.h: the gradients of the rows of control.c. */
#ifndef SITU_OPS_CONTROL_H
#define SITU_OPS_CONTROL_H

#include "ops/gradient.h"

void control_if_grad(struct gradient *g);
void control_if_grad_grad(struct gradient *g);
void control_while_grad(struct gradient *g);
void control_while_grad_grad(struct gradient *g);

#endif
