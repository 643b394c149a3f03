/* SPDX-License-Identifier: Apache-2.0 */
/* What a client takes of a site: NameNodes, values with Hadoop's defaults, refusals by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "store/hdfs/conf/conf.h"
#include "wire/hadoop/crc.h"

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define PROVIDER(ns, class) P("dfs.client.failover.proxy.provider." ns, "org.apache.hadoop.hdfs.server.namenode.ha." class)
#define HA                                                                                                   \
	P("fs.defaultFS", "hdfs://train")                                                                        \
	P("dfs.nameservices", "train, eval")                                                                     \
	P("dfs.ha.namenodes.train", "nn1, nn2")                                                                  \
	P("dfs.namenode.rpc-address.train.nn1", "a.example:8020")                                                \
	P("dfs.namenode.rpc-address.train.nn2", "b.example:9000")                                                \
	PROVIDER("train", "ConfiguredFailoverProxyProvider")                                                     \
	P("dfs.namenode.rpc-address.eval", "c.example")

static int conf_of(const char *properties, const char *authority, struct hdfs_conf *ret, struct err *e)
{
	AUTO_FREE char *xml = mem_printf("<configuration>%s</configuration>", properties);
	AUTO(site) struct site *s = NULL;

	assert_int_equal(site_parse(xml, strlen(xml), &s, NULL), 0);
	return hdfs_conf_of(s, authority, ret, e);
}

static struct hdfs_conf must(const char *properties, const char *authority)
{
	struct hdfs_conf c = {0};
	struct err e = {0};

	if (conf_of(properties, authority, &c, &e) < 0)
		fail_msg("%s", e.words);
	return c;
}

static void refused(const char *properties, const char *authority, int code, const char *words)
{
	struct hdfs_conf c = {0};
	struct err e = {0};

	assert_int_equal(conf_of(properties, authority, &c, &e), code);
	if (!strstr(e.words, words))
		fail_msg("\"%s\" has no \"%s\"", e.words, words);
}

static void assert_namenode(const struct hdfs_conf *c, unsigned i, const char *id, const char *host, unsigned port)
{
	assert_true(i < c->n_namenodes);
	assert_string_equal(c->namenodes[i].id, id);
	assert_string_equal(c->namenodes[i].rpc.host, host);
	assert_int_equal(c->namenodes[i].rpc.port, port);
}

static void without_a_site_there_are_defaults(void **state)
{
	struct hdfs_conf c = must("", "host:9000");

	assert_namenode(&c, 0, "", "host", 9000);
	assert_int_equal(c.n_namenodes, 1);
	assert_string_equal(c.authority, "host:9000");
	assert_string_equal(c.nameservice, "");
	assert_non_null(strstr(c.origin, "set HADOOP_CONF_DIR"));
	assert_null(c.domain_socket);
	assert_true(!c.observer_reads && !c.random_order && !c.short_circuit && !c.use_hostnames && c.replace_datanode);
	assert_true(c.failover_max_attempts == 15 && c.failover_base_ms == 500 && c.failover_max_ms == 15000);
	assert_true(c.rpc_timeout_ms == 120000 && c.connect_timeout_ms == 20000 && c.connect_retries == 10);
	assert_true(c.socket_timeout_ms == 60000 && c.socket_keepalive_ms == 3000 && c.prefetch_blocks == 10);
	assert_true(c.acquire_failures == 3 && c.retry_window_ms == 3000 && c.hedge_after_ms == 500 && c.hedge_threads == 0);
	assert_true(c.block_bytes == 128u << 20 && c.replication == 3 && c.bytes_per_sum == 512 && c.checksum_kind == CRC_C);
	assert_true(c.packet_bytes == 65536 && c.block_retries == 3 && c.umask == 022 && c.trash_minutes == 0);
	hdfs_conf_release(&c);
}

static void a_sites_values_count(void **state)
{
	struct hdfs_conf c = must(P("dfs.blocksize", "1m") P("dfs.client.read.prefetch.size", "8m") P("dfs.checksum.type", "CRC32")
		P("fs.permissions.umask-mode", "u=rwx,g=rx,o=") P("fs.trash.interval", "1d") P("dfs.domain.socket.path", "/s/_PORT")
		P("dfs.client.read.shortcircuit", "true") P("dfs.client.socket-timeout", "5s")
		P("dfs.client.block.write.replace-datanode-on-failure.policy", "NEVER")
		P("dfs.client-write-packet-size", "128k"), "h");

	assert_namenode(&c, 0, "", "h", 8020);
	assert_true(c.block_bytes == 1u << 20 && c.prefetch_blocks == 8 && c.checksum_kind == CRC_ZLIB && c.umask == 027);
	assert_true(c.trash_minutes == 1440 && c.short_circuit && c.socket_timeout_ms == 5000 && !c.replace_datanode);
	assert_int_equal(c.packet_bytes, 131072);
	assert_string_equal(c.domain_socket, "/s/_PORT");
	hdfs_conf_release(&c);
}

static void nameservices_are_found(void **state)
{
	struct hdfs_conf c = must(HA, "train");

	assert_namenode(&c, 0, "nn1", "a.example", 8020);
	assert_namenode(&c, 1, "nn2", "b.example", 9000);
	assert_string_equal(c.nameservice, "train");
	assert_true(c.random_order && !c.observer_reads && c.connect_retries == 0);
	hdfs_conf_release(&c);
	c = must(HA, "");
	assert_true(c.n_namenodes == 2 && strcmp(c.authority, "train") == 0);
	hdfs_conf_release(&c);
	c = must(HA, "eval");
	assert_namenode(&c, 0, "", "c.example", 8020);
	assert_true(c.n_namenodes == 1 && c.connect_retries == 10);
	hdfs_conf_release(&c);
	c = must(HA P("dfs.client.failover.random.order.train", "false") P("dfs.client.failover.connection.retries", "2"),
		"train");
	assert_true(!c.random_order && c.connect_retries == 2);
	hdfs_conf_release(&c);
}

static void an_address_of_a_nameservice_is_the_nameservice(void **state)
{
	struct hdfs_conf c = must(HA, "B.example:9000");

	assert_namenode(&c, 0, "nn2", "b.example", 9000);
	assert_namenode(&c, 1, "nn1", "a.example", 8020);
	assert_true(strcmp(c.nameservice, "train") == 0 && !c.random_order);
	hdfs_conf_release(&c);
	c = must(HA, "c.example");
	assert_string_equal(c.nameservice, "eval");
	hdfs_conf_release(&c);
	c = must(HA, "b.example:9001");
	assert_true(c.n_namenodes == 1 && strcmp(c.nameservice, "") == 0);
	hdfs_conf_release(&c);
	c = must(P("dfs.nameservices", "broken,") P("dfs.ha.namenodes.broken", "x"), "[::1]:9");
	assert_namenode(&c, 0, "", "::1", 9);
	hdfs_conf_release(&c);
}

static void providers_are_understood(void **state)
{
	struct hdfs_conf c = must(HA PROVIDER("train", "ObserverReadProxyProvider"), "train");

	assert_true(c.observer_reads && c.n_namenodes == 2);
	hdfs_conf_release(&c);
	c = must(HA PROVIDER("train", "RequestHedgingProxyProvider"), "train");
	assert_true(!c.observer_reads && c.n_namenodes == 2);
	hdfs_conf_release(&c);
	c = must(HA PROVIDER("train", "IPFailoverProxyProvider"), "train");
	assert_namenode(&c, 0, "", "train", 8020);
	hdfs_conf_release(&c);
	c = must(P("dfs.nameservices", "r") P("dfs.ha.namenodes.r", "n") P("dfs.namenode.rpc-address.r.n", "127.0.0.1:7")
		P("dfs.client.failover.resolve-needed.r", "true"), "r");
	assert_namenode(&c, 0, "n", "127.0.0.1", 7);
	hdfs_conf_release(&c);
}

static void what_is_not_built_is_refused_by_name(void **state)
{
	refused(P("hadoop.security.authentication", "kerberos"), "h", -EOPNOTSUPP, "kerberos");
	refused(P("dfs.encrypt.data.transfer", "true"), "h", -EOPNOTSUPP, "dfs.encrypt.data.transfer");
	refused(P("fs.defaultFS", "viewfs://x/"), "", -EOPNOTSUPP, "viewfs");
	refused(P("fs.defaultFS", "file:///"), "", -EINVAL, "no HDFS");
	refused("", "", -EINVAL, "fs.defaultFS");
}

static void what_is_wrong_is_refused_with_words(void **state)
{
	refused("", "host:0", -EINVAL, "no address");
	refused("", "host:70000", -EINVAL, "no address");
	refused("", ":8020", -EINVAL, "no address");
	refused("", "host:port", -EINVAL, "no address");
	refused(P("dfs.nameservices", "a") P("dfs.ha.namenodes.a", "n1,n2") P("dfs.namenode.rpc-address.a.n1", "h"), "a", -EINVAL,
		"dfs.namenode.rpc-address.a.n2 is not set");
	refused(P("dfs.nameservices", "a"), "a", -EINVAL, "dfs.namenode.rpc-address.a is not set");
	refused(P("dfs.nameservices", "a") P("dfs.ha.namenodes.a", " , "), "a", -EINVAL, "names no NameNode");
	refused(P("dfs.ha.namenodes.a", "n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n") P("dfs.namenode.rpc-address.a.n", "h"), "a", -EINVAL,
		"more than 16");
	refused(P("dfs.replication", "0"), "h", -EINVAL, "dfs.replication is 0");
	refused(P("dfs.replication", "three"), "h", -EINVAL, "\"three\"");
	refused(P("dfs.blocksize", "1000"), "h", -EINVAL, "no multiple");
	refused(P("dfs.checksum.type", "MD5"), "h", -EINVAL, "CRC32C");
	refused(P("fs.permissions.umask-mode", "9"), "h", -EINVAL, "octal");
	refused(P("dfs.client.block.write.replace-datanode-on-failure.policy", "MAYBE"), "h", -EINVAL, "NEVER");
	refused(P("dfs.client.socket-timeout", "0"), "h", -EINVAL, "dfs.client.socket-timeout is 0");
	refused(P("dfs.replication", "${a}") P("a", "${b}") P("b", "${a}"), "h", -EINVAL, "more than 20");
}

static void the_user_is_named(void **state)
{
	struct hdfs_conf c;

	setenv("HADOOP_USER_NAME", "alice", 1);
	c = must("", "h");
	assert_string_equal(c.user, "alice");
	hdfs_conf_release(&c);
	unsetenv("HADOOP_USER_NAME");
	c = must("", "h");
	assert_true(*c.user && strcmp(c.user, "alice") != 0);
	hdfs_conf_release(&c);
}

static void any_allocation_may_fail(void **state)
{
	static const char *const authorities[] = {"", "b.example:9000", "x:1", "eval"};
	const char *xml = "<c>" HA "</c>";
	unsigned n = 0;

	for (unsigned i = 0; i < N_ELEMS(authorities); i++) {
		bool failed = true;

		for (uint64_t nth = 1; failed; nth++, n++) {
			AUTO(site) struct site *s = NULL;
			struct hdfs_conf c = {0};
			int r;

			assert_int_equal(site_parse(xml, strlen(xml), &s, NULL), 0);
			mem_fail_nth(nth);
			r = hdfs_conf_of(s, authorities[i], &c, NULL);
			failed = mem_failed();
			mem_fail_nth(0);
			assert_int_equal(r, failed ? -ENOMEM : 0);
			hdfs_conf_release(&c);
		}
	}
	assert_true(n > 40);
}

static void the_man_page_is_the_tables(void **state)
{
	struct buf AUTO_BUF page;
	AUTO_FREE char *file = mem_zalloc(1u << 20);
	FILE *f = fopen(HDFS_PAGE, "re");
	size_t n;

	assert_non_null(f);
	n = fread(file, 1, (1u << 20) - 1, f);
	fclose(f);
	buf_init(&page, 1u << 20);
	hdfs_conf_page(&page);
	assert_int_equal(page.r, 0);
	if (page.n != n || memcmp(page.ptr, file, n) != 0)
		fail_msg("make it anew: print_hdfs_page > %s", HDFS_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_site_there_are_defaults),
		cmocka_unit_test(a_sites_values_count),
		cmocka_unit_test(nameservices_are_found),
		cmocka_unit_test(an_address_of_a_nameservice_is_the_nameservice),
		cmocka_unit_test(providers_are_understood),
		cmocka_unit_test(what_is_not_built_is_refused_by_name),
		cmocka_unit_test(what_is_wrong_is_refused_with_words),
		cmocka_unit_test(the_user_is_named),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(the_man_page_is_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
