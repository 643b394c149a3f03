# SPDX-License-Identifier: Apache-2.0
"""hdfs-native, as bench/hdfs.py measures it: the same verbs and output as bench-hdfs.

    peer_hdfs_native.py read|ranges|ranges-16|write|stat|list URL ..

read: in pieces of 4 MiB, which is its fastest. ranges: of stdin, one after the other, or by 16 threads. stat: by 16 threads.
"""

import concurrent.futures
import importlib.metadata
import json
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


def main(verb, url, *args):
    parts = urlsplit(url)
    client = hdfs_native.Client(f"{parts.scheme}://{parts.netloc}")
    wanted = [tuple(map(int, line.split())) for line in sys.stdin] if verb.startswith("ranges") else []
    verbs = {"read": read, "write": write, "stat": stat, "list": listing,
             "ranges": lambda c, p: ranges(c, p, wanted, lambda f, items: [f(i) for i in items]),
             "ranges-16": lambda c, p: ranges(c, p, wanted, in_threads)}
    began, cpu = time.perf_counter(), time.process_time()
    result = verbs[verb](client, parts.path, *args)
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - cpu,
                      "what": f"hdfs-native {importlib.metadata.version('hdfs-native')}", **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
