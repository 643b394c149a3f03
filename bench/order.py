# SPDX-License-Identifier: Apache-2.0
"""What does it cost to know which sample is at a position? bench/order.c asks, case by case; it has no peer."""

import subprocess

import rounds
from rounds import ROOT, Measure, Question, measure

QUESTION = Question("order", "What does it cost to know which sample is at a position?", {
    "in_order": Measure("positions in order, ns", "in_order_ns", absolute=True),
    "every_8th": Measure("every 8th, ns", "every_8th_ns", absolute=True),
    "random": Measure("at random, ns", "random_ns", absolute=True),
    "opened": Measure("opening, us", "opened_us", absolute=True),
    "first": Measure("first 100 of an epoch, ms", "first_ms", absolute=True)})


def main():
    args = rounds.options("order", __doc__, n_rounds=3).parse_args()
    program = ROOT / "build/bench/bench-order"
    names = subprocess.run([program], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    cases = {name: lambda number=number: measure([program, number]) for number, name in enumerate(names)}
    rounds.finish(QUESTION.take(rounds.only(cases, args.only), args.rounds, {"time": "CPU of one thread"}), args)


if __name__ == "__main__":
    main()
