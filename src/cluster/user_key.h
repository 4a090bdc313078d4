/* SPDX-License-Identifier: Apache-2.0
 * user_key.h: a secret of the user that all processes of a machine share. */
#ifndef SITU_CLUSTER_USER_KEY_H
#define SITU_CLUSTER_USER_KEY_H

#include "base/base.h"

enum { USER_KEY_BYTES = 32 };

/* Reads the secret from .cache/situ/cluster-key in the home folder of the user, and creates it
 * there if it does not exist. Returns false if that is not possible, or if another user owns or can
 * read the file. */
bool user_key_read(unsigned char key[USER_KEY_BYTES]);

#endif
