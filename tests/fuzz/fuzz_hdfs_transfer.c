/* SPDX-License-Identifier: Apache-2.0 */
/* Each message that a DataNode answers an operation with, and the acknowledgement of a packet: read, or refused. */
#include <assert.h>

#include "base/err.h"
#include "store/hdfs/write/write_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void lies_in(struct str part, struct str whole)
{
	assert(!part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n));
}

static void answer(struct str message)
{
	struct op_answer a;
	struct block_sum sum;
	int r = op_answer_parse(message, &a);

	assert(r == 0 || r == E_PROTOCOL);
	if (r < 0)
		return;
	lies_in(a.bad_link, message);
	lies_in(a.words, message);
	lies_in(a.checksum, message);
	r = block_sum_parse(a.checksum, &sum);
	assert(r == 0 || r == E_PROTOCOL);
}

static void ack(struct str message)
{
	struct write_ack a;
	int r = write_ack_parse(message, &a);

	assert(r == 0 || r == E_PROTOCOL);
	if (r < 0)
		return;
	assert(a.n_replies <= ACK_MAX_NODES && a.bad >= -1 && a.bad < (int)ACK_MAX_NODES);
	assert((a.bad < 0) == (a.status == TRANSFER_SUCCESS) && a.bad < (int)a.n_replies);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct str message = {(const char *)p, n}, field;

	answer(message);
	ack(message);
	for (uint32_t i = 1; i < 4; i++)
		if (message_field(message, i, &field))
			lies_in(field, message);
	(void)message_number(message, 1, 0);
	return 0;
}
