# SPDX-License-Identifier: Apache-2.0
"""The command `olddog` of an installed package: the program that stands beside this file."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "olddog")
    if not os.access(program, os.X_OK):
        sys.exit(f"olddog: {program} is not there: this package was built without the command")
    os.execv(program, ["olddog", *sys.argv[1:]])


if __name__ == "__main__":
    main()
