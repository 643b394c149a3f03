/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events into a bounded tree. */
#include "plan/spec_yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/scope.h"
#include "plan/spec.h"

#define TREE_BYTES (64u << 20) /* more than SPEC_MAX_NODES nodes and SPEC_MAX_BYTES of text */

void spec_in_init(struct spec_in *in, const char *name, struct err *e)
{
	*in = (struct spec_in){.name = name, .e = e};
	arena_init(&in->arena, TREE_BYTES);
}

void spec_in_release(struct spec_in *in)
{
	arena_release(&in->arena);
}

int spec_refuse(struct spec_in *in, unsigned line, const char *fmt, ...)
{
	char words[sizeof(in->e->words)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	return err_set(in->e, E_SPEC, "%s:%u: %s", in->name, line, words);
}

size_t spec_utf8_end(const char *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t len = str_utf8_length((struct str){p + at, n - at});

		if (len == 0)
			break;
		at += len;
	}
	return at;
}

struct spec_shown spec_show(struct str s)
{
	struct spec_shown ret = {"`"};
	size_t room = sizeof(ret.text) - sizeof("``"), n;

	str_printable(s, ret.text + 1, room + 1);
	n = strlen(ret.text);
	ret.text[n] = '`';
	ret.text[n + 1] = '\0';
	return ret;
}

struct spec_shown spec_show_node(const struct spec_node *n)
{
	if (n->kind == NODE_LIST)
		return (struct spec_shown){"a list"};
	if (n->kind == NODE_MAP)
		return (struct spec_shown){"a mapping"};
	return spec_node_null(n) ? (struct spec_shown){"empty"} : spec_show(n->text);
}

bool spec_node_null(const struct spec_node *n)
{
	return n->kind == NODE_SCALAR && n->plain &&
	       (n->text.n == 0 || str_eq(n->text, "~") || str_eq(n->text, "null"));
}

const struct spec_node *spec_node_find(const struct spec_node *map, const char *key)
{
	SPEC_NODE_EACH(c, map)
	{
		if (str_eq(c->key, key))
			return c;
	}
	return NULL;
}

/* The tree while it grows: the open lists and mappings, and a key that waits for its value. */
struct tree {
	struct spec_in *in;
	struct spec_node *open[SPEC_MAX_DEPTH], *root;
	unsigned depth, n_nodes;
	bool has_key;
	struct str key;
	unsigned key_line;
};

static unsigned line_of(const yaml_event_t *ev)
{
	return (unsigned)ev->start_mark.line + 1;
}

static struct spec_node *tree_top(struct tree *t)
{
	return t->depth ? t->open[t->depth - 1] : NULL;
}

static bool wants_key(struct tree *t)
{
	return t->depth && tree_top(t)->kind == NODE_MAP && !t->has_key;
}

static int take_key(struct tree *t, const yaml_event_t *ev, struct str key)
{
	struct spec_node *map = tree_top(t);
	const struct spec_node *twin = NULL;

	SPEC_NODE_EACH(c, map)
	{
		if (str_equal(c->key, key))
			twin = c;
	}
	if (twin)
		return spec_refuse(t->in, line_of(ev),
			"%s stands here a second time, after line %u; keep one", spec_show(key).text,
			twin->line);
	if (map->n >= SPEC_MAX_KEYS)
		return spec_refuse(t->in, line_of(ev), "more than %u keys in one mapping", SPEC_MAX_KEYS);
	t->has_key = true;
	t->key = key;
	t->key_line = line_of(ev);
	return 0;
}

static int attach(struct tree *t, const yaml_event_t *ev, enum node_kind kind, struct spec_node **ret)
{
	struct spec_node *parent = tree_top(t), *n;

	if (wants_key(t))
		return spec_refuse(t->in, line_of(ev), "a key must be plain text, not a list or a mapping");
	if (t->n_nodes++ >= SPEC_MAX_NODES)
		return spec_refuse(
			t->in, line_of(ev), "more than %u values; a spec is small", SPEC_MAX_NODES);
	n = arena_alloc(&t->in->arena, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct spec_node){.kind = kind, .line = line_of(ev)};
	if (t->has_key) {
		n->key = t->key;
		n->line = t->key_line;
		t->has_key = false;
	}
	if (!parent)
		t->root = n;
	else if (parent->last)
		parent->last->next = n;
	else
		parent->first = n;
	if (parent) {
		parent->last = n;
		parent->n++;
	}
	*ret = n;
	return 0;
}

