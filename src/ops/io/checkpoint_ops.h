/* SPDX-License-Identifier: Apache-2.0
 * checkpoint_ops.h: interface between the checkpoint ops and api/, which fills the table. */
#ifndef SITU_OPS_IO_CHECKPOINT_OPS_H
#define SITU_OPS_IO_CHECKPOINT_OPS_H

#include "situ/checkpoint.h"

struct checkpoint_table {
  /* Writes tensors to a checkpoint and replaces an existing one. */
  situ_status (*write)(const char *prefix, const situ_named *tensors, int count);
  /* Reads tensors by name; on failure all results are NULL. */
  situ_status (*read)(const char *prefix, const char *const *names, int count,
                      situ_tensor **results);
};
extern const struct checkpoint_table checkpoint_table;

#endif
