"""How far something is: one protocol for all that takes long, and tqdm's bar, in a notebook tqdm's for notebooks."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from ._extras import extra

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, all), now and then."""

ProgressLike: TypeAlias = Progress | bool | None
"""A function; True for a bar; None for a bar where somebody looks, a terminal or a notebook; False for silence."""


def silent(_done: int, _all: int) -> None:
    """A Progress that says nothing."""


@contextmanager
def reporting(progress: ProgressLike, what: str, **options: Any) -> Iterator[Progress]:
    """The Progress that is meant by this argument. options: further ones of tqdm, such as unit="B".

    Without tqdm None is silent and True an ImportError with the pip command.
    """
    if callable(progress):
        yield progress
        return
    make_bar = (
        _bar(required=progress is True) if progress or (progress is None and _somebody_looks()) else None
    )
    if make_bar is None:
        yield silent
        return
    with make_bar(desc=what, leave=False, **_room(), **options) as bar:

        def draw(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield draw


def _bar(*, required: bool) -> Any:
    """The class of tqdm's bar; None without tqdm."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a notebook without ipywidgets: the plain bar does as well
            return extra("tqdm.auto", "a progress bar", "lab").tqdm
    except ModuleNotFoundError:
        if required:
            raise
        return None


def _room() -> dict[str, Any]:
    """How much of a terminal the bar may take. One that says 0 x 0 gets 80 x 24: tqdm would draw nothing on it."""
    if not _on_terminal():
        return {}
    size = shutil.get_terminal_size()
    return {"ncols": min(size.columns, 100), "nrows": size.lines}


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _somebody_looks() -> bool:
    if _on_terminal():
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
