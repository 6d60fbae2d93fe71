"""Free-threaded CPython: 16 threads on shared objects give right sums or a clear error, and no crash."""

from __future__ import annotations

import os
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from conftest import find_python
from oracle import raw_sum, reduced, total
from other_python import build_for

if TYPE_CHECKING:
    from pathlib import Path

PIECE = bytes(range(256)) * 300
PACKET = bytes.fromhex("45000026000100004011f8adc0a80001c0a800c7303900350012392a00010203040506070809")
THREADS, TURNS = 16, 50
SCRIPT = f"""
    import sys, threading
    import fastcksum
    from fastcksum import _core, packets
    assert not sys._is_gil_enabled(), "the GIL was enabled"
    piece, packet = bytes(range(256)) * 300, bytes.fromhex("{PACKET.hex()}")
    good = packets.verify_packet(packet)
    stream, bench = fastcksum.Checksum(), _core.Bench()
    bench.add("portable64", piece, [0], [len(piece)])
    start, wrong, refused = threading.Barrier({THREADS}), [], []
    def work():
        start.wait()
        for _ in range({TURNS}):
            stream.update(piece)
            try:
                if bench.check() is not None:
                    wrong.append("bench")
            except RuntimeError as error:
                refused.append(str(error))
            if fastcksum.raw_cksum(piece) != {raw_sum(PIECE)} or packets.verify_packet(packet) != good:
                wrong.append("sum")
            if packets.fill_checksums(packet) != packet:
                wrong.append("fill")
    threads = [threading.Thread(target=work) for _ in range({THREADS})]
    for each in threads: each.start()
    for each in threads: each.join()
    assert not sys._is_gil_enabled()
    assert all("use" in words for words in refused), refused
    print(stream.raw, wrong, [(each.layer, each.status) for each in good])
"""


@pytest.mark.needs_python("3.13t")
def test_threads_share_everything(tmp_path: Path) -> None:
    python = find_python("3.13t")
    assert python is not None
    build_for(python, tmp_path)
    done = subprocess.run(
        [python, "-c", dedent(SCRIPT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    right = reduced(THREADS * TURNS * total(PIECE))
    assert done.stdout == f"{right} [] [('ipv4', 'good'), ('udp', 'good')]\n", done.stderr
