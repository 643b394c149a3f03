# SPDX-License-Identifier: Apache-2.0
"""Trains demo/model.py on a plan, data parallel over --ranks processes, from where STATE's checkpoint says.

Each rank has a Loader of its own and gives its part of the gradient; this process adds the parts up in rank order,
steps, and sends the weights back. Every --save steps it writes STATE/checkpoint.npz (weights and the Loader's state, by
rename). What every step consumed goes to STATE/RUN.log, a line for each sample: step, position, SHA-256 of its bytes.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import olddog

from model import Model

GLOBAL_BATCH = 48


def sample_sums(batch):
    """[(position, SHA-256 of the sample's image and label)]."""
    return [(int(p), hashlib.sha256(np.ascontiguousarray(x).tobytes() + int(y).to_bytes(8, "little")).hexdigest())
            for p, x, y in zip(batch.position, batch["image"], batch["label"])]


def endless(loader):
    """iter(loader) is the rest of an epoch; this goes on with the next."""
    while True:
        yield from loader


def rank_main(pipe, args, rank, state, n_classes):
    loader = olddog.Loader(args.plan, batch=GLOBAL_BATCH // args.ranks, dp_rank=rank, dp_size=args.ranks, state=state)
    model, batches = Model(n_classes), endless(loader)
    while True:
        began = time.perf_counter()
        batch = next(batches)
        waited = time.perf_counter() - began
        try:
            order = pipe.recv()
        except EOFError:  # training is over, or its process was killed
            return
        model.p = order["weights"]
        loss, right, gradients = model.gradients(batch["image"], batch["label"])
        record = {"image": batch["image"], "label": batch["label"], "position": batch.position} if order["record"] else None
        pipe.send({"loss": loss, "right": right, "gradients": gradients, "sums": sample_sums(batch), "waited": waited,
                   "record": record, "state": loader.state_dict()})


def held_out(plan):
    """(images, labels) of the whole plan."""
    batches = [(np.array(b["image"]), np.array(b["label"])) for b in olddog.Loader(plan)]
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def save(path, model, step, state):
    arrays = {f"p.{k}": v for k, v in model.p.items()} | {f"v.{k}": v for k, v in model.v.items()}
    with open(path.with_suffix(".part"), "wb") as f:
        np.savez(f, step=step, state=json.dumps(state), **arrays)
        f.flush()
        os.fsync(f.fileno())
    path.with_suffix(".part").rename(path)


def restore(path, model):
    """(step, Loader's state); (0, None) when there is no checkpoint yet."""
    if not path.exists():
        return 0, None
    with np.load(path) as saved:
        for k in model.p:
            model.p[k], model.v[k] = saved[f"p.{k}"], saved[f"v.{k}"]
        return int(saved["step"]), json.loads(str(saved["state"]))


def one_step(pipes, model, rate, record):
    """Every rank's answer, in rank order; the model has made its step."""
    for pipe in pipes:
        pipe.send({"weights": model.p, "record": record})
    answers = [pipe.recv() for pipe in pipes]
    total = {k: sum(a["gradients"][k] for a in answers) for k in model.p}
    model.step(total, GLOBAL_BATCH, rate)
    return answers


def write_record(path, answers):
    np.savez(path, **{k: np.concatenate([a["record"][k] for a in answers]) for k in ("image", "label", "position")})


def train(args, images, labels):
    n_classes = int(labels.max()) + 1
    model = Model(n_classes)
    checkpoint = args.state / "checkpoint.npz"
    first, state = restore(checkpoint, model)
    context = multiprocessing.get_context("spawn")
    pipes = []
    for rank in range(args.ranks):
        ours, theirs = context.Pipe()
        context.Process(target=rank_main, args=(theirs, args, rank, state, n_classes), daemon=True).start()
        theirs.close()
        pipes.append(ours)
    print(f"{args.run}: from step {first} on {args.ranks} ranks", flush=True)
    with open(args.state / f"{args.run}.log", "w") as log:
        for step in range(first, args.steps):
            record = step % args.record_every == args.record_every - 1
            answers = one_step(pipes, model, 0.1 * (1 - step / args.steps), record)
            log.writelines(f"{step} {p} {s}\n" for a in answers for p, s in a["sums"])
            log.flush()
            if record:
                write_record(args.state / "records" / f"{step:06d}.npz", answers)
            if (step + 1) % args.save_every == 0:
                save(checkpoint, model, step + 1, answers[0]["state"])
                print(f"{args.run}: step {step + 1:4}  loss {sum(a['loss'] for a in answers) / GLOBAL_BATCH:.3f}  "
                      f"right {sum(a['right'] for a in answers):2} of {GLOBAL_BATCH}  "
                      f"held out {model.accuracy(images, labels):.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("held_out")
    parser.add_argument("state", type=Path)
    parser.add_argument("--run", default="run")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=25)
    parser.add_argument("--record-every", type=int, default=15)
    args = parser.parse_args()
    (args.state / "records").mkdir(parents=True, exist_ok=True)
    train(args, *held_out(args.held_out))


if __name__ == "__main__":
    main()
