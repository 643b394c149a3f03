/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary tree that shares a sequence of draws between sources by weight, without memory of what was drawn
 * (CONTRACTS C2): of a node's draws, the n-th goes left iff floor((n + 1) L / S) > floor(n L / S), with L the weight of
 * its left side and S that of both. So at any n the left side has had floor(n L / S) draws, and the right side the rest.
 * Between two sources, any run of draws has each one's share to within 1. Among more, the roundings of a path add up,
 * each scaled by what the source has of the node: doc/design/0002-order.md has the bound and what was measured.
 */
#ifndef OLDDOG_PLAN_TREE_H
#define OLDDOG_PLAN_TREE_H

#include <stdint.h>

#include "base/scope.h"

#define TREE_WHOLE ((uint64_t)1 << 32)	/* the sum of all weights */

/* Wide enough for draws that no epoch reaches. */
typedef unsigned __int128 tree_count;

struct tree;

/*
 * Weights as integers of sum TREE_WHOLE: floor(weight / sum * 2^32) in double, and one more for those of the largest
 * remainders (the first of equals). 0, -ENOMEM, or -EINVAL when a weight is no positive number or so small that it comes
 * to 0.
 */
int tree_weights(const double *weights, unsigned n, uint64_t *ret);
/*
 * Leaves 0..n-1 of these weights, n >= 1. A node's leaves are split where both sides' weights differ least, and the side
 * with the leaf `leftmost` is the left one: of a share of 1/2 that leaf has draws 1, 3, 5 and the other 0, 2, 4.
 */
struct tree *tree_new(const uint64_t *weights, unsigned n, unsigned leftmost);
void tree_free(struct tree *t);
DEFINE_AUTO(tree);

/* Which leaf has the nth draw (from 0), and how many it has had before. */
unsigned tree_draw(const struct tree *t, uint64_t n, uint64_t *ret_nth);
/* How many of the first n draws are the leaf's. */
uint64_t tree_share(const struct tree *t, unsigned leaf, uint64_t n);
/* The smallest number of draws of which want are the leaf's (0 for 0). */
tree_count tree_until(const struct tree *t, unsigned leaf, uint64_t want);

#endif
