"""Makes the first inputs of the fuzz targets out of tests/data/captures:  python tests/fuzz/seeds.py CORPUS_FOLDER."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from fastcksum import capture

ROOT = Path(__file__).parents[2]
CAPTURES = sorted((ROOT / "tests" / "data" / "captures").glob("*.pcap*"))
LONGEST = 3000  # a longer input makes every later one slower
LINK = re.compile(r"^    X\((\w+), (\d+), \w+\)", re.MULTILINE)


def link_numbers() -> list[int]:
    """The link types in the order of the parser's list, by which the target takes them."""
    text = (ROOT / "csrc" / "packet" / "packet.h").read_text()
    table = text[text.index("#define PACKET_LINKS") : text.index("enum packet_link")]
    return [int(number) for _, number in LINK.findall(table)]


def write(folder: Path, inputs: list[bytes]) -> None:
    """Files of these inputs, beside what earlier runs have found."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs):
        (folder / f"seed-{number}").write_bytes(data)


def packets() -> list[bytes]:
    """Every packet of every capture: its link type's place in the list, what was cut off, the bytes."""
    places = {number: place for place, number in enumerate(link_numbers())}
    found = []
    for path in CAPTURES:
        whole = capture.read(path)
        columns = zip(whole.offsets, whole.lengths, whole.original_lengths, whole.linktypes, strict=True)
        for offset, length, original, link in columns:
            data = bytes(memoryview(whole.data)[int(offset) : int(offset) + int(length)])
            if int(link) in places and len(data) <= LONGEST:
                cut = min(max(int(original) - len(data), 0), 0x7FFF)
                found.append(bytes([places[int(link)]]) + cut.to_bytes(2, "big") + data)
    return found


def captures() -> list[bytes]:
    """Every capture, read in windows of several sizes."""
    files = [path.read_bytes() for path in CAPTURES]
    return [bytes([place, 5]) + data for data in files for place in (6, 9, 10)]


def mending() -> list[bytes]:
    """The first packets of every capture, with verdicts to be mended and rows that are asked for."""
    files = [path.read_bytes()[:LONGEST] for path in CAPTURES if path.suffix != ".gz"]
    return [bytes([asked, wanted]) + data for data in files for asked, wanted in ((6, 31), (2, 22), (15, 1))]


def main() -> None:
    """Writes the seeds of each target that has any."""
    folder = Path(sys.argv[1])
    frames = packets()
    assert len(frames) > 100, "the parser's list of link types, or the captures, have another form now"
    write(folder / "packets", frames)
    write(folder / "captures", captures())
    write(folder / "mending", mending())
    plain = [frame[3:] for frame in frames[::10]]
    write(folder / "kernels", [bytes(6) + data for data in plain])
    write(folder / "updates", [b"\x03\x07\x05\x02\x00\x09\x04" + data for data in plain])
    write(folder / "spans", [(n * 7 % 600).to_bytes(2, "big") + data for n, data in enumerate(plain)])


if __name__ == "__main__":
    main()
