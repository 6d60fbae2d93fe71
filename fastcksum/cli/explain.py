"""fastcksum explain: how the checksums of one packet come about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum._explain import sums_of
from fastcksum.packets import LAYERS, LINKS, Explanation

from ._captures import Attempt, opened, shown
from ._common import command

if TYPE_CHECKING:
    import argparse

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        run,
        "show how the checksums of one packet come about: every word that is summed, the carries, the complement, and "
        "what stands in the packet",
        "fastcksum explain dump.pcap --packet 3",
        takes="as long as reading the file up to the packet",
        status="0; 2 if there is no such packet",
    )
    parser.add_argument("file", metavar="FILE", help="a capture; - is standard input")
    parser.add_argument(
        "--packet",
        type=int,
        required=True,
        metavar="N",
        help="the number that Wireshark gives its frame, from 1",
    )
    parser.add_argument(
        "--layer", choices=LAYERS, metavar="LAYER", help="only this layer, such as tcp (default: all)"
    )


def run(options: argparse.Namespace) -> int:
    attempt = Attempt(options.file)
    with attempt:
        text = _explanation(options).text()
        print(f"{shown(options.file)}: frame {options.packet}\n\n{text}", end="")
    return attempt.failed


def _explanation(options: argparse.Namespace) -> Explanation:
    """ValueError if no packet of the file has this number."""
    from fastcksum.capture._pieces import Scanner, open_source  # noqa: PLC0415 - NumPy is for those who explain

    name = shown(options.file)
    last = 0
    scanner = Scanner(options.file)
    with open_source(opened(options.file)) as source:
        for piece in scanner.pieces(source):
            last = int(piece.frames[-1])
            i = int(piece.frames.searchsorted(options.packet))
            if last < options.packet or int(piece.frames[i]) != options.packet:
                continue
            if int(piece.linktypes[i]) not in LINKS:
                raise ValueError(
                    f"frame {options.packet} of {name} is of link type {piece.linktypes[i]}, which is not understood"
                )
            start, length = int(piece.offsets[i]), int(piece.lengths[i])
            packet = memoryview(piece.data)[start : start + length]
            original = int(piece.original_lengths[i])
            link = int(piece.linktypes[i])
            return Explanation(sums_of(packet, 0, link=link, layer=options.layer, original=original))
    damage = "" if scanner.damage is None else f", which is {scanner.damage}"
    raise ValueError(f"no packet is frame {options.packet} of {name}{damage}; the last one is frame {last}")
