# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions. Their words say what was asked, what was found and what to do."""

import errno

from . import _olddog


class Error(Exception):
    """Any failure of a Loader. `code` is libolddog's: a negative errno, or one of its own."""

    def __init__(self, words, code=0):
        super().__init__(words)
        self.code = code

    def __reduce__(self):
        return type(self), (str(self), self.code)


class BadSample(Error):
    """A sample's bytes are not what its format says, or pass a limit, and the spec's `on_error` is not `skip`."""


class Changed(Error):
    """The data changed since the plan was made."""


class OtherOrder(Error):
    """The state belongs to another order: other data, seed or shuffle."""


class BadSpec(Error, ValueError):
    """The spec, a field's name or a transform cannot be used."""


class BadFormat(Error, ValueError):
    """A file or a state is not of the format that was expected."""


class BadArgument(Error, ValueError):
    """An argument is out of its range."""


class NotFound(Error, LookupError):
    """A path, or one of olddog's own programs, is not there."""


class Held(Error, MemoryError):
    """Batches that are held fill `max_bytes`."""


class LoaderDied(Error, ConnectionError):
    """olddog-loader ended several times in a row."""


class Forked(Error):
    """The Loader belongs to the process that made it."""


class TimedOut(Error, TimeoutError):
    """`timeout` passed."""


class Warning(UserWarning):
    """What a user of a Loader should know but that stops nothing."""


_BY_CODE = {
    -1001: BadSample, -1002: BadSample, -1003: BadSample, -1007: BadSpec, -1008: BadFormat, -1009: Changed,
    -1010: OtherOrder, -errno.EINVAL: BadArgument, -errno.ENOENT: NotFound, -errno.ENOBUFS: Held,
    -errno.ECONNRESET: LoaderDied, -errno.ECHILD: Forked, -errno.ETIMEDOUT: TimedOut, -errno.EAGAIN: TimedOut}


def call(function, *args, **kw):
    """Calls what is in _olddog; its failures become the exceptions of this module."""
    try:
        return function(*args, **kw)
    except _olddog.Failed as e:
        code, words = e.args
    raise _BY_CODE.get(code, Error)(words, code) from None
