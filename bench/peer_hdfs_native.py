# SPDX-License-Identifier: Apache-2.0
"""hdfs-native, as bench/hdfs.py measures it: the same verbs and output as bench-hdfs.

    peer_hdfs_native.py read|ranges|ranges-16|write|stat|list URL ..
    peer_hdfs_native.py put|put-16|get|get-16 URL FOLDER
    peer_hdfs_native.py copy|copy-16 URL URL

read: in pieces of 4 MiB, which is its fastest. ranges: of stdin, one after the other, or by 16 threads. stat: by 16 threads.
put, get, copy: of a tree, replication 1, a file after the other or by 16 threads, in pieces of 4 MiB.
"""

import concurrent.futures
import importlib.metadata
import json
import os
import sys
import time
from urllib.parse import urlsplit

import hdfs_native

CHUNK = 4 << 20
THREADS = 16


def in_threads(function, items):
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(function, items))


def read(client, path):
    n = 0
    with client.read(path) as f:
        while piece := f.read(CHUNK):
            n += len(piece)
    return {"bytes": n}


def ranges(client, path, wanted, run):
    with client.read(path) as f:
        found = run(lambda one: len(f.read_range(*one)), wanted)
    return {"bytes": sum(found), "items": len(wanted)}


def write(client, path, n_bytes, replicas):
    piece = bytes(CHUNK)
    with client.create(path, hdfs_native.WriteOptions(replication=int(replicas), overwrite=True)) as f:
        for at in range(0, int(n_bytes), CHUNK):
            f.write(piece[:int(n_bytes) - at])
    return {"bytes": int(n_bytes)}


def stat(client, path, n):
    client.get_file_info(path)
    return {"items": len(in_threads(lambda _: client.get_file_info(path), range(int(n))))}


def listing(client, path):
    return {"items": sum(1 for _ in client.list_status(path))}


def spill(read, write):
    while piece := read(CHUNK):
        write(piece)


def into_hdfs(client, read, path):
    with client.create(path, hdfs_native.WriteOptions(replication=1)) as out:
        spill(read, out.write)


def put(client, path, folder, run):
    """All below folder becomes what is below path."""
    wanted = []
    for at, _, names in os.walk(folder):
        to = path + at[len(folder):]
        client.mkdirs(to)
        wanted += [(f"{at}/{name}", f"{to}/{name}") for name in names]

    def one(pair):
        with open(pair[0], "rb", buffering=0) as f:
            into_hdfs(client, f.read, pair[1])
    run(one, wanted)
    return {"items": len(wanted)}


def files_below(client, path):
    return [status for status in client.list_status(path, True) if not status.isdir]


def get(client, path, folder, run):
    found = files_below(client, path)
    for parent in {os.path.dirname(status.path) for status in found}:
        os.makedirs(folder + parent[len(path):], exist_ok=True)

    def one(status):
        with client.read(status.path) as f, open(folder + status.path[len(path):], "wb", buffering=0) as out:
            spill(f.read, out.write)
    run(one, found)
    return {"items": len(found)}


def copy(client, path, to, run):
    found, to = files_below(client, path), urlsplit(to).path
    client.mkdirs(to)
    for parent in {os.path.dirname(status.path) for status in found}:
        client.mkdirs(to + parent[len(path):])

    def one(status):
        with client.read(status.path) as f:
            into_hdfs(client, f.read, to + status.path[len(path):])
    run(one, found)
    return {"items": len(found)}


def one_by_one(function, items):
    return [function(item) for item in items]


def main(verb, url, *args):
    parts = urlsplit(url)
    client = hdfs_native.Client(f"{parts.scheme}://{parts.netloc}")
    wanted = [tuple(map(int, line.split())) for line in sys.stdin] if verb.startswith("ranges") else []
    verbs = {"read": read, "write": write, "stat": stat, "list": listing,
             "ranges": lambda c, p: ranges(c, p, wanted, lambda f, items: [f(i) for i in items]),
             "ranges-16": lambda c, p: ranges(c, p, wanted, in_threads)}
    for name, tree in (("put", put), ("get", get), ("copy", copy)):
        verbs[name] = lambda c, p, other, tree=tree: tree(c, p, other, one_by_one)
        verbs[name + "-16"] = lambda c, p, other, tree=tree: tree(c, p, other, in_threads)
    began, cpu = time.perf_counter(), time.process_time()
    result = verbs[verb](client, parts.path, *args)
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - cpu,
                      "what": f"hdfs-native {importlib.metadata.version('hdfs-native')}", **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
