/* SPDX-License-Identifier: Apache-2.0
 * situ.h: everything, in reading order.
 *
 *   status.h   how calls report failure
 *   tensor.h   element types, shapes, tensors
 *   graph.h    building a graph
 *   gradient.h gradients of a graph
 *   device.h   devices and their memory
 *   trace.h    profiling: kernels and copies of runs
 *   session.h  running a graph; where things go and what they will need
 *   checkpoint.h tensors in files, variables of a session to files and back
 *   data.h     input pipelines
 *   eager.h    running ops eagerly
 *   distribute.h all-reduce over devices
 *   tape.h     gradients of eager calls
 *   cluster.h  several processes that compute together
 *   catalog.h  what ops there are
 *   ops.h      a function for each op, made from the catalogue
 *
 * Ownership. Functions called create, and every `**out` or `results`, give a reference that the
 * caller gives back with the matching release. Arguments are borrowed: a callee that keeps one
 * retains it. Everything else that is returned is borrowed from what it was asked of. NULL may be
 * released.
 *
 * Threads. Statuses, tensors, devices and sessions may be used from every thread; a graph from one
 * at a time while it is being built.
 */
#ifndef SITU_SITU_H
#define SITU_SITU_H

#include "situ/status.h"
#include "situ/tensor.h"
#include "situ/graph.h"
#include "situ/gradient.h"
#include "situ/device.h"
#include "situ/trace.h"
#include "situ/session.h"
#include "situ/checkpoint.h"
#include "situ/data.h"
#include "situ/eager.h"
#include "situ/distribute.h"
#include "situ/tape.h"
#include "situ/cluster.h"
#include "situ/catalog.h"
#include "situ/selftest.h"
#include "situ/ops.h"

#endif
