/* SPDX-License-Identifier: Apache-2.0
 * type_limits.cl: lowest and highest finite value of a type; the including file undefines them. */
#if T_IS_REAL && T_BYTES == 2
#define HIGHEST_FINITE ((C)65504)
#define LOWEST_FINITE (-(C)65504)
#elif T_IS_REAL && T_BYTES == 4
#define HIGHEST_FINITE ((C)3.40282346638528859812e+38)
#define LOWEST_FINITE (-(C)3.40282346638528859812e+38)
#define HIGHEST_BFLOAT16 ((C)3.38953138925153547590e+38)
#elif T_IS_REAL
#define HIGHEST_FINITE ((C)1.7976931348623157e+308)
#define LOWEST_FINITE (-(C)1.7976931348623157e+308)
#elif T_IS_SIGNED
#define HIGHEST_FINITE ((T) ~((u64)-1 << (8 * sizeof(T) - 1)))
#define LOWEST_FINITE ((T)((u64)-1 << (8 * sizeof(T) - 1)))
#else
#define HIGHEST_FINITE ((T)-1)
#define LOWEST_FINITE ((T)0)
#endif
