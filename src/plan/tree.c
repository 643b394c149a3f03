/* SPDX-License-Identifier: Apache-2.0 */
/* Shares by weight as arithmetic: down the tree for a draw, up the tree for when a source will have had its share. */
#include "plan/tree.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>

struct node {
	unsigned first, mid, end;	/* leaves first..mid-1 on one side, mid..end-1 on the other; a leaf is one */
	bool upper_left;		/* whether mid..end-1 are the left side */
	uint32_t left, right;		/* nodes */
	uint32_t parent;
	uint64_t weight_left, weight;
};

/* Parents come before their children; the node of leaf i is at[i]. */
struct tree {
	unsigned n_nodes;
	uint32_t *at;
	struct node nodes[];
};

static double sum_of(const double *weights, unsigned n)
{
	double sum = 0.0;

	for (unsigned i = 0; i < n; i++)
		sum += weights[i];
	return sum;
}

/* The largest remainder that was not served yet; served ones are below 0. */
static unsigned largest(const double *rest, unsigned n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++)
		if (rest[i] > rest[best])
			best = i;
	return best;
}

int tree_weights(const double *weights, unsigned n, uint64_t *ret)
{
	double sum = sum_of(weights, n);
	AUTO_FREE double *rest = mem_calloc(n, sizeof(*rest));
	uint64_t left = TREE_WHOLE;

	if (!rest)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		if (!(weights[i] > 0.0) || !(sum < INFINITY))
			return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		double exact = weights[i] / sum * (double)TREE_WHOLE;

		ret[i] = (uint64_t)exact;
		rest[i] = exact - (double)ret[i];
		left -= ret[i];
	}
	/* The remainders are below 1 each and add up to left, but for rounding: fewer than n are served. */
	assert(left <= n);
	for (; left > 0; left--) {
		unsigned i = largest(rest, n);

		ret[i]++;
		rest[i] = -1.0;
	}
	for (unsigned i = 0; i < n; i++)
		if (ret[i] == 0)
			return -EINVAL;
	return 0;
}

/* Where to split leaves first..end-1 so that the sides' weights differ least; the first such place. */
static unsigned split_at(const uint64_t *weights, const struct node *node)
{
	uint64_t best = UINT64_MAX, left = 0;
	unsigned mid = node->first + 1;

	for (unsigned i = node->first + 1; i < node->end; i++) {
		uint64_t twice = 2 * (left += weights[i - 1]);
		uint64_t differ = twice > node->weight ? twice - node->weight : node->weight - twice;

		if (differ < best) {
			best = differ;
			mid = i;
		}
	}
	return mid;
}

static uint32_t add_node(struct tree *t, const uint64_t *weights, uint32_t parent, unsigned first, unsigned end)
{
	struct node *node = &t->nodes[t->n_nodes];

	*node = (struct node){.first = first, .mid = end, .end = end, .parent = parent};
	for (unsigned i = first; i < end; i++)
		node->weight += weights[i];
	if (end - first == 1)
		t->at[first] = t->n_nodes;
	return t->n_nodes++;
}

static void split(struct tree *t, const uint64_t *weights, unsigned leftmost, uint32_t number)
{
	struct node *node = &t->nodes[number];
	uint32_t lower, upper;

	node->mid = split_at(weights, node);
	lower = add_node(t, weights, number, node->first, node->mid);
	upper = add_node(t, weights, number, node->mid, node->end);
	node->upper_left = leftmost >= node->mid && leftmost < node->end;
	node->left = node->upper_left ? upper : lower;
	node->right = node->upper_left ? lower : upper;
	node->weight_left = t->nodes[node->left].weight;
}

struct tree *tree_new(const uint64_t *weights, unsigned n, unsigned leftmost)
{
	AUTO(tree) struct tree *t = mem_zalloc(sizeof(*t) + (2 * (size_t)n - 1) * sizeof(t->nodes[0]));

	if (!t)
		return NULL;
	t->at = mem_calloc(n, sizeof(*t->at));
	if (!t->at)
		return NULL;
	add_node(t, weights, 0, 0, n);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].end - t->nodes[i].first > 1)
			split(t, weights, leftmost, i);
	return TAKE(t);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	mem_free(t->at);
	mem_free(t);
}

static bool on_left(const struct node *node, unsigned leaf)
{
	return (leaf >= node->mid) == node->upper_left;
}

/* floor(n L / S) without a wider product: n = q S + r, and r L is below 2^64. */
static uint64_t left_of(const struct node *node, uint64_t n)
{
	return n / node->weight * node->weight_left + n % node->weight * node->weight_left / node->weight;
}

unsigned tree_draw(const struct tree *t, uint64_t n, uint64_t *ret_nth)
{
	const struct node *node = t->nodes;

	while (node->end - node->first > 1) {
		uint64_t left = left_of(node, n);

		if (left_of(node, n + 1) > left) {
			n = left;
			node = &t->nodes[node->left];
		} else {
			n -= left;
			node = &t->nodes[node->right];
		}
	}
	*ret_nth = n;
	return node->first;
}

uint64_t tree_share(const struct tree *t, unsigned leaf, uint64_t n)
{
	const struct node *node = t->nodes;

	while (node->end - node->first > 1) {
		uint64_t left = left_of(node, n);

		n = on_left(node, leaf) ? left : n - left;
		node = &t->nodes[on_left(node, leaf) ? node->left : node->right];
	}
	return n;
}

/*
 * Upwards: the left side has had c draws of n first when n = ceil(c S / L), the right side when n = floor((c - 1) S / R)
 * + 1. The quotients of a path multiply to 2^32 at most, so that 2^62 wanted stay below 2^95, and times S below 2^127.
 */
tree_count tree_until(const struct tree *t, unsigned leaf, uint64_t want)
{
	const struct node *node = &t->nodes[t->at[leaf]];
	tree_count n = want;

	while (node != t->nodes && n > 0) {
		const struct node *up = &t->nodes[node->parent];

		if (on_left(up, leaf))
			n = (n * up->weight + up->weight_left - 1) / up->weight_left;
		else
			n = (n - 1) * up->weight / (up->weight - up->weight_left) + 1;
		node = up;
	}
	return n;
}
