/* SPDX-License-Identifier: Apache-2.0 */
/* The path that was asked for, and what may be done with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/scope.h"
#include "base/str.h"
#include "store/hdfs/doctor/doctor_policy.h"

const Hdfs__FileStatus *doctor_status(const struct doctor_facts *f)
{
	const Hdfs__GetFileInfoResponse *m = f->status.r == 0 ? f->status.message : NULL;

	return m ? m->fs : NULL;
}

static const char *mode_of(const Hdfs__FileStatus *st, char out[16])
{
	snprintf(out, 16, "rwxrwxrwx");
	for (unsigned i = 0; i < 9; i++)
		if (!(st->permission->perm & 0400u >> i))
			out[i] = '-';
	if (st->permission->perm & 01000u)
		out[8] = out[8] == 'x' ? 't' : 'T';
	return out;
}

static const char *kind_of(const Hdfs__FileStatus *st)
{
	return st->file_type == HDFS__FILE_STATUS__TYPE__DIR ? "folder" :
		st->file_type == HDFS__FILE_STATUS__TYPE__FILE ? "file" : "symbolic link";
}

/* May it, by what the NameNode says. */
static void tell_right(const struct doctor_facts *f, const struct doctor_answer *a, const char *what, enum doctor_grade refused,
	struct doctor *d)
{
	const Hdfs__FileStatus *st = doctor_status(f);
	char mode[16];

	if (a->r == 0)
		doctor_say(d, DOCTOR_OK, what, "%s may", f->conf->user);
	else if (a->r == -EACCES)
		doctor_say(d, refused, what, "%s may not: %s is %s, of %s:%s. Ask its owner, or be another user "
			"(HADOOP_USER_NAME)", f->conf->user, f->path, mode_of(st, mode), st->owner, st->group);
	else
		doctor_say(d, DOCTOR_WARN, what, "not told: %s", a->words);
}

static void tell_quota(const struct doctor_answer *a, struct doctor *d)
{
	const Hdfs__GetQuotaUsageResponse *m = a->r == 0 ? a->message : NULL;
	const Hdfs__QuotaUsage *u = m ? m->usage : NULL;
	char used[STR_SIZE_MAX], limit[STR_SIZE_MAX];
	bool names, space;

	if (!a->asked)
		return;
	if (!u) {
		doctor_say(d, DOCTOR_NOTE, "quota", "not told: %s", a->words);
		return;
	}
	/* Negative: none. The root has one of all that can be counted. */
	names = u->quota < INT64_MAX;
	space = u->space_quota < INT64_MAX;
	if (!names && !space)
		doctor_say(d, DOCTOR_OK, "quota", "none on this folder itself; those of folders above count all the same");
	if (names)
		doctor_say(d, u->file_and_directory_count >= u->quota - u->quota / 10 ? DOCTOR_WARN : DOCTOR_OK, "quota",
			"%" PRIu64 " of %" PRIu64 " names used", u->file_and_directory_count, u->quota);
	if (space)
		doctor_say(d, u->space_consumed >= u->space_quota - u->space_quota / 10 ? DOCTOR_WARN : DOCTOR_OK, "quota",
			"%s of %s used, counted with replicas", str_size((double)u->space_consumed, used),
			str_size((double)u->space_quota, limit));
}

static void tell_zone(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__GetEzForPathResponse *m = f->zone.r == 0 ? f->zone.message : NULL;

	if (m && m->zone)
		doctor_say(d, DOCTOR_FAIL, "zone", "%s is in the encryption zone %s (key %s): its files are refused, reading "
			"through a KMS is not built", f->path, m->zone->path, m->zone->key_name);
	else if (f->zone.r < 0 && f->zone.r != -EOPNOTSUPP)
		doctor_say(d, DOCTOR_NOTE, "zone", "not told: %s", f->zone.words);
	else
		doctor_say(d, DOCTOR_OK, "zone", "in no encryption zone");
}

/* Hadoop's own policies come as numbers only; that of files which are replicated under a coded folder is one of them. */
#define EC_REPLICATION 63u

static const char *ec_name(const Hdfs__EcPolicy *p)
{
	static const char *const names[] = {NULL, "RS-6-3-1024k", "RS-3-2-1024k", "RS-LEGACY-6-3-1024k", "XOR-2-1-1024k",
		"RS-10-4-1024k"};

	if (p->id < N_ELEMS(names) && names[p->id])
		return names[p->id];
	return p->name ? p->name : "without a name";
}

static void tell_ec(const struct doctor_facts *f, const Hdfs__FileStatus *st, struct doctor *d)
{
	const Hdfs__GetErasureCodingPolicyResponse *m = f->ec.r == 0 ? f->ec.message : NULL;
	const Hdfs__EcPolicy *p = m ? m->ec_policy : NULL;
	bool is_file = st->file_type == HDFS__FILE_STATUS__TYPE__FILE;

	if (p && p->id != EC_REPLICATION)
		doctor_say(d, is_file ? DOCTOR_FAIL : DOCTOR_WARN, "erasure code", "%s has the policy %s: %s refused, replicated "
			"files only", f->path, ec_name(p), is_file ? "it is" : "files written under it are");
	else if (f->ec.r < 0 && f->ec.r != -EOPNOTSUPP)
		doctor_say(d, DOCTOR_NOTE, "erasure code", "not told: %s", f->ec.words);
	else
		doctor_say(d, DOCTOR_OK, "erasure code", "none: files are replicated");
}

void doctor_tell_path(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__FileStatus *st = doctor_status(f);
	char mode[16], size[STR_SIZE_MAX];
	bool is_file;

	if (f->status.r == -EACCES)
		doctor_say(d, DOCTOR_FAIL, "path", "%s may not look at %s: %s", f->conf->user, f->path, f->status.words);
	else if (f->status.r < 0)
		doctor_say(d, DOCTOR_FAIL, "path", "%s: %s", f->path, f->status.words);
	else if (!st)
		doctor_say(d, DOCTOR_FAIL, "path", "there is no %s on this cluster; `olddog ls` on the folder above shows what "
			"there is", f->path);
	if (!st)
		return;
	is_file = st->file_type == HDFS__FILE_STATUS__TYPE__FILE;
	doctor_say(d, DOCTOR_OK, "path", "%s is a %s%s%s, %s, of %s:%s", f->path, kind_of(st), is_file ? " of " : "",
		is_file ? str_size((double)st->length, size) : "", mode_of(st, mode), st->owner, st->group);
	tell_right(f, &f->may_read, "read", DOCTOR_FAIL, d);
	tell_right(f, &f->may_write, "write", DOCTOR_NOTE, d);
	tell_quota(&f->quota, d);
	tell_zone(f, d);
	tell_ec(f, st, d);
}
