"""The table that is mailed: its columns, its words, its width."""

from __future__ import annotations

import dataclasses

import pytest
from made_up_sweep import HOST, cell, facts, samples_of, sweep_of

from fastcksum.lab import DPDK_SIZES, Sweep

CELLS = [
    cell("dpdk_before", 20),
    cell("dpdk_before", 20, 1),
    cell("dpdk_before", 1500, 7),
    cell("nothing", 20),
    cell("nothing", 20, 1),
    cell("nothing", 1500, 7),
]
TICKS = [
    [20.46, 20.46, 20.5],
    [14.06, 14.1, 14.2],
    [148.2, 190.0, 200.0],
    [2.0, 2.0, 2.0],
    [2.0, 2.0, 2.0],
    [2.0, 2.0, 2.0],
]
KERNELS = [facts("dpdk_before"), facts("nothing")]


@pytest.fixture
def sweep() -> Sweep:
    return sweep_of(KERNELS, CELLS, TICKS)


def lines_of(sweep: Sweep, title: str) -> list[str]:
    """The lines of the part whose first line starts so."""
    parts = sweep.text().split("\n\n")
    return next(part.splitlines() for part in parts if part.startswith(title))


def test_the_table_has_the_columns_of_dpdk(sweep: Sweep) -> None:
    assert lines_of(sweep, "### dpdk_before") == [
        "### dpdk_before: what dpdk_before does",
        "Alignment  Block size    TSC cycles/block  TSC cycles/byte",
        "Aligned            20                20.5             1.02",  # 20.46 / 20 = 1.023, before rounding
        "Unaligned          20                14.1             0.70",
        "+7               1500               148.2             0.10  noisy, median +28%",
    ]


def test_the_overhead_stands_below(sweep: Sweep) -> None:
    text = sweep.text()
    assert text.index("### nothing") > text.index("### dpdk_before")
    assert lines_of(sweep, "### nothing")[2:] == [
        "Aligned            20                 2.0             0.10",
        "Unaligned          20                 2.0             0.10",
        "+7               1500                 2.0             0.00",
    ]


def test_without_the_yardstick_it_says_so() -> None:
    text = sweep_of(KERNELS[:1], CELLS[:3], TICKS[:3]).text()
    assert "Overhead: not measured" in text
    assert "net invalid" not in text


@pytest.mark.parametrize(("unit", "head"), [("ns", "ns/block"), ("cntvct_ticks", "cntvct_ticks/block")])
def test_only_the_time_stamp_counter_is_called_tsc(unit: str, head: str) -> None:
    text = sweep_of(KERNELS, CELLS, TICKS, host=dataclasses.replace(HOST, unit=unit)).text()
    assert head in text
    assert "TSC" not in text


def test_host_compiler_flags_and_tick_stand_above(sweep: Sweep) -> None:
    head = sweep.text().split("\n\n")[0]
    for fact in (
        "Imaginary CPU 3000 (family 6, model 85, stepping 7)",
        "gcc 12.2.0",
        "-O3 -fPIC",
        "TSC cycles at 2400.00 MHz, step 1, empty pair 40",
        "seed 42",
        "pinned to CPU 3",
        "2026-01-02T03:04:05+00:00",
        "one TSC cycle was about 1.25 core cycles",
        "5 clean, 1 noisy",
    ):
        assert fact in " ".join(head.split()), fact


def test_a_net_below_zero_is_called_invalid() -> None:
    cells = [cell("fast", 20), cell("nothing", 20)]
    text = sweep_of([facts("fast"), facts("nothing")], cells, [[1.8, 1.8], [2.0, 2.0]]).text()
    assert "Aligned            20                 1.8             0.09  net invalid\n" in text


def test_contention_is_named() -> None:
    samples = samples_of(CELLS, TICKS, wide_ticks=40000)  # 1.6 additions a core cycle
    sweep = sweep_of(KERNELS, CELLS, TICKS, samples=samples)
    assert lines_of(sweep, "### nothing")[2].endswith("  contended, median +0%")
    assert "6 contended" in sweep.text()


def test_a_cell_without_a_sample_says_so() -> None:
    samples = samples_of(CELLS, TICKS)
    samples["flags"][:3] = 2
    text = sweep_of(KERNELS, CELLS, TICKS, samples=samples).text()
    assert "Aligned            20                 nan              nan  no sample left\n" in text
    assert "Dropped: 3 of 18 samples" in text


def test_a_clock_that_is_not_known_is_said() -> None:
    samples = samples_of(CELLS, TICKS, mul_ticks=64000)
    head = sweep_of(KERNELS, CELLS, TICKS, samples=samples).text()
    assert "Core clock:   unknown" in head


def test_size_zero_has_no_figure_per_byte() -> None:
    text = sweep_of([facts("f")], [cell("f", 0)], [[3.0, 3.0]]).text()
    assert "Aligned             0                 3.0                -\n" in text


def test_what_was_left_out_and_what_was_interrupted_is_said() -> None:
    sweep = sweep_of(KERNELS, CELLS, TICKS, left_out=("f at 9 bytes: too long",), interrupted=True, rounds=60)
    text = " ".join(sweep.text().split())
    assert "Left out: f at 9 bytes: too long." in text
    assert "Interrupted: 3 of 60 rounds were done" in text
    assert "Measured: throughput, cache hot, form plain; 3 of 60 rounds over 6 cells" in text


def test_an_unpinned_thread_is_said() -> None:
    assert "not pinned: the system refused" in " ".join(
        sweep_of(KERNELS, CELLS, TICKS, processor=None).text().split()
    )


def test_one_placement_is_said(sweep: Sweep) -> None:
    assert "Placement: 1" in sweep.text()


def test_no_line_is_wider_than_a_mail() -> None:
    long = facts("n" * 70, summary="word " * 60, command=["gcc", *["-fno-some-option"] * 30])
    cells = [cell(long["name"], size, offset) for size in (*DPDK_SIZES, 2**33) for offset in (0, 1, 63)]
    ticks = [[1.0e9 * (i + 1), 9.0e9 * (i + 1)] for i in range(len(cells))]
    host = dataclasses.replace(HOST, flags="-Wsome-warning " * 40, warnings=("something is wrong " * 20,))
    left_out = tuple(f"kernel at {n} bytes: {'too long ' * 15}" for n in range(3))
    text = sweep_of([long], cells, ticks, host=host, left_out=left_out).text()
    assert max(map(len, text.splitlines())) <= 100
    assert "Built by:     gcc -fno-some-option" in text


def test_str_is_the_table(sweep: Sweep) -> None:
    assert str(sweep) == sweep.text()
