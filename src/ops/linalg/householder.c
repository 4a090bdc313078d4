/* SPDX-License-Identifier: Apache-2.0
 * householder.c: reductions of dense matrices by Householder reflections. */
#include "ops/linalg/householder.h"

#include "base/interrupt.h"

#define ALGORITHMS "ops/linalg/householder_steps.h"
#include "ops/linalg/elements.h"
