/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2^x and log2(x) in double by fixed polynomials, + - * / and comparisons only (2^x without /), so that any IEEE machine,
 * and a Python float script, gives the same bits (libm may not be asked for that). doc/design/0003-random-numbers.md has the
 * coefficients and the errors. Compile with -ffp-contract=off.
 */
#ifndef OLDDOG_BASE_POLY_H
#define OLDDOG_BASE_POLY_H

/* |x| <= 64; relative error below 1e-12. */
double exp2_poly(double x);
/* x in [2^-64, 2^64]; absolute error below 1e-12. */
double log2_poly(double x);

#endif
