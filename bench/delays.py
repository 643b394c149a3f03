# SPDX-License-Identifier: Apache-2.0
"""The delays of a store `#fault=delay:A-B,slow:P:T,seed:N`, for a peer that is to meet the same ones (src/store/fault.h).

    delays.py SEED A B P T PATH OFFSET      prints the nanoseconds; times are nanoseconds, PATH as the store has it
"""

import hashlib
import sys
from dataclasses import dataclass

M32 = 0xFFFFFFFF


def philox(key, counter):
    """Philox4x32-10: four numbers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & M32, a >> 32 ^ c[3] ^ k[1], a & M32]
        k = [k[0] + 0x9E3779B9 & M32, k[1] + 0xBB67AE85 & M32]
    return c


def key_of(seed):
    digest = hashlib.sha256(seed.to_bytes(8, "little") + b"fault").digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


@dataclass(frozen=True)
class Delays:
    seed: int
    min_ns: int
    max_ns: int
    slow_p: float
    slow_ns: int

    def suffix(self):
        """The same as a URL's suffix."""
        def told(ns):
            return f"{ns}ns" if ns % 10**6 else f"{ns // 10**6}ms"
        return f"#fault=delay:{told(self.min_ns)}-{told(self.max_ns)},slow:{self.slow_p}:{told(self.slow_ns)},seed:{self.seed}"

    def of(self, path, offset=0):
        """Nanoseconds that a read of this range waits."""
        clean = "/".join(part for part in str(path).split("/") if part not in ("", "."))
        hashed = int.from_bytes(hashlib.sha256(clean.encode()).digest()[:4], "little")
        u = [(x + 0.5) / 2**32 for x in philox(key_of(self.seed), (offset & M32, offset >> 32, hashed, 0))]
        return self.min_ns + int(u[0] * (self.max_ns - self.min_ns)) + (self.slow_ns if u[1] < self.slow_p else 0)


def main():
    seed, low, high, p, slow, path, offset = sys.argv[1:]
    print(Delays(int(seed), int(low), int(high), float(p), int(slow)).of(path, int(offset)))


if __name__ == "__main__":
    main()
