/* SPDX-License-Identifier: Apache-2.0 */
#include "base/poly.h"

#include <stddef.h>

#include "base/scope.h"

/* ln(2)^k / k!, rounded to double. */
static const double exp2_coeff[] = {
	0x1.0000000000000p+0,
	0x1.62e42fefa39efp-1,
	0x1.ebfbdff82c58fp-3,
	0x1.c6b08d704a0c0p-5,
	0x1.3b2ab6fba4e77p-7,
	0x1.5d87fe78a6731p-10,
	0x1.430912f86c787p-13,
	0x1.ffcbfc588b0c7p-17,
	0x1.62c0223a5c824p-20,
	0x1.b5253d395e7c4p-24,
	0x1.e4cf5158b8ecap-28,
	0x1.e8cac7351bb25p-32,
	0x1.c3bd650fc2986p-36,
	0x1.816193166d0f9p-40,
};

/* 2 / (ln(2) (2k + 1)), rounded to double: log2(m) = sum of c_k t^(2k+1), t = (m - 1) / (m + 1). */
static const double log2_coeff[] = {
	0x1.71547652b82fep+1,
	0x1.ec709dc3a03fdp-1,
	0x1.2776c50ef9bfep-1,
	0x1.a61762a7aded9p-2,
	0x1.484b13d7c02a9p-2,
	0x1.0c9a84994022dp-2,
	0x1.c68f568d31760p-3,
	0x1.89f3b1694cffep-3,
	0x1.5b9ac9b743f0dp-3,
	0x1.3703c1f4d0ffep-3,
	0x1.1964ec6fc9491p-3,
	0x1.00ecd7e080215p-3,
};

static double horner(const double *coeff, size_t n, double x)
{
	double sum = coeff[n - 1];

	for (size_t i = n - 1; i-- > 0;)
		sum = sum * x + coeff[i];
	return sum;
}

double exp2_poly(double x)
{
	double scale = 1.0;

	for (; x > 0.5; x -= 1.0)
		scale *= 2.0;
	for (; x < -0.5; x += 1.0)
		scale *= 0.5;
	return horner(exp2_coeff, N_ELEMS(exp2_coeff), x) * scale;
}

double log2_poly(double x)
{
	double whole = 0.0, t;

	for (; x > 0x1.6a09e667f3bcdp+0; x *= 0.5)
		whole += 1.0;
	for (; x < 0x1.6a09e667f3bcdp-1; x *= 2.0)
		whole -= 1.0;
	t = (x - 1.0) / (x + 1.0);
	return whole + horner(log2_coeff, N_ELEMS(log2_coeff), t * t) * t;
}
