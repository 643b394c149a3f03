/* SPDX-License-Identifier: Apache-2.0 */
/* Names of clusters into addresses of NameNodes. */
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "store/hdfs/conf/conf_table.h"

#define MAX_HOST 253u

/* HOST, HOST:PORT, [ADDRESS], [ADDRESS]:PORT. */
static int address_of(struct str text, struct hdfs_address *ret, struct err *e)
{
	struct str host = str_trim(text), port = {"8020", 4};
	size_t i = host.n;
	uint64_t n = 0;

	text = host;
	while (i > 0 && host.p[i - 1] != ':' && host.p[i - 1] != ']')
		i--;
	if (i > 0 && host.p[i - 1] == ':') {
		port = (struct str){host.p + i, host.n - i};
		host.n = i - 1;
	}
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){host.p + 1, host.n - 2};
	if (host.n == 0 || host.n > MAX_HOST || str_to_u64(port, &n) < 0 || n == 0 || n > UINT16_MAX)
		return err_set(e, -EINVAL, "\"%.*s\" is no address; it is to be HOST or HOST:PORT", (int)MIN(text.n, (size_t)100),
			text.p);
	ret->port = (uint16_t)n;
	ret->host = mem_strndup(host.p, host.n);
	return ret->host ? 0 : -ENOMEM;
}

static bool same_address(const struct hdfs_address *a, const struct hdfs_address *b)
{
	return a->port == b->port && str_cmp_nocase(str_of(a->host), str_of(b->host)) == 0;
}

static bool list_has(const char *list, const char *word)
{
	struct str rest = str_of(list ? list : "");

	while (rest.n)
		if (str_eq(str_trim(str_split(&rest, ',')), word))
			return true;
	return false;
}

static int add_address(struct hdfs_conf *c, struct str id, struct hdfs_address address, struct err *e)
{
	char *copy = mem_strndup(id.p, id.n);

	if (c->n_namenodes < HDFS_MAX_NAMENODES && copy) {
		c->namenodes[c->n_namenodes++] = (struct hdfs_namenode){copy, address};
		return 0;
	}
	mem_free(address.host);
	mem_free(copy);
	return copy ? err_set(e, -EINVAL, "%s has more than %u NameNodes", c->nameservice, HDFS_MAX_NAMENODES) : -ENOMEM;
}

