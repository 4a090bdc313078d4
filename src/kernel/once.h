/* SPDX-License-Identifier: Apache-2.0
 * once.h: includes the kernel file KERNELS for one element type and undefines the type. No include
 * guard. */
#include KERNELS
#undef T
#undef T_BYTES
#undef C
#undef T_NAME