static int on_scalar(struct tree *t, const yaml_event_t *ev)
{
	const char *p = (const char *)ev->data.scalar.value;
	struct str text = {NULL, ev->data.scalar.length};
	struct spec_node *n;
	int r;

	if (memchr(p, '\0', text.n))
		return spec_refuse(t->in, line_of(ev), "a text with a NUL in it");
	text.p = arena_strndup(&t->in->arena, p, text.n);
	if (!text.p)
		return -ENOMEM;
	if (wants_key(t))
		return take_key(t, ev, text);
	r = attach(t, ev, NODE_SCALAR, &n);
	if (r < 0)
		return r;
	n->text = text;
	n->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int on_open(struct tree *t, const yaml_event_t *ev, enum node_kind kind)
{
	struct spec_node *n;
	int r = attach(t, ev, kind, &n);

	if (r < 0)
		return r;
	if (t->depth >= SPEC_MAX_DEPTH)
		return spec_refuse(t->in, line_of(ev), "nested deeper than %u", SPEC_MAX_DEPTH);
	t->open[t->depth++] = n;
	return 0;
}

static int refuse_reuse(struct tree *t, const yaml_event_t *ev)
{
	return spec_refuse(t->in, line_of(ev),
		"anchors and aliases (& and *) are refused, since a few lines of them can "
		"stand for gigabytes; write the value out, or quote a text that begins with & or *");
}

static bool has_anchor(const yaml_event_t *ev)
{
	return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor) ||
	       (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.anchor) ||
	       (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.anchor);
}

static bool has_tag(const yaml_event_t *ev)
{
	return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.tag) ||
	       (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.tag) ||
	       (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.tag);
}

static int on_event(struct tree *t, const yaml_event_t *ev)
{
	if (ev->type == YAML_ALIAS_EVENT || has_anchor(ev))
		return refuse_reuse(t, ev);
	if (has_tag(ev))
		return spec_refuse(t->in, line_of(ev),
			"tags (words that begin with !) are refused; leave it out, or quote it");
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return t->root ? spec_refuse(t->in, line_of(ev), "a second document; a spec is one") : 0;
	case YAML_SCALAR_EVENT:
		return on_scalar(t, ev);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(t, ev, NODE_LIST);
	case YAML_MAPPING_START_EVENT:
		return on_open(t, ev, NODE_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		t->depth--;
		return 0;
	default:
		return 0;
	}
}

static unsigned line_at(const char *text, size_t offset)
{
	unsigned line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static bool tab_begins_line(const char *text, size_t n, unsigned line)
{
	struct str rest = {text, n}, one = str_split(&rest, '\n');

	for (unsigned i = 1; i < line; i++)
		one = str_split(&rest, '\n');
	while (one.n && one.p[0] == ' ')
		one = (struct str){one.p + 1, one.n - 1};
	return one.n && one.p[0] == '\t';
}

static int refuse_syntax(struct spec_in *in, const yaml_parser_t *p, const char *text, size_t n)
{
	unsigned line = p->error == YAML_READER_ERROR ? line_at(text, MIN(p->problem_offset, n))
						      : (unsigned)p->problem_mark.line + 1;

	if (p->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (tab_begins_line(text, n, line))
		return spec_refuse(in, line, "this is not YAML: the line is indented by a tab; YAML wants spaces");
	return spec_refuse(in, line, "this is not YAML: %s", p->problem ? p->problem : "it cannot be read");
}

static int tree_fill(struct tree *t, yaml_parser_t *p, const char *text, size_t n)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	int r = 0;

	while (r == 0 && type != YAML_STREAM_END_EVENT) {
		yaml_event_t ev;

		if (!yaml_parser_parse(p, &ev))
			return refuse_syntax(t->in, p, text, n);
		type = ev.type;
		r = on_event(t, &ev);
		yaml_event_delete(&ev);
	}
	return r;
}

static int refuse_bytes(struct spec_in *in, const char *text, size_t n)
{
	size_t bad;

	if (n > SPEC_MAX_BYTES)
		return spec_refuse(in, 1, "%zu bytes; a spec has at most %u", n, SPEC_MAX_BYTES);
	bad = spec_utf8_end(text, n);
	if (bad < n)
		return spec_refuse(in, line_at(text, bad), "byte 0x%02x is not UTF-8; save the file as UTF-8",
			(unsigned char)text[bad]);
	return 0;
}

int spec_tree(struct spec_in *in, const char *text, size_t n, struct spec_node **ret)
{
	struct tree t = {.in = in};
	yaml_parser_t parser;
	int r = refuse_bytes(in, text, n);

	if (r < 0)
		return r;
	/* libyaml passes over a byte order mark only where it may guess the encoding. */
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	r = tree_fill(&t, &parser, text, n);
	yaml_parser_delete(&parser);
	if (r < 0)
		return r;
	if (!t.root)
		return spec_refuse(in, 1, "nothing is here; name the data: sources: [{data: PATH}]");
	*ret = t.root;
	return 0;
}
