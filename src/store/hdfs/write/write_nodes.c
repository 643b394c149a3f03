/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/hadoop/pb.h"

struct kept_node {
	struct list list;
	uint64_t at_ns;
	char *uuid;		/* behind the message */
	size_t n;
	uint8_t message[];
};

void node_set_init(struct node_set *s)
{
	list_init(&s->nodes);
	s->n = 0;
}

static void forget_first(struct node_set *s)
{
	struct list *e = list_pop(&s->nodes);

	mem_free(container_of(e, struct kept_node, list));
	s->n--;
}

void node_set_clear(struct node_set *s)
{
	while (s->n)
		forget_first(s);
}

static bool node_set_has(const struct node_set *s, const char *uuid)
{
	LIST_EACH(e, &s->nodes)
		if (strcmp(container_of(e, struct kept_node, list)->uuid, uuid) == 0)
			return true;
	return false;
}

int node_set_add(struct node_set *s, const struct hdfs_node *node, uint64_t now_ns)
{
	size_t n_uuid = strlen(node->uuid) + 1;
	struct kept_node *k;

	if (node_set_has(s, node->uuid))
		return 0;
	k = mem_alloc(sizeof(*k) + node->message.n + n_uuid);
	if (!k)
		return -ENOMEM;
	if (s->n == NODE_SET_MAX)
		forget_first(s);
	k->at_ns = now_ns;
	k->n = node->message.n;
	memcpy(k->message, node->message.p, k->n);
	k->uuid = (char *)k->message + k->n;
	memcpy(k->uuid, node->uuid, n_uuid);
	list_add(&s->nodes, &k->list);
	s->n++;
	return 1;
}

void node_set_expire(struct node_set *s, uint64_t now_ns)
{
	while (s->n && now_ns - container_of(s->nodes.next, struct kept_node, list)->at_ns > NODE_SET_NS)
		forget_first(s);
}

void buf_node_set(struct buf *b, uint32_t field, const struct node_set *s)
{
	if (!s)
		return;
	LIST_EACH(e, &s->nodes) {
		const struct kept_node *k = container_of(e, struct kept_node, list);

		buf_pb_bytes(b, field, k->message, k->n);
	}
}

static void move(void *items, size_t size, unsigned i, unsigned to)
{
	unsigned char *p = items, one[sizeof(struct hdfs_node)];

	if (!items)
		return;
	memcpy(one, p + i * size, size);
	memmove(p + i * size, p + (i + 1) * size, (to - i) * size);
	memcpy(p + to * size, one, size);
}

void located_move(struct hdfs_located *at, unsigned i, unsigned to)
{
	move(at->nodes, sizeof(*at->nodes), i, to);
	move(at->storage_ids, sizeof(*at->storage_ids), i, to);
	move(at->storage_types, sizeof(*at->storage_types), i, to);
}

int located_find_address(const struct hdfs_located *at, struct str address)
{
	char text[300];

	for (unsigned i = 0; i < at->n_nodes; i++) {
		snprintf(text, sizeof(text), "%s:%u", at->nodes[i].ip, at->nodes[i].xfer_port);
		if (str_eq(address, text))
			return (int)i;
	}
	return -1;
}

static bool has_node(const struct hdfs_located *at, const char *uuid)
{
	for (unsigned i = 0; i < at->n_nodes; i++)
		if (strcmp(at->nodes[i].uuid, uuid) == 0)
			return true;
	return false;
}

int located_find_new(const struct hdfs_located *at, const struct hdfs_located *before)
{
	for (unsigned i = 0; i < at->n_nodes; i++)
		if (!has_node(before, at->nodes[i].uuid))
			return (int)i;
	return -1;
}
