"""Where a source has what it includes by quotes: beside it, or below a folder above it, as projects write it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def quoted(content: bytes) -> list[str]:
    """What a source includes by quotes, in its order."""
    return [name.decode(errors="surrogateescape") for name in _INCLUDE.findall(content)]


def include_roots(source: Path) -> list[str]:
    """The options that let a compiler find what a source includes below folders above its own."""
    source = source.resolve()
    roots: dict[Path, None] = {}
    for name in quoted(source.read_bytes()):
        holds = next((folder for folder in source.parents if (folder / name).is_file()), source.parent)
        if holds != source.parent:
            roots[holds] = None
    return [word for root in roots for word in ("-I", str(root))]
