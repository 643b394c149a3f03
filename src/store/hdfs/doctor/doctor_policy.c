/* SPDX-License-Identifier: Apache-2.0 */
/* The site, its NameNodes, who one is there. */
#include "store/hdfs/doctor/doctor_policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/str.h"

#define NAME_MAX_BYTES 200

void doctor_tell_site(const struct doctor_site *s, struct doctor *d)
{
	if (!*s->dir)
		doctor_say(d, DOCTOR_WARN, "configuration", "none: HADOOP_CONF_DIR is not set, and there is no "
			"HADOOP_HOME/etc/hadoop and no /etc/hadoop/conf. Hadoop's defaults are used, and only HOST:PORT can be "
			"named; set HADOOP_CONF_DIR to the folder of core-site.xml and hdfs-site.xml");
	else if (!s->has_core && !s->has_hdfs)
		doctor_say(d, DOCTOR_WARN, "configuration", "%s (%s) has neither core-site.xml nor hdfs-site.xml that can be read: "
			"is it the right folder?", s->dir, s->named_by);
	else
		doctor_say(d, DOCTOR_OK, "configuration", "%s (%s): %s%s%s", s->dir, s->named_by,
			s->has_core ? "core-site.xml" : "", s->has_core && s->has_hdfs ? ", " : "",
			s->has_hdfs ? "hdfs-site.xml" : "");
}

/* NameNodes. */

static const char *name_of(const struct doctor_nn *nn, char out[NAME_MAX_BYTES])
{
	if (*nn->at->id)
		snprintf(out, NAME_MAX_BYTES, "%s (%s:%u)", nn->at->id, nn->at->rpc.host, nn->at->rpc.port);
	else
		snprintf(out, NAME_MAX_BYTES, "%s:%u", nn->at->rpc.host, nn->at->rpc.port);
	return out;
}

/* The answer of one that stands alone: an exception of no class of its own. */
static bool is_alone(const struct doctor_nn *nn)
{
	return nn->state.connected && strstr(nn->state.words, "HA for namenode is not enabled");
}

/* One that is older than the question says that it does not know it: that is an answer too. */
static bool answers(const struct doctor_nn *nn)
{
	return nn->state.r == 0 || is_alone(nn) || (nn->state.connected && nn->state.r == -EOPNOTSUPP);
}

static Hdfs__HaState state_of(const struct doctor_nn *nn)
{
	const Hdfs__HaServiceStateResponse *m = nn->state.message;

	return nn->state.r == 0 && m ? m->state : HDFS__HA_STATE__HA_INITIALIZING;
}

static bool is_active(const struct doctor_nn *nn)
{
	return is_alone(nn) || (answers(nn) && state_of(nn) == HDFS__HA_STATE__HA_ACTIVE);
}

int doctor_namenode(const struct doctor_facts *f)
{
	for (unsigned i = 0; i < f->n_nns; i++)
		if (is_active(&f->nns[i]))
			return (int)i;
	for (unsigned i = 0; i < f->n_nns; i++)
		if (answers(&f->nns[i]) && state_of(&f->nns[i]) == HDFS__HA_STATE__HA_INITIALIZING)
			return (int)i;
	return -1;
}

/* What to do when nobody took the connection. */
static const char *no_connection(const struct doctor_facts *f, const struct doctor_nn *nn, char *out, size_t n)
{
	char limit[DOCTOR_NUMBER_MAX];

	switch (nn->state.r) {
	case -ENOENT:
		snprintf(out, n, "the name %s does not resolve on this host%s%s. Try `getent hosts %s`", nn->at->rpc.host,
			f->conf->origin ? ", " : "", f->conf->origin ? f->conf->origin : "", nn->at->rpc.host);
		break;
	case -EAGAIN:
		snprintf(out, n, "the name service does not answer for %s; look at /etc/resolv.conf", nn->at->rpc.host);
		break;
	case -ECONNREFUSED:
		snprintf(out, n, "nobody listens there: the NameNode is down, or its RPC port is another "
			"(dfs.namenode.rpc-address; usually 8020 or 9000)");
		break;
	case -ETIMEDOUT:
		snprintf(out, n, "no connection in %s: the host is off, a firewall drops what is sent to that port, or the name "
			"service hangs", doctor_time(f->timeout_ns, limit));
		break;
	default:
		snprintf(out, n, "no connection: %s", err_text(nn->state.r));
	}
	return out;
}

/* What to do when there was a connection and no answer. */
static const char *no_answer(const struct doctor_facts *f, const struct doctor_nn *nn, char *out, size_t n)
{
	const struct doctor_answer *a = &nn->state;
	char limit[DOCTOR_NUMBER_MAX];

	if (a->r == E_PROTOCOL)
		snprintf(out, n, "what listens there speaks no Hadoop RPC: a web port (9870, 50070), or another service; the RPC "
			"port is in dfs.namenode.rpc-address (usually 8020 or 9000)");
	else if (a->r == -ECONNRESET)
		snprintf(out, n, "it takes the connection and closes it without an answer: no NameNode's RPC port, or one that is "
			"just ending");
	else if (a->r == -ETIMEDOUT)
		snprintf(out, n, "it takes the connection and does not answer in %s: it hangs, is overloaded, or collects garbage",
			doctor_time(f->timeout_ns, limit));
	else if (a->r == -EACCES && strstr(a->words, "uthenticat"))
		snprintf(out, n, "it does not take SIMPLE authentication, and Kerberos is not built (it says: %s)", a->words);
	else
		snprintf(out, n, "it refuses the question: %s", a->words);
	return out;
}

