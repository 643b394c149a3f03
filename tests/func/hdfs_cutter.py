#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forwards TCP to NameNodes and DataNodes, knows their frames, and does harm between them.

    hdfs_cutter.py NAME=LISTEN_HOST:PORT=TO_HOST:PORT ..

Rules come as lines of JSON on stdin, or the word "clear":
    {"to": "dn1", "dir": "down", "unit": "frames", "after": 3, "do": "cut", "skew": 0, "times": 1, "kind": "packet"}
dir: up (from the client) or down. On each connection `after` is counted anew, with "now": true also on those that are open, from
the rule's coming on: frames (of the kind, when there is one), or bytes. Then, skew bytes behind that point, it happens, `times` times in all: cut (both ends closed; what was before is
delivered), reset (the same, with RST), stall (nothing more is forwarded, either way, and nothing is closed), flip (a bit of
that byte), drop (of frames: the next one is left out), hold
(nothing is forwarded on any connection until the word "clear"). Unit "total": bytes to or from all DataNodes together since
the rule came, and it strikes on any connection. Unit "all": frames of all connections together since the rule came; it strikes
on that of the last of them, at once: also where nothing more comes. With it, count: does no harm, and tells each frame.
Kinds: call, answer (NameNode); op, response, packet, ack, status.

On stdout, a line of JSON each: {"event": "ready"}, {"event": "rule"}, {"event": "open", "to", "n"}, {"event": "struck",
"to", "n", "dir", "do", "frames", "bytes", "total"} (forwarded that way before it struck), {"event": "frame", "kind", "n", "idle"} (counted; whether nothing is under way
on its connection behind it), {"event": "closed", "to", "n", "up",
"down", "frames_up", "frames_down"} (bytes, frames).
"""

import asyncio
import contextlib
import json
import socket
import struct
import sys

READ_BLOCK, WRITE_BLOCK = 81, 80
totals = {"up": 0, "down": 0}  # bytes to and from DataNodes


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


# --- frames: generators that ask for n bytes by `yield n` (and get them) or skip by `yield -n`, and tell frames by a str,
# which begins with a space where nothing is under way behind it

def varint():
    value, shift = 0, 0
    while True:
        byte = (yield 1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def message():
    n = yield from varint()
    return (yield n) if n else b""


def packet():
    """True for the last of a block."""
    n, head = struct.unpack(">IH", (yield 6))
    header = yield head
    if n > 4:
        yield -(n - 4)
    return header[18:20] == b"\x18\x01"


class NameNode:
    """How many calls are not answered."""

    def __init__(self):
        self.n_calls = -1  # the first frame, of the connection, never is

    def up(self):
        yield 7  # "hrpc", version, class, authentication
        yield from self.frames("call", 1)

    def down(self):
        yield from self.frames("answer", -1)

    def frames(self, kind, more):
        while True:
            n = struct.unpack(">I", (yield 4))[0]
            if n:
                yield -n
            self.n_calls += more
            yield kind if self.n_calls > 0 else f" {kind}"


class DataNode:
    """What one direction must know of the other: which operations are under way."""

    def __init__(self):
        self.ops = []

    def up(self):
        first = None
        while True:
            first = first or (yield 1)
            if first != b"\0":  # how the client found what it read
                yield -first[0]
                yield " status"
                first = None
                continue
            first, op = None, {"code": (yield 2)[1], "last": None}
            yield from message()
            self.ops.append(op)
            yield "op"
            if op["code"] == WRITE_BLOCK:
                n = 0
                while not (yield from packet()):
                    n += 1
                    yield "packet"
                op["last"] = n
                yield "packet"

    def down(self):
        while True:
            said = yield from message()
            op = self.ops.pop(0) if self.ops else {"code": 0}
            yield "response"
            if said[:2] != b"\x08\x00":
                continue
            if op["code"] == READ_BLOCK:
                while not (yield from packet()):
                    yield "packet"
                yield " packet"
            elif op["code"] == WRITE_BLOCK:
                n = 0
                while op["last"] is None or n <= op["last"]:
                    if (yield from message())[:2] != b"\x08\x01":  # heartbeats have -1, of no packet
                        n += 1
                    yield "ack" if op["last"] is None or n <= op["last"] else " ack"


class Frames:
    """Feeds a generator; gives where frames end."""

    def __init__(self, generator):
        self.g, self.at, self.have = generator, 0, b""
        self.want = next(generator)
        self.idle_at = set()  # ends of frames behind which nothing is under way

    def feed(self, data):
        """[(offset in the stream behind the frame, kind)] of frames that end in data."""
        found, i = [], 0
        while i < len(data) or isinstance(self.want, str):
            if isinstance(self.want, str):
                found.append((self.at, self.want.strip()))
                if self.want.startswith(" "):
                    self.idle_at.add(self.at)
                self.want = self.g.send(None)
            elif self.want < 0:
                n = min(-self.want, len(data) - i)
                i, self.at, self.want = i + n, self.at + n, self.want + n
                if self.want == 0:
                    self.want = self.g.send(None)
            else:
                n = min(self.want - len(self.have), len(data) - i)
                self.have += data[i:i + n]
                i, self.at = i + n, self.at + n
                if len(self.have) == self.want:
                    got, self.have = self.have, b""
                    self.want = self.g.send(got)
        return found


# --- harm

class Rule:
    def __init__(self, words):
        self.to, self.dir = words.get("to"), words.get("dir", "down")
        self.unit, self.after = words.get("unit", "frames"), words.get("after", 0)
        self.do, self.skew = words["do"], words.get("skew", 0)
        self.times, self.kind = words.get("times", 1), words.get("kind")
        self.now = words.get("now", False)
        self.from_total = totals[self.dir]
        self.n_seen, self.where = 0, None  # of unit "all": frames, the flow and the place where it strikes

    def is_for(self, link, direction):
        return self.times > 0 and self.dir == direction and self.to in (None, link.name)

    def see(self, flow, end, kind):
        """A frame, of those that unit "all" counts."""
        if self.unit != "all" or self.kind not in (None, kind) or not self.is_for(flow.link, flow.direction):
            return
        self.n_seen += 1
        if self.do == "count":
            say("frame", kind=kind, n=self.n_seen, idle=end in flow.frames.idle_at)
        elif self.n_seen == self.after:
            self.where = flow, end + self.skew


class Ended(Exception):
    pass


class Flow:
    """One direction of a connection."""

    def __init__(self, link, direction, reader, writer):
        self.link, self.direction, self.reader, self.writer = link, direction, reader, writer
        self.frames, self.counts, self.n_frames, self.sent, self.taken = None, {}, 0, 0, 0
        self.struck, self.dropping = set(), False
        self.begun = {}  # by rule: the frames and bytes that had been when it came, if it counts from then on
        self.ends = []  # of frames that have not been passed on

    def point(self, rule):
        """Where in the stream a rule strikes; None: not known yet."""
        if rule.unit == "total":
            return self.taken if totals[self.direction] >= rule.from_total + rule.after else None
        if rule.unit == "all":
            return max(rule.where[1], self.taken) if rule.where and rule.where[0] is self else None
        n_frames, n_bytes = self.begun.get(id(rule), (0, 0))
        if rule.unit == "bytes":
            return n_bytes + rule.after + rule.skew
        if n_frames + rule.after == 0:
            return rule.skew
        end = self.counts.get((rule.kind, n_frames + rule.after))
        return None if end is None else end + rule.skew

    def note(self, found):
        for rule in self.link.rules:
            if rule.now:
                self.begun.setdefault(id(rule), (self.counts.get(rule.kind, 0), self.taken))
        for end, kind in found:
            self.n_frames += 1
            for k in (None, kind):
                n = self.counts[k] = self.counts.get(k, 0) + 1
                self.counts[k, n] = end
            for rule in self.link.rules:
                rule.see(self, end, kind)
            self.ends.append(end)
        while len(self.ends) > 4096:
            self.ends.pop(0)

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)
        if self.link.name.startswith("dn"):
            totals[self.direction] += len(data)

    async def strike(self, rule, piece):
        """At the beginning of piece; what is to be passed on of it."""
        rule.times -= 1
        self.struck.add(id(rule))
        say("struck", to=self.link.name, n=self.link.n, dir=self.direction, do=rule.do, frames=self.n_frames, bytes=self.sent,
            total=totals[self.direction] - rule.from_total)
        if rule.do == "hold":
            Link.goes_on.clear()
            await Link.goes_on.wait()
            return piece
        if rule.do == "flip":
            return bytes([piece[0] ^ 0x10]) + piece[1:]
        if rule.do == "drop":
            self.dropping = True
            return piece
        if rule.do == "stall":
            self.link.stalled = True
            await for_ever()
        if rule.do == "reset":
            for w in self.link.writers:
                with contextlib.suppress(OSError):
                    w.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Ended

    async def pass_on(self, data):
        """data begins at self.taken of the stream."""
        while data:
            if self.dropping:
                end = next((e for e in self.ends if e > self.taken), None)
                n = len(data) if end is None else min(len(data), end - self.taken)
                self.dropping = end is None or self.taken + n < end
                data, self.taken = data[n:], self.taken + n
                continue
            n = len(data)
            for rule in self.link.rules:
                at = self.point(rule) if rule.is_for(self.link, self.direction) and id(rule) not in self.struck else None
                if at is not None and at == self.taken:
                    data = await self.strike(rule, data)
                    n = min(n, 1) if rule.do == "flip" else n
                elif at is not None and at > self.taken:
                    n = min(n, at - self.taken)
            if self.dropping:
                continue
            await self.send(data[:n])
            data, self.taken = data[n:], self.taken + n
        for rule in self.link.rules:
            if rule.unit == "all" and rule.is_for(self.link, self.direction) and self.point(rule) == self.taken:
                await self.strike(rule, b"")

    async def run(self):
        while data := await self.reader.read(1 << 16):
            if self.link.stalled:
                await for_ever()
            if self.frames is None:
                self.frames = Frames(self.link.grammar(self.direction, data))
            try:
                self.note(self.frames.feed(data))
            except (StopIteration, struct.error, IndexError):
                self.frames = Frames(bytes_only())
            await Link.goes_on.wait()
            await self.pass_on(data)
        raise Ended  # one that has no more to say ends both: no client here goes on after half a close


async def for_ever():
    await asyncio.sleep(1 << 20)  # the loop holds its timer: an event that nobody knows would be collected, task and all


def bytes_only():
    while True:
        yield -(1 << 60)


class Link:
    """One connection."""

    n_links = 0
    goes_on = asyncio.Event()

    def __init__(self, name, rules):
        Link.n_links += 1
        self.name, self.rules, self.n = name, rules, Link.n_links
        self.stalled, self.node, self.writers = False, None, []

    def grammar(self, direction, data):
        if direction == "up":
            self.node = DataNode() if data[:1] == b"\0" else NameNode()
            return self.node.up()
        return self.node.down()

    async def run(self, reader, writer, to):
        say("open", to=self.name, n=self.n)
        try:
            up_reader, up_writer = await asyncio.open_connection(*to)
        except OSError:
            writer.close()
            say("closed", to=self.name, n=self.n, up=0, down=0, frames_up=0, frames_down=0)
            return
        self.writers = [writer, up_writer]
        up, down = Flow(self, "up", reader, up_writer), Flow(self, "down", up_reader, writer)
        tasks = [asyncio.create_task(f.run()) for f in (up, down)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for t in tasks:
            t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for w in self.writers:
            w.close()
        for w in self.writers:
            with contextlib.suppress(OSError):
                await w.wait_closed()
        say("closed", to=self.name, n=self.n, up=up.sent, down=down.sent, frames_up=up.n_frames, frames_down=down.n_frames)


async def commands(rules):
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line.strip() == b"clear":
            rules.clear()
            Link.goes_on.set()
        else:
            rules.append(Rule(json.loads(line)))
        say("rule", n=len(rules))


async def main(words):
    rules, servers = [], []
    Link.goes_on.set()
    for word in words:
        name, listen, to = word.split("=")
        host, port = to.rsplit(":", 1)

        async def serve(reader, writer, name=name, to=(host, int(port))):
            await Link(name, rules).run(reader, writer, to)
        at = listen.rsplit(":", 1)
        servers.append(await asyncio.start_server(serve, at[0], int(at[1])))
    say("ready")
    await commands(rules)  # its end is ours


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
