"""The memory that cells lie in: mapped, written on every page, and what pages back it."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from .cells import Spans

CHUNK: Final = 1 << 24


def mapped(size: int, source: np.random.Generator, *, huge_pages: bool = False) -> mmap.mmap:
    """A private mapping of at least size bytes, every page of it written with random bytes.

    Pages that were never written are all one page of zeros, which never leaves the nearest cache.
    """
    buffer = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge_pages:
        buffer.madvise(mmap.MADV_HUGEPAGE)
    for start in range(0, len(buffer), CHUNK):
        end = min(start + CHUNK, len(buffer))
        buffer[start:end] = source.bytes(end - start)
    return buffer


def page_backing(buffer: mmap.mmap, smaps: str | None = None) -> str:
    """What pages back the mapping, from /proc/self/smaps: "4 KiB pages", "2 MiB huge pages for 98 %"."""
    view = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    try:
        start = ctypes.addressof(view)
    finally:
        del view
    try:
        text = Path("/proc/self/smaps").read_text() if smaps is None else smaps
    except OSError:
        return "pages unknown"
    fields = _smaps_fields(text, start)
    if fields is None or "AnonHugePages" not in fields:
        return "pages unknown"
    huge = fields["AnonHugePages"] / max(fields.get("Size", 0), 1)
    small = f"{fields.get('KernelPageSize', mmap.PAGESIZE // 1024)} KiB pages"
    return small if huge == 0 else f"2 MiB huge pages for {min(huge, 1):.0%}, {small}"


def _smaps_fields(text: str, address: int) -> dict[str, int] | None:
    """The numbers (in KiB) of the mapping that holds the address. Neighbouring mappings are merged by the kernel."""
    fields: dict[str, int] | None = None
    for line in text.splitlines():
        head = line.split(" ", 1)[0]
        if "-" in head and not head.endswith(":"):
            if fields is not None:
                return fields
            low, high = (int(end, 16) for end in head.split("-"))
            fields = {} if low <= address < high else None
        elif fields is not None and line.endswith(" kB"):
            name, number = line.removesuffix(" kB").split(":")
            fields[name] = int(number)
    return fields


def regions_needed(spans: Sequence[Spans]) -> dict[str, int]:
    """Bytes of each region: as far as the last span of any cell in it reaches."""
    sizes: dict[str, int] = {}
    for each in spans:
        end = max(start + length for start, length in zip(each.offsets, each.lengths, strict=True))
        sizes[each.region] = max(sizes.get(each.region, 0), end)
    return sizes
