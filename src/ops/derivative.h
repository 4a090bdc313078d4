/* SPDX-License-Identifier: Apache-2.0
 * derivative.h: derivatives of element-wise ops, written as expressions.
 *
 *   "dy * cos(x)"      "TanhGrad(y, dy)"      "select(x < y, 0, dz)"
 *
 * With one input, x is the input, y the output and dy its gradient. With several, x, y, w are the
 * inputs, z the output and dz its gradient. Operators are + - * / and
 * comparisons < <= > >= ==, with C's precedence; numbers have the type of x. A function is the op
 * of that name, where an op's name may begin with a small letter (cos: Cos). "0" alone: the
 * gradient is 0; "none" alone: there is none. */
#ifndef SITU_OPS_DERIVATIVE_H
#define SITU_OPS_DERIVATIVE_H

#include "ops/gradient.h"

/* Emits the ops of an expression; returns its value. */
struct term derivative_eval(struct gradient *g, const char *text);

/* Sets dx[0] of a call with one input. */
void derivative_unary(struct gradient *g, const char *dx);

/* Sets dx[0] and dx[1] of a call that broadcasts two inputs. */
void derivative_binary(struct gradient *g, const char *dx, const char *dy);

#endif
