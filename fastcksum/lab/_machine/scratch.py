"""The folder of everything that is compiled: one a process, made when it is first asked for."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from functools import cache

_first_comes = threading.Lock()


def scratch() -> str:
    """The folder's path. It is removed when the process that made it ends, not when a child that was forked off
    does.
    """
    with _first_comes:  # of two threads, or one would lose its folder
        return _made_by_this_process()


@cache
def _made_by_this_process() -> str:
    folder = tempfile.mkdtemp(prefix="fastcksum-")
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
