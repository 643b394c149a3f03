/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of hadoop.proto by protoc-c's code, in memory of ours:
 *
 *	Hdfs__GetListingRequest req = HDFS__GET_LISTING_REQUEST__INIT;
 *
 *	req.src = (char *)path;
 *	message_pack(&call->body, &req.base);
 *
 *	Hdfs__MkdirsResponse *res = message_unpack(arena, &hdfs__mkdirs_response__descriptor, answer);
 *
 *	if (!res)
 *		return E_PROTOCOL;
 */
#ifndef OLDDOG_WIRE_HADOOP_MESSAGE_H
#define OLDDOG_WIRE_HADOOP_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <hadoop.pb-c.h>	/* made at build time */

/*
 * The message that bytes hold, unknown fields kept; it lies in a, and so it is never freed by itself. NULL when it is none
 * (a field that must be there is missing, too), or has no room in a. Strings are cut at a NUL; enums may have values that
 * hadoop.proto does not name.
 */
void *message_unpack(struct arena *a, const ProtobufCMessageDescriptor *descriptor, struct str bytes);
int message_pack(struct buf *b, const ProtobufCMessage *message);

#endif
