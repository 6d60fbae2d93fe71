"""A sweep that nobody measured: a host, a plan and samples from literals, for tests of figures and of text."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcksum import _core
from fastcksum.lab import Host, Plan, Sweep
from fastcksum.lab._bench.runner import join_samples
from fastcksum.lab._figures.record import Cell
from fastcksum.lab._machine.facts import Cache

if TYPE_CHECKING:
    from collections.abc import Sequence

HOST = Host(
    cpu="Imaginary CPU 3000",
    family="6",
    model="85",
    stepping="7",
    microcode="0x5003",
    cpus=4,
    siblings="0,2",
    caches=(Cache(1, "Data", 32768, 8, 64, "0,2"), Cache(2, "Unified", 1048576, 16, 64, "0,2")),
    features=("sse2", "avx2"),
    hypervisor="none",
    system="Debian GNU/Linux 12 (bookworm)",
    kernel="6.1.0-18-amd64",
    governor="performance",
    turbo="off",
    clocksource="tsc",
    unit="tsc_ticks",
    hz=2_400_000_000.0,
    step=1.0,
    pair=40,
    compiler="gcc 12.2.0",
    flags="-O3 -fPIC",
    compilers=("gcc 12.2.0",),
    counters="cycles in one group",
    byte_order="little",
    python="3.11.7",
    numpy="2.4.6",
    fastcksum="0.1.0",
    page_size=4096,
    huge_pages="madvise",
    load=0.05,
    steal=None,
    warnings=(),
)


def cell(kernel: str, size: int, offset: int = 0) -> Cell:
    return Cell(kernel, size, "fixed", offset, "throughput", "hot", "plain")


def facts(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "summary": f"what {name} does", "role": "past", **more}


RECORD = [*((name, kind) for name, kind, _ in _core.SAMPLE_FIELDS), ("placement", "u4")]


def samples_of(cells: Sequence[Cell], ticks: Sequence[Sequence[float]], **fields: Any) -> np.ndarray:
    """One sample of 1000 calls for each number in ticks[i], the ticks per call of cell i in that round.

    Every round has a clock of 1.25 core cycles a tick and a sentinel of 4 additions a core cycle; `fields` replace
    whole columns.
    """
    rows = [
        (index, number, value) for index, values in enumerate(ticks) for number, value in enumerate(values)
    ]
    samples = np.zeros(len(rows), RECORD)
    samples["cell"], samples["round"] = [row[0] for row in rows], [row[1] for row in rows]
    samples["calls"] = 1000
    samples["ticks"] = np.rint([row[2] * 1000 for row in rows])
    samples["add_ticks"], samples["mul_ticks"], samples["wide_ticks"] = 16000, 48000, 16000
    for name, value in fields.items():
        samples[name] = value
    return join_samples([samples], cells)


def sweep_of(
    kernels: Sequence[dict[str, Any]],
    cells: Sequence[Cell],
    ticks: Sequence[Sequence[float]],
    *,
    host: Host = HOST,
    samples: np.ndarray | None = None,
    **plan: Any,
) -> Sweep:
    rounds = len(ticks[0])
    made = Plan(
        kernels=tuple(kernels),
        cells=tuple(cells),
        mean_lengths=tuple(float(each.size) for each in cells),
        left_out=(),
        lengths={},
        set_bytes={},
        pages="4 KiB pages",
        rounds=rounds,
        rounds_done=rounds,
        interrupted=False,
        placements=1,
        placement_note="",
        places={},
        processes=1,
        seed=42,
        target_ticks=40000,
        warm_ticks=2400000,
        batches=1,
        processor=3,
        started="2026-01-02T03:04:05+00:00",
    )
    return Sweep(
        samples=samples_of(cells, ticks) if samples is None else samples,
        host=host,
        plan=dataclasses.replace(made, **plan),
    )
