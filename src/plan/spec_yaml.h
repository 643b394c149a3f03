/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as a small tree, for plan/spec*.c only. libyaml's events, bounded: at most SPEC_MAX_BYTES,
 * SPEC_MAX_DEPTH deep, SPEC_MAX_NODES nodes, SPEC_MAX_KEYS keys in one mapping; UTF-8, one document; no
 * anchors, aliases, tags or NUL, no key twice. So a tree costs no more than its text, whatever the text is.
 */
#ifndef OLDDOG_PLAN_SPEC_YAML_H
#define OLDDOG_PLAN_SPEC_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define SPEC_MAX_DEPTH 16u
#define SPEC_MAX_NODES 100000u
#define SPEC_MAX_KEYS 256u
#define SPEC_MAX_PATH 4096u

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct spec_node {
	enum node_kind kind;
	unsigned line;			/* of its key when it has one; from 1 */
	struct str key;			/* when its parent is a mapping */
	struct str text;		/* NODE_SCALAR; a NUL follows, none is inside */
	bool plain;			/* NODE_SCALAR: not quoted */
	struct spec_node *next, *first, *last;
	unsigned n;			/* children */
};

/* What one parse needs everywhere: the name that words begin with, memory, and where words go. */
struct spec_in {
	const char *name;
	struct arena arena;		/* of trees */
	struct err *e;
};

void spec_in_init(struct spec_in *in, const char *name, struct err *e);
void spec_in_release(struct spec_in *in);

/* "NAME:LINE: words". Returns E_SPEC. */
int spec_refuse(struct spec_in *in, unsigned line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The tree lives as long as in. E_SPEC with words, -ENOMEM. */
int spec_tree(struct spec_in *in, const char *text, size_t n, struct spec_node **ret);

/* Nothing, "~" or "null", not quoted. */
bool spec_node_null(const struct spec_node *n);
/* The child of that key, or NULL. */
const struct spec_node *spec_node_find(const struct spec_node *map, const char *key);

/* For words: text in grave accents without control characters, cut to what a line can hold; or "a list", ... */
struct spec_shown {
	char text[64];
};
struct spec_shown spec_show(struct str s);
struct spec_shown spec_show_node(const struct spec_node *n);

/* The offset of the first byte that is not UTF-8; n when there is none. */
size_t spec_utf8_end(const char *p, size_t n);

#define SPEC_NODE_EACH(c, parent) for (const struct spec_node *c = (parent)->first; c; c = c->next)
#define AUTO_SPEC_IN CLEANUP(spec_in_release)

#endif
