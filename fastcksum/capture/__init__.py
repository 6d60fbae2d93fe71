"""Captures: the packets of a pcap or pcapng file as one buffer and arrays, and a verdict on every checksum in it.

The files are read with :mod:`fastcksum`'s own reader, csrc/packet/pcap.c, which says why. A file larger than memory is
verified in pieces; it is read, never mapped, so that a capture that shrinks meanwhile is a short read and no crash.
"""

from ._columns import Columns, Row, Rows
from ._fix import FixReport, fix
from ._read import Capture, CaptureWarning, read
from ._report import Report
from ._verify import verify

__all__ = [
    "Capture",
    "CaptureWarning",
    "Columns",
    "FixReport",
    "Report",
    "Row",
    "Rows",
    "fix",
    "read",
    "verify",
]
