/* SPDX-License-Identifier: Apache-2.0
 * derivative.h: gradients of element-wise ops, written as texts.
 *
 *   "dy * cos(x)"      "TanhGrad(y, dy)"      "select(x < y, 0, dz)"
 *
 * Of a call with one input, x is the input, y the output, dy what arrives at it. Of a call with
 * more, x, y, w are the inputs, z the output, dz what arrives. Operators are + - * / and
 * comparisons < <= > >= ==, with C's precedence; a number is of the type of x. A function is the op
 * of that name, where an op's name may begin with a small letter (cos: Cos). "0" alone: the
 * gradient is 0; "none" alone: there is none. */
#ifndef SITU_OPS_DERIVATIVE_H
#define SITU_OPS_DERIVATIVE_H

#include "ops/gradient.h"

/* The value of a text. */
struct term derivative_eval(struct gradient *g, const char *text);

/* Sets dx[0] of a call with one input. */
void derivative_unary(struct gradient *g, const char *dx);

/* Sets dx[0] and dx[1] of a call that broadcasts two inputs. */
void derivative_binary(struct gradient *g, const char *dx, const char *dy);

#endif
