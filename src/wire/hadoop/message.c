/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/message.h"

#include "wire/hadoop/pb.h"

static void *in_arena(void *arena, size_t n)
{
	return arena_alloc(arena, n);
}

static void not_by_itself(void *arena, void *p)
{
}

void *message_unpack(struct arena *a, const ProtobufCMessageDescriptor *descriptor, struct str bytes)
{
	ProtobufCAllocator allocator = {.alloc = in_arena, .free = not_by_itself, .allocator_data = a};

	return protobuf_c_message_unpack(descriptor, &allocator, bytes.n, (const uint8_t *)bytes.p);
}

int message_pack(struct buf *b, const ProtobufCMessage *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	uint8_t *at = buf_grow(b, n);

	if (at)
		protobuf_c_message_pack(message, at);
	return b->r;
}
