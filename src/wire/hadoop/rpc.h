/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hadoop RPC version 9, as bytes: what opens a connection, the frame of a call, the head of an answer. Source: observed
 * on Hadoop 3.5.0; RpcHeader.proto and IpcConnectionContext.proto are its public description.
 */
#ifndef OLDDOG_WIRE_HADOOP_RPC_H
#define OLDDOG_WIRE_HADOOP_RPC_H

#include "base/buf.h"
#include "base/str.h"

#define RPC_CLIENT_ID_BYTES 16
#define RPC_MAX_FRAME (128u << 20)	/* ipc.maximum.response.length; a longer one is E_PROTOCOL */
#define RPC_CALL_CONTEXT (-3)
#define RPC_CALL_PING (-4)
#define RPC_CALL_SASL (-33)

#define RPC_CLIENT_PROTOCOL "org.apache.hadoop.hdfs.protocol.ClientProtocol"
#define RPC_CLIENT_DATANODE_PROTOCOL "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
#define RPC_NAMENODE_PROTOCOL "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
#define RPC_USERS_PROTOCOL "org.apache.hadoop.tools.GetUserMappingsProtocol"
#define RPC_HA_PROTOCOL "org.apache.hadoop.ha.HAServiceProtocol"

enum rpc_auth { RPC_AUTH_SIMPLE = 0, RPC_AUTH_SASL = 0xDF };

struct rpc_head {
	const uint8_t *client_id;	/* RPC_CLIENT_ID_BYTES */
	int32_t call_id, retry;
	const int64_t *state_id;	/* NULL: not sent */
	const char *caller_context;	/* NULL: none */
};

/*
 * Preamble and connection context; with RPC_AUTH_SASL the preamble alone, since the context comes after the negotiation.
 * effective_user may not be NULL; real_user may.
 */
int rpc_put_open(struct buf *b, enum rpc_auth auth, const uint8_t *client_id, const char *protocol,
	const char *effective_user, const char *real_user);
int rpc_put_context(struct buf *b, const uint8_t *client_id, const char *protocol, const char *effective_user,
	const char *real_user);
/* A whole frame: method with its serialised request. */
int rpc_put_call(struct buf *b, const struct rpc_head *head, const char *protocol, const char *method, const void *body,
	size_t n);
int rpc_put_ping(struct buf *b, const uint8_t *client_id);

enum rpc_status { RPC_SUCCESS = 0, RPC_ERROR = 1, RPC_FATAL = 2 };

struct rpc_answer {
	int32_t call_id;
	enum rpc_status status;
	bool has_state_id;
	int64_t state_id;
	struct str exception;	/* class name; "" on success */
	struct str words;	/* the server's, with a stack of lines behind the first */
	uint32_t detail;	/* RpcErrorCodeProto, 0 when it was not given */
	struct str body;	/* the response message, in place, of RPC_SUCCESS */
};

/* Bytes of the frame that starts at p, its length included: 0 while n has less than 4; E_PROTOCOL above RPC_MAX_FRAME. */
int64_t rpc_frame_bytes(const void *p, size_t n);
/* The frame without its length. E_PROTOCOL. */
int rpc_parse(const void *frame, size_t n, struct rpc_answer *ret);

#endif
