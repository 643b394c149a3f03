/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/nn/nn_error.h"

#include <string.h>

#include "base/scope.h"

/* words: what the first line has in it; NULL: anything. The first row that fits is taken. */
struct row {
	const char *class, *words;
	int r;
	enum nn_fault fault;
};

#define HDFS "org.apache.hadoop.hdfs.protocol."
#define NAMENODE "org.apache.hadoop.hdfs.server.namenode."
#define FS "org.apache.hadoop.fs."
#define IPC "org.apache.hadoop.ipc."
#define SECURITY "org.apache.hadoop.security."
#define IO "java.io.IOException"

static const struct row ROWS[] = {
	{IPC "StandbyException", NULL, -EAGAIN, NN_STANDBY},
	{IPC "ObserverRetryOnActiveException", NULL, -EAGAIN, NN_TRY_ACTIVE},
	{IPC "RetriableException", NULL, -EAGAIN, NN_RETRIABLE},
	/* What an administrator has turned on nobody need wait for. */
	{NAMENODE "SafeModeException", "turned on manually", -EROFS, NN_ANSWERED},
	{NAMENODE "SafeModeException", "Resources are low", -EROFS, NN_ANSWERED},
	{NAMENODE "SafeModeException", NULL, -EROFS, NN_SAFE_MODE},
	{"java.io.FileNotFoundException", "Path is not a file", -EISDIR, NN_ANSWERED},
	{"java.io.FileNotFoundException", NULL, -ENOENT, NN_ANSWERED},
	{FS "FileAlreadyExistsException", NULL, -EEXIST, NN_ANSWERED},
	{FS "ParentNotDirectoryException", NULL, -ENOTDIR, NN_ANSWERED},
	{FS "PathIsNotDirectoryException", NULL, -ENOTDIR, NN_ANSWERED},
	{FS "PathIsNotEmptyDirectoryException", NULL, -ENOTEMPTY, NN_ANSWERED},
	{FS "InvalidPathException", NULL, -EINVAL, NN_ANSWERED},
	{"org.apache.hadoop.HadoopIllegalArgumentException", NULL, -EINVAL, NN_ANSWERED},
	{"java.lang.IllegalArgumentException", NULL, -EINVAL, NN_ANSWERED},
	{"java.lang.UnsupportedOperationException", NULL, -EOPNOTSUPP, NN_ANSWERED},
	/* On the way to what is asked for: said before it is known whether that would be allowed. */
	{SECURITY "AccessControlException", "(is not a directory)", -ENOTDIR, NN_ANSWERED},
	{SECURITY "AccessControlException", NULL, -EACCES, NN_ANSWERED},
	{SECURITY "authorize.AuthorizationException", NULL, -EACCES, NN_ANSWERED},
	{SECURITY "token.SecretManager$InvalidToken", NULL, -EACCES, NN_ANSWERED},
	{HDFS "NSQuotaExceededException", NULL, -EDQUOT, NN_ANSWERED},
	{HDFS "DSQuotaExceededException", NULL, -EDQUOT, NN_ANSWERED},
	{HDFS "QuotaByStorageTypeExceededException", NULL, -EDQUOT, NN_ANSWERED},
	{HDFS "QuotaExceededException", NULL, -EDQUOT, NN_ANSWERED},
	{HDFS "FSLimitException$PathComponentTooLongException", NULL, -ENAMETOOLONG, NN_ANSWERED},
	{HDFS "FSLimitException$MaxDirectoryItemsExceededException", NULL, -ENOSPC, NN_ANSWERED},
	{HDFS "AlreadyBeingCreatedException", NULL, -EBUSY, NN_ANSWERED},
	{HDFS "RecoveryInProgressException", NULL, -EBUSY, NN_ANSWERED},
	{HDFS "UnresolvedPathException", NULL, -ELOOP, NN_ANSWERED},
	{HDFS "SnapshotAccessControlException", NULL, -EROFS, NN_ANSWERED},
	{HDFS "SnapshotException", NULL, -EBUSY, NN_ANSWERED},
	{HDFS "XAttrNotFoundException", NULL, -ENODATA, NN_ANSWERED},
	{HDFS "AclException", NULL, -EOPNOTSUPP, NN_ANSWERED},
	{NAMENODE "NotReplicatedYetException", NULL, -EAGAIN, NN_ANSWERED},
	/* Of a DataNode. */
	{"org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException", NULL, -ENODATA, NN_ANSWERED},
	{NAMENODE "LeaseExpiredException", NULL, -ESTALE, NN_ANSWERED},
	{IPC "RpcNoSuchMethodException", NULL, -EOPNOTSUPP, NN_ANSWERED},
	{IPC "RpcNoSuchProtocolException", NULL, -EOPNOTSUPP, NN_ANSWERED},
	{IPC "RPC$VersionMismatch", NULL, -EPROTONOSUPPORT, NN_ANSWERED},
	{IPC "RpcServerException", NULL, E_PROTOCOL, NN_ANSWERED},
	/* FSDirRenameOp, FSDirXAttrOp and others throw a bare IOException. */
	{IO, "destination directory is not empty", -ENOTEMPTY, NN_ANSWERED},
	{IO, "must both be directories", -EISDIR, NN_ANSWERED},
	{IO, "is a directory or file under source", -EINVAL, NN_ANSWERED},
	{IO, "cannot be the root", -EBUSY, NN_ANSWERED},
	{IO, "can't be moved", -EXDEV, NN_ANSWERED},
	{IO, "is not an empty directory", -ENOTEMPTY, NN_ANSWERED},
	{IO, "attributes provided was not found", -ENODATA, NN_ANSWERED},
	{IO, "No matching attributes found", -ENODATA, NN_ANSWERED},
	{IO, "The REPLACE flag must be specified", -EEXIST, NN_ANSWERED},
	{IO, "The CREATE flag must be specified", -ENODATA, NN_ANSWERED},
	{IO, "could only be written to", -ENOSPC, NN_ANSWERED},
	{IO, "could only be replicated to", -ENOSPC, NN_ANSWERED},
	{IO, "exceeds maximum of", -EINVAL, NN_ANSWERED},
	{IO, "is less than the required minimum", -EINVAL, NN_ANSWERED},
};

static struct str first_line(const struct rpc_answer *a)
{
	struct str rest = a->words;

	return str_trim(str_split(&rest, '\n'));
}

static bool has_words(struct str line, const char *words)
{
	return !words || (line.n && memmem(line.p, line.n, words, strlen(words)) != NULL);
}

struct nn_error nn_error_of(const struct rpc_answer *a)
{
	struct str line = first_line(a);
	struct nn_error e = {-EIO, NN_ANSWERED};

	for (size_t i = 0; i < N_ELEMS(ROWS); i++)
		if (str_eq(a->exception, ROWS[i].class) && has_words(line, ROWS[i].words)) {
			e = (struct nn_error){ROWS[i].r, ROWS[i].fault};
			break;
		}
	/* A queue that is full is told with the connection's end: what was not executed may go again. */
	if (a->status == RPC_FATAL && e.fault == NN_RETRIABLE)
		e.fault = NN_BUSY;
	return e;
}

const char *nn_error_line(const struct rpc_answer *a, char *out, size_t n)
{
	struct str line = first_line(a);

	return str_printable(line.n ? line : a->exception, out, n);
}
