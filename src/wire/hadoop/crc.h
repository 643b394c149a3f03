/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli) and CRC-32 (zlib) of chunks, as HDFS stores and sends them: big-endian, one for each
 * bytes_per_sum bytes, the last chunk may be short. By libisal.
 */
#ifndef OLDDOG_WIRE_HADOOP_CRC_H
#define OLDDOG_WIRE_HADOOP_CRC_H

#include <stddef.h>
#include <stdint.h>

enum crc_kind { CRC_NONE = 0, CRC_ZLIB = 1, CRC_C = 2 };	/* ChecksumTypeProto */

/* Of n bytes, behind those whose CRC is before (0: none). */
uint32_t crc_of(enum crc_kind kind, uint32_t before, const void *p, size_t n);
/* Of a then b, b of n_b bytes. */
uint32_t crc_join(enum crc_kind kind, uint32_t a, uint32_t b, uint64_t n_b);
/* Index of the first of the n bytes' chunks that differs from sums, or -1. CRC_NONE: -1. */
int64_t crc_check(enum crc_kind kind, uint32_t bytes_per_sum, const void *p, size_t n, const void *sums);
/* Fills sums: 4 bytes for each chunk. CRC_NONE: nothing. */
void crc_fill(enum crc_kind kind, uint32_t bytes_per_sum, const void *p, size_t n, void *sums);

#endif
