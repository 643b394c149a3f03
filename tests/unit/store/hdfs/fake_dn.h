/* SPDX-License-Identifier: Apache-2.0 */
/* A DataNode for tests: READ_BLOCK over a fake network, on the loop of who asks, from replicas that the test keeps. */
#ifndef OLDDOG_TESTS_FAKE_DN_H
#define OLDDOG_TESTS_FAKE_DN_H

#include "fake_net.h"

#include "wire/hadoop/crc.h"

#define FAKE_DN_MAX_REPLICAS 64

struct fake_dn;

struct fake_replica {
	uint64_t id;
	const uint8_t *bytes;	/* the test's */
	uint64_t n;
	int64_t bad_at;		/* this byte is sent wrong, with the checksum of the right one; -1: none */
};

struct fake_dn *fake_dn_new(struct loop *loop, struct fake_net *net, const char *host, uint16_t port);
void fake_dn_free(struct fake_dn *dn);
/* How it sends: checksums of this kind over chunks of so many bytes, in packets of at most so many. CRC-32C, 512, 65536. */
void fake_dn_how(struct fake_dn *dn, enum crc_kind kind, uint32_t chunk_bytes, uint32_t packet_bytes);
/* In place of one with the same id. */
void fake_dn_put(struct fake_dn *dn, const struct fake_replica *r);
void fake_dn_remove(struct fake_dn *dn, uint64_t id);
/* kill -9, and started again. */
void fake_dn_kill(struct fake_dn *dn);
void fake_dn_start(struct fake_dn *dn);
/* SIGSTOP, and back. */
void fake_dn_stop(struct fake_dn *dn, bool stopped);
/* Operations that were begun; and those whose reader said at the end that all was right. */
unsigned fake_dn_n_reads(const struct fake_dn *dn);
unsigned fake_dn_n_ended(const struct fake_dn *dn);

#endif
