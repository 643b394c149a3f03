# SPDX-License-Identifier: Apache-2.0
"""olddog: batches for training, the same bytes for the same position on every machine, rank count and retry.

    loader = olddog.Loader("cc3m.plan", batch=256, fields=["image", "text"], transform="imagenet_train")
    for batch in loader:                   # one epoch
        step(batch["image"], batch["text"])

olddog.torch.Loader gives tensors. See olddog-python(3).
"""

try:
    from ._olddog import version as __version__
except ModuleNotFoundError as e:
    raise ImportError(f"olddog is not built here ({__path__[0]}): `make` leaves the package in build/python, and `pip install .` "
                      "installs it") from e
from .batch import Batch
from .errors import (BadArgument, BadFormat, BadSample, BadSpec, Changed, Error, Forked, Held, LoaderDied, NotFound,
                     OtherOrder, TimedOut, Warning)
from .key import Key
from .loader import Loader

__all__ = ["BadArgument", "BadFormat", "BadSample", "BadSpec", "Batch", "Changed", "Error", "Forked", "Held", "Key",
           "Loader", "LoaderDied", "NotFound", "OtherOrder", "TimedOut", "Warning"]


def __getattr__(name):
    # olddog.torch without an import of its own; torch is imported only by who asks for it.
    if name == "torch":
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'olddog' has no attribute {name!r}")