/* Every address that the name has becomes a NameNode. */
static int add_resolved(struct hdfs_conf *c, struct str id, const struct hdfs_address *named, struct err *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	int r = getaddrinfo(named->host, NULL, &hints, &list);

	if (r != 0)
		return err_set(e, -EHOSTUNREACH, "%s, a NameNode of %s, is to be resolved: %s", named->host, c->nameservice,
			gai_strerror(r));
	for (const struct addrinfo *a = list; a && r == 0; a = a->ai_next) {
		struct hdfs_address address = {.port = named->port};
		char numeric[NI_MAXHOST];

		if (getnameinfo(a->ai_addr, a->ai_addrlen, numeric, sizeof(numeric), NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		address.host = mem_strdup(numeric);
		r = address.host ? add_address(c, id, address, e) : -ENOMEM;
	}
	freeaddrinfo(list);
	return r;
}

static int add_namenode(struct hdfs_conf *c, struct str id, const char *text, bool resolve, struct err *e)
{
	struct hdfs_address address = {0};
	int r = address_of(str_of(text), &address, e);

	if (r == 0 && !resolve)
		return add_address(c, id, address, e);
	if (r == 0)
		r = add_resolved(c, id, &address, e);
	mem_free(address.host);
	return r;
}

/* KEY.NS, else KEY, of a switch. */
static int switch_of(struct site *site, const char *key, const char *ns, bool otherwise, bool *ret, struct err *e)
{
	char of_ns[512];
	int n = snprintf(of_ns, sizeof(of_ns), "%s.%s", key, ns), r = site_bool(site, key, otherwise, ret, e);

	return r < 0 || n >= (int)sizeof(of_ns) ? r : site_bool(site, of_ns, *ret, ret, e);
}

static int no_address(const char *ns, struct str nn, struct err *e)
{
	return err_set(e, -EINVAL, "dfs.namenode.rpc-address.%s%s%.*s is not set, so it is not known where that NameNode is", ns,
		nn.n ? "." : "", STR_ARG(nn));
}

static int add_list(struct site *site, struct hdfs_conf *c, const char *ns, const char *ids, struct err *e)
{
	struct str rest = str_of(ids);
	bool resolve = false;
	int r = switch_of(site, "dfs.client.failover.resolve-needed", ns, false, &resolve, e);

	while (rest.n && r == 0) {
		struct str id = str_trim(str_split(&rest, ','));
		const char *text = id.n ? site_getf(site, "dfs.namenode.rpc-address.%s.%.*s", ns, STR_ARG(id)) : NULL;

		if (id.n)
			r = text && *text ? add_namenode(c, id, text, resolve, e) : no_address(ns, id, e);
	}
	return r;
}

/* The last part of a Java class's name. */
static const char *class_of(struct site *site, const char *ns)
{
	const char *name = site_getf(site, "dfs.client.failover.proxy.provider.%s", ns);
	const char *dot = name ? strrchr(name, '.') : NULL;

	return dot ? dot + 1 : name ? name : "";
}

/* A nameservice's NameNodes. */
static int add_nameservice(struct site *site, struct hdfs_conf *c, const char *ns, struct err *e)
{
	const struct str none = {"", 0};
	const char *ids = site_getf(site, "dfs.ha.namenodes.%s", ns), *single;
	int r;

	if (strcmp(class_of(site, ns), "IPFailoverProxyProvider") == 0)
		return add_namenode(c, none, ns, false, e);
	if (!ids || !*ids) {
		single = site_getf(site, "dfs.namenode.rpc-address.%s", ns);
		return single && *single ? add_namenode(c, none, single, false, e) : no_address(ns, none, e);
	}
	r = add_list(site, c, ns, ids, e);
	if (r == 0 && c->n_namenodes == 0)
		r = err_set(e, -EINVAL, "dfs.ha.namenodes.%s names no NameNode", ns);
	return r;
}

static void drop_namenodes(struct hdfs_conf *c)
{
	for (unsigned i = 0; i < c->n_namenodes; i++) {
		mem_free(c->namenodes[i].id);
		mem_free(c->namenodes[i].rpc.host);
	}
	c->n_namenodes = 0;
}

/* Puts the NameNode at this address first; false: none is. */
static bool put_first(struct hdfs_conf *c, const struct hdfs_address *address)
{
	for (unsigned i = 0; i < c->n_namenodes; i++) {
		struct hdfs_namenode found = c->namenodes[i];

		if (!same_address(&found.rpc, address))
			continue;
		memmove(&c->namenodes[1], &c->namenodes[0], i * sizeof(found));
		c->namenodes[0] = found;
		return true;
	}
	return false;
}

static bool is_nameservice(struct site *site, const char *name)
{
	const char *ids;

	if (list_has(site_get(site, "dfs.nameservices"), name))
		return true;
	ids = site_getf(site, "dfs.ha.namenodes.%s", name);
	return ids && *ids;
}

static int set_nameservice(struct site *site, struct hdfs_conf *c, const char *ns, struct err *e)
{
	int r;

	mem_free(c->nameservice);
	c->nameservice = mem_strdup(ns);
	r = c->nameservice ? add_nameservice(site, c, ns, e) : -ENOMEM;
	if (r == 0)
		r = switch_of(site, "dfs.client.failover.random.order", ns, true, &c->random_order, e);
	c->observer_reads = strcmp(class_of(site, ns), "ObserverReadProxyProvider") == 0;
	return r;
}

/* The nameservice one of whose NameNodes has the address, if any has: then 1. Ones with broken keys are passed over. */
static int find_nameservice(struct site *site, struct hdfs_conf *c, const struct hdfs_address *address)
{
	const char *list = site_get(site, "dfs.nameservices");
	struct str rest = str_of(list ? list : "");

	while (rest.n) {
		struct str ns = str_trim(str_split(&rest, ','));
		AUTO_FREE char *name = mem_strndup(ns.p, ns.n);
		int r = name ? ns.n ? set_nameservice(site, c, name, NULL) : -ENOENT : -ENOMEM;

		if (r == -ENOMEM)
			return r;
		if (r == 0 && put_first(c, address)) {
			/* It was asked for by name. */
			c->random_order = false;
			return 1;
		}
		drop_namenodes(c);
	}
	c->observer_reads = c->random_order = false;
	return 0;
}

static int set_address(struct site *site, struct hdfs_conf *c, const char *authority, struct err *e)
{
	struct hdfs_address address = {0};
	int r = address_of(str_of(authority), &address, e);

	if (r < 0)
		return r;
	r = find_nameservice(site, c, &address);
	if (r != 0) {
		mem_free(address.host);
		return MIN(r, 0);
	}
	mem_free(c->nameservice);
	c->nameservice = mem_strdup("");
	if (c->nameservice)
		return add_address(c, (struct str){"", 0}, address, e);
	mem_free(address.host);
	return -ENOMEM;
}

/* What stands between "hdfs://" and the next slash of fs.defaultFS. */
static int default_authority(struct site *site, char **ret, struct err *e)
{
	const char *fs = site_get(site, "fs.defaultFS");
	struct str rest;

	if (!fs || !*fs)
		return err_set(e, -EINVAL, "hdfs:/// is the cluster of fs.defaultFS, which is not set%s; name it: "
			"hdfs://CLUSTER/PATH", *site_dir(site) ? "" : " (HADOOP_CONF_DIR names no folder of a site's files)");
	if (strncmp(fs, "viewfs:", 7) == 0)
		return err_set(e, -EOPNOTSUPP, "fs.defaultFS is %.200s: viewfs is not built; name the cluster: "
			"hdfs://CLUSTER/PATH", fs);
	if (strncmp(fs, "hdfs://", 7) != 0)
		return err_set(e, -EINVAL, "fs.defaultFS is %.200s, which is no HDFS; name the cluster: "
			"hdfs://CLUSTER/PATH", fs);
	rest = str_of(fs + 7);
	rest = str_split(&rest, '/');
	*ret = mem_strndup(rest.p, rest.n);
	return *ret ? 0 : -ENOMEM;
}

static int set_user(struct hdfs_conf *c, struct err *e)
{
	const char *name = getenv("HADOOP_USER_NAME");
	char space[4096];
	struct passwd pw, *found = NULL;

	if (!name || !*name) {
		if (getpwuid_r(geteuid(), &pw, space, sizeof(space), &found) != 0 || !found)
			return err_set(e, -EACCES, "user %u has no name here; set HADOOP_USER_NAME to the one to be in HDFS",
				(unsigned)geteuid());
		name = pw.pw_name;
	}
	c->user = mem_strdup(name);
	return c->user ? 0 : -ENOMEM;
}

static int check_authentication(struct site *site, struct err *e)
{
	const char *how = site_get(site, "hadoop.security.authentication");

	if (!how || !*how || strcasecmp(how, "simple") == 0)
		return 0;
	return err_set(e, -EOPNOTSUPP, "hadoop.security.authentication is %.100s at this site (%s): that is not built yet, only "
		"simple", how, site_dir(site));
}

/* What a name that is not known was taken for, and where it was looked for. */
static int set_origin(struct site *site, struct hdfs_conf *c)
{
	const char *dir = site_dir(site), *list = site_get(site, "dfs.nameservices");

	if (*c->nameservice)
		c->origin = mem_printf("%s of %.100s has it", c->nameservice, *dir ? dir : "the configuration");
	else if (*dir)
		c->origin = mem_printf("and no nameservice either in %.100s, which has %.80s: check the URL, or"
			" HADOOP_CONF_DIR", dir, list && *list ? list : "none");
	else
		c->origin = mem_strdup("and no configuration was found that could have a nameservice of that name: "
			"set HADOOP_CONF_DIR");
	return c->origin ? 0 : -ENOMEM;
}

static int find_names(struct site *site, const char *authority, struct hdfs_conf *c, struct err *e)
{
	AUTO_FREE char *by_default = NULL;
	int r = check_authentication(site, e);

	if (r == 0 && !*authority)
		r = default_authority(site, &by_default, e);
	if (r == 0 && by_default)
		authority = by_default;
	if (r == 0)
		r = set_user(c, e);
	if (r < 0)
		return r;
	c->authority = mem_strdup(authority);
	if (!c->authority)
		return -ENOMEM;
	r = is_nameservice(site, authority) ? set_nameservice(site, c, authority, e) : set_address(site, c, authority, e);
	return r < 0 ? r : set_origin(site, c);
}

int hdfs_conf_names(struct site *site, const char *authority, struct hdfs_conf *c, struct err *e)
{
	int r = find_names(site, authority, c, e);
	struct err words = {0};
	int failure = site_failure(site, &words);

	/* What could not be read seems not to be set: that is told first. */
	if (failure < 0 && e)
		*e = words;
	return failure < 0 ? failure : r;
}
