/* SPDX-License-Identifier: Apache-2.0
 * situ.h: includes the whole C API, in reading order.
 *
 *   status.h   how calls report failure
 *   tensor.h   element types, shapes, tensors
 *   message.h  protocol messages: GraphDef, tf.train.Example, ConfigProto, ...
 *   graph.h    building a graph
 *   static_value.h values that are known while a graph is built
 *   gradient.h gradients of a graph
 *   device.h   devices and their memory
 *   trace.h    profiling
 *   session.h  running a graph; placement and memory plans
 *   checkpoint.h saving and restoring tensors and variables
 *   data.h     input pipelines
 *   eager.h    running ops eagerly
 *   distribute.h all-reduce over devices
 *   tape.h     gradients of eager calls
 *   cluster.h  communication between processes
 *   catalog.h  the table of op definitions
 *   selftest.h testing a device
 *   ops.h      a function for each op, generated from the op definitions
 *
 * Ownership. Objects are reference-counted. A `create` function, and every `**out` or `results`
 * parameter, transfers a reference to the caller, who drops it with the matching `release`.
 * Arguments are borrowed: a callee that keeps one retains it. All other return values are borrowed
 * from the object they were obtained from. `release` ignores NULL.
 *
 * Threads. Statuses, tensors, devices and sessions are thread-safe; see graph.h for graphs.
 */
#ifndef SITU_SITU_H
#define SITU_SITU_H

#include "situ/status.h"
#include "situ/tensor.h"
#include "situ/message.h"
#include "situ/graph.h"
#include "situ/static_value.h"
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