static const char *state_name(const struct doctor_nn *nn)
{
	if (is_alone(nn))
		return "answers, alone (no HA)";
	switch (state_of(nn)) {
	case HDFS__HA_STATE__HA_ACTIVE:
		return "answers, active";
	case HDFS__HA_STATE__HA_STANDBY:
		return "answers, standby";
	case HDFS__HA_STATE__HA_OBSERVER:
		return "answers, observer";
	default:
		return "answers, without saying whether it is active";
	}
}

static void tell_answering(const struct doctor_nn *nn, struct doctor *d)
{
	const Hdfs__SetSafeModeResponse *safe = nn->safe_mode.r == 0 ? nn->safe_mode.message : NULL;
	const Hdfs__VersionResponse *version = nn->version.r == 0 ? nn->version.message : NULL;
	char name[NAME_MAX_BYTES], took[DOCTOR_NUMBER_MAX];
	Hdfs__HaState state = state_of(nn);
	bool stuck = safe && safe->result && state != HDFS__HA_STATE__HA_STANDBY && state != HDFS__HA_STATE__HA_OBSERVER;

	doctor_say(d, stuck ? DOCTOR_WARN : DOCTOR_OK, "namenode", "%s: %s, in %s; safe mode %s%s%s%s",
		name_of(nn, name), state_name(nn), doctor_time(nn->state.ns, took),
		!safe ? "not told" : safe->result ? "on" : "off",
		version ? "; Hadoop " : "", version ? version->info->software_version : "",
		stuck ? ". Nothing can be written; it ends when enough DataNodes have reported, or by "
			"`hdfs dfsadmin -safemode leave`" : "");
}

static void tell_namenode(const struct doctor_facts *f, const struct doctor_nn *nn, struct doctor *d)
{
	char name[NAME_MAX_BYTES], words[512];

	if (answers(nn))
		tell_answering(nn, d);
	else
		doctor_say(d, doctor_namenode(f) >= 0 ? DOCTOR_WARN : DOCTOR_FAIL, "namenode", "%s: %s", name_of(nn, name),
			nn->state.connected ? no_answer(f, nn, words, sizeof(words)) : no_connection(f, nn, words, sizeof(words)));
}

void doctor_tell_namenodes(const struct doctor_facts *f, struct doctor *d)
{
	unsigned n_active = 0, n_answer = 0;

	if (*f->conf->nameservice)
		doctor_say(d, DOCTOR_OK, "cluster", "nameservice %s, %u NameNode%s, of %s", f->conf->nameservice, f->n_nns,
			f->n_nns == 1 ? "" : "s", *f->site.dir ? f->site.dir : "the configuration");
	else
		doctor_say(d, DOCTOR_OK, "cluster", "%s, taken for a host: the configuration has no nameservice of that name or "
			"address", f->conf->authority);
	for (unsigned i = 0; i < f->n_nns; i++) {
		tell_namenode(f, &f->nns[i], d);
		n_active += is_active(&f->nns[i]);
		n_answer += answers(&f->nns[i]);
	}
	if (n_active > 1)
		doctor_say(d, DOCTOR_FAIL, "ha", "%u NameNodes say that they are active; only one may be: fence the other",
			n_active);
	else if (doctor_namenode(f) < 0 && n_answer)
		doctor_say(d, DOCTOR_FAIL, "ha", "no NameNode is active, so nothing can be read or written: look at the failover "
			"controllers, or `hdfs haadmin -transitionToActive`");
	else if (doctor_namenode(f) < 0 && f->n_nns > 1)
		doctor_say(d, DOCTOR_FAIL, "ha", "no NameNode answers: is it this site's configuration, and is the network there?");
	else if (f->n_nns > 1 && n_answer < f->n_nns)
		doctor_say(d, DOCTOR_WARN, "ha", "%u of %u NameNodes answer: it works, with %s to take over", n_answer, f->n_nns,
			n_answer > 1 ? "fewer" : "none");
}

/* Who one is. */

static void groups_of(const struct doctor_answer *a, struct buf *b)
{
	const Hdfs__GetGroupsForUserResponse *m = a->message;

	if (a->r < 0)
		buf_printf(b, "groups not told: %s", a->words);
	else if (!m || !m->n_groups)
		buf_puts(b, "no groups there: it is unknown on the NameNode's host, and owns what it writes all the same");
	else
		buf_printf(b, "group%s %s", m->n_groups > 1 ? "s" : "", m->groups[0]);
	for (size_t i = 1; a->r == 0 && m && i < MIN(m->n_groups, (size_t)16); i++)
		buf_printf(b, ", %s", m->groups[i]);
}

void doctor_tell_login(const struct doctor_facts *f, struct doctor *d)
{
	AUTO_BUF struct buf groups = {.max = 8192};
	bool claimed = strcmp(f->process_user, f->conf->user) != 0;

	groups_of(&f->groups, &groups);
	if (groups.r < 0)
		d->r = groups.r == -ENOMEM ? -ENOMEM : d->r;
	doctor_say(d, DOCTOR_OK, "login", "%s%s%s%s; %s", f->conf->user, claimed ? " by HADOOP_USER_NAME (this process: " : "",
		claimed ? *f->process_user ? f->process_user : "a user without a name" : "", claimed ? ")" : "",
		groups.ptr ? (const char *)groups.ptr : "");
}
