/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults are those of core-default.xml and hdfs-default.xml of Hadoop 3.5.0. */
#include "store/hdfs/conf/conf_table.h"

#define AT(field) offsetof(struct hdfs_conf, field)
#define HOUR_MS 3600000u
#define MAX_BYTES_PER_SUM (1u << 20)
#define MAX_PACKET_BYTES (16u << 20)
#define MAX_BLOCK_BYTES (1ull << 40)

const struct hdfs_key hdfs_keys[] = {
	{"fs.defaultFS", KEY_WORDS, "", 0, 0, 0, "The cluster that hdfs:///PATH means."},
	{"dfs.nameservices", KEY_WORDS, "", 0, 0, 0, "Names of clusters, with commas."},
	{"dfs.ha.namenodes.NS", KEY_WORDS, "", 0, 0, 0, "The NameNodes of a nameservice, with commas; 16 at most."},
	{"dfs.namenode.rpc-address.NS.NN", KEY_WORDS, "", 0, 0, 0,
		"HOST:PORT of a NameNode; without NN that of a nameservice with one NameNode. The port is 8020 when it is "
		"not said."},
	{"dfs.client.failover.proxy.provider.NS", KEY_WORDS, "", 0, 0, 0,
		"ObserverReadProxyProvider: observers answer what only reads. IPFailoverProxyProvider: the name of the "
		"nameservice is the host to call. All others (ConfiguredFailover, RequestHedging): the active one is looked for."},
	{"dfs.client.failover.random.order", KEY_WORDS, "true", 0, 0, 0,
		"Whether the NameNodes are tried in a random order; with .NS behind it, of that nameservice only."},
	{"dfs.client.failover.resolve-needed", KEY_WORDS, "false", 0, 0, 0,
		"With .NS behind it: each address that the host of a NameNode resolves to is a NameNode."},
	{"hadoop.security.authentication", KEY_WORDS, "simple", 0, 0, 0, "simple; kerberos is not built yet and is refused."},
	{"dfs.encrypt.data.transfer", KEY_UNBUILT, "false", 0, 0, 0, "Not built yet: refused when it is true."},
	{"dfs.client.failover.max.attempts", KEY_NUMBER, "15", 0, 10000, AT(failover_max_attempts),
		"How many times a call turns to another NameNode."},
	{"dfs.client.failover.sleep.base.millis", KEY_MS, "500", 0, HOUR_MS, AT(failover_base_ms),
		"The first wait before another NameNode is turned to; each wait is twice as long, by chance half "
		"of it less or more."},
	{"dfs.client.failover.sleep.max.millis", KEY_MS, "15000", 0, HOUR_MS, AT(failover_max_ms), "The longest such wait."},
	{"dfs.client.failover.connection.retries", KEY_NUMBER, "0", 0, 10000, AT(connect_retries),
		"Of a nameservice with several NameNodes: how often connecting to one is tried again.", KEY_HA},
	{"ipc.client.connect.max.retries", KEY_NUMBER, "10", 0, 10000, AT(connect_retries),
		"Of a single NameNode: how often connecting to it is tried again.", KEY_SINGLE},
	{"ipc.client.connect.timeout", KEY_MS, "20000", 1, HOUR_MS, AT(connect_timeout_ms), "For one connection to a NameNode."},
	{"ipc.client.rpc-timeout.ms", KEY_MS, "120000", 0, 24 * HOUR_MS, AT(rpc_timeout_ms),
		"For one answer of a NameNode; 0: none."},
	{"dfs.client.read.shortcircuit", KEY_BOOL, "false", 0, 0, AT(short_circuit),
		"Whether replicas of this host are read by themselves, through descriptors that the DataNode gives."},
	{"dfs.domain.socket.path", KEY_PATH, "", 0, 0, AT(domain_socket),
		"The DataNode's socket for that; _PORT in it is the DataNode's port."},
	{"dfs.client.use.datanode.hostname", KEY_BOOL, "false", 0, 0, AT(use_hostnames),
		"Whether DataNodes are called by name rather than by address."},
	{"dfs.client.socket-timeout", KEY_MS, "60000", 1, 24 * HOUR_MS, AT(socket_timeout_ms),
		"How long a DataNode may say nothing."},
	{"dfs.client.socketcache.expiryMsec", KEY_MS, "3000", 0, HOUR_MS, AT(socket_keepalive_ms),
		"How long an idle connection to a DataNode is kept."},
	{"dfs.client.read.prefetch.size", KEY_PREFETCH, "", 0, 0, AT(prefetch_blocks),
		"Of how many bytes of a file, in whole blocks, locations are asked for at once. Without it: 10 blocks."},
	{"dfs.client.max.block.acquire.failures", KEY_NUMBER, "3", 0, 1000, AT(acquire_failures),
		"How often locations are asked for again when no replica of a block could be read."},
	{"dfs.client.retry.window.base", KEY_MS, "3000", 0, HOUR_MS, AT(retry_window_ms), "The wait before that; it grows."},
	{"dfs.client.hedged.read.threshold.millis", KEY_MS, "500", 1, HOUR_MS, AT(hedge_after_ms),
		"When hedged reads are asked for by the next key: after how long a second replica is asked too."},
	{"dfs.client.hedged.read.threadpool.size", KEY_NUMBER, "0", 0, 10000, AT(hedge_threads),
		"How many second reads there may be at once; 0: olddog hedges by the latency that it has seen."},
	{"dfs.blocksize", KEY_BYTES, "134217728", 512, MAX_BLOCK_BYTES, AT(block_bytes),
		"Of files that are written; a multiple of dfs.bytes-per-checksum."},
	{"dfs.replication", KEY_NUMBER, "3", 1, 512, AT(replication), "Of files that are written."},
	{"dfs.bytes-per-checksum", KEY_BYTES32, "512", 1, MAX_BYTES_PER_SUM, AT(bytes_per_sum), "Of files that are written."},
	{"dfs.checksum.type", KEY_CHECKSUM, "CRC32C", 0, 0, AT(checksum_kind), "Of files that are written."},
	{"dfs.client-write-packet-size", KEY_BYTES32, "65536", 512, MAX_PACKET_BYTES, AT(packet_bytes),
		"Of what is sent to DataNodes at once."},
	{"dfs.client.block.write.retries", KEY_NUMBER, "3", 0, 1000, AT(block_retries),
		"How many times other DataNodes are asked for when a block cannot be begun."},
	{"dfs.client.block.write.replace-datanode-on-failure.enable", KEY_BOOL, "true", 0, 0, AT(replace_datanode),
		"Whether a DataNode that fails while a block is written is replaced, by Hadoop's rule DEFAULT."},
	{"dfs.client.block.write.replace-datanode-on-failure.policy", KEY_POLICY, "DEFAULT", 0, 0, AT(replace_datanode),
		"NEVER: it is not. ALWAYS is taken as DEFAULT."},
	{"dfs.client.block.write.replace-datanode-on-failure.best-effort", KEY_BOOL, "false", 0, 0, AT(replace_best_effort),
		"Whether writing goes on with the DataNodes that are left when none can be found in its place."},
	{"dfs.client.block.write.replace-datanode-on-failure.min-replication", KEY_NUMBER, "0", 0, 512, AT(replace_enough),
		"The same, when at least so many are left; 0: no number is enough."},
	{"fs.permissions.umask-mode", KEY_UMASK, "022", 0, 0, AT(umask), "Octal, or as in u=rwx,g=rx,o=."},
	{"fs.trash.interval", KEY_MINUTES, "0", 0, UINT32_MAX, AT(trash_minutes),
		"What is removed goes to the user's trash when this is not 0; the NameNode may say so too."},
};

const unsigned hdfs_n_keys = sizeof(hdfs_keys) / sizeof(hdfs_keys[0]);
