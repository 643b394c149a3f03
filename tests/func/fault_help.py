# SPDX-License-Identifier: Apache-2.0
"""What tests of faults share that strike a reader or a writer of HDFS in the middle of its file."""

from hdfs_help import client_env, wait_for
from ops_help import Io, stream

KEY = 5
BLOCK = 1 << 20
SIZE = 8 * BLOCK + 12345
CHUNK = 1 << 18
READ_RECOVERIES = ("failed_reads", "dead_nodes", "refetches", "hedge_wins")
WRITE_RECOVERIES = ("pipeline_updates", "excluded_nodes", "blocks_abandoned")


def far_env(cluster, folder, **keys):
    """A client that reads by DataNodes only, and that asks for locations again soon."""
    return client_env(cluster, folder, **{"dfs__client__read__shortcircuit": "false", "dfs__client__retry__window__base": "10",
                                          **keys})


def put(folder, block=BLOCK, replication=3, key=KEY):
    """A file x whose blocks have all their replicas."""
    folder.put("x", stream(key, 0, SIZE), blocksize=block, replication=replication)
    wait_for("all replicas", lambda: all(len(b["dns"]) == replication for b in folder.blocks("x")))


def read(folder, env, chunk=CHUNK):
    return Io("read", folder.url("x"), KEY, SIZE, chunk, env=env)


def write(folder, env, size=SIZE, replicas=3, verb="write"):
    return Io(verb, folder.url("x"), KEY, size, CHUNK, replicas, BLOCK, env=env)


def is_whole(folder, size=SIZE):
    assert folder.get("x") == stream(KEY, 0, size)


def put_some(folder, size, replication=2):
    """A file x of so many bytes, in blocks of BLOCK."""
    folder.put("x", stream(KEY, 0, size), blocksize=BLOCK, replication=replication)
