"""Figures out of mail: what was published, tables of cksum_perf_autotest, blocks of perf stat."""

from __future__ import annotations

import csv
import textwrap
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_sweep import cell, facts, sweep_of

from fastcksum import lab
from fastcksum.lab._mail.exchanges import published, read_dpdk_table, read_perf_stat

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

MAILS = Path(__file__).parent / "data" / "mails"
HEADING = "Alignment  Block size    TSC cycles/block  TSC cycles/byte"


def mail(name: str) -> str:
    return (MAILS / name).read_text(encoding="utf-8")


def quietly(read: Callable[[str], pd.DataFrame], text: str) -> pd.DataFrame:
    """The frame of a text in which some lines are rejected, which its caller looks at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(text)


def table_rows(frame: pd.DataFrame) -> list[tuple[str, str | None, int, float | None, float | None]]:
    columns = ["run", "alignment", "size", "cycles_per_block", "cycles_per_byte"]
    rows = frame[columns].astype(object).where(frame[columns].notna(), None)
    return [tuple(row) for row in rows.itertuples(index=False)]


def count_rows(frame: pd.DataFrame) -> list[tuple[str, str, float | None, str]]:
    rows = frame[["run", "event", "count", "note"]].astype(object).where(frame.notna(), None)
    return [tuple(row) for row in rows.itertuples(index=False)]


# What was published


def test_published_has_each_source() -> None:
    sizes = published().groupby("source").size()
    assert sizes.to_dict() == {
        "dpdk-dev 2026-02": 72,
        "netdev 2021-11": 2,
        "linux 6.5 commit 688eb8191b47": 58,
    }


def test_published_dpdk_cells() -> None:
    frame = published()
    cells = frame[(frame["function"] == "rte_raw_cksum") & (frame["size"] == 1500)]
    cells = cells[cells["alignment"] == "aligned"].set_index(["compiler", "phase"])
    assert cells["cycles_per_block"].to_dict() == {
        ("gcc 15.2.1", "before"): 148.2,
        ("gcc 15.2.1", "after"): 109.5,
        ("clang 21.1.6", "before"): 610.7,
        ("clang 21.1.6", "after"): 77.9,
        ("clang 18.1.8", "before"): 728.2,
        ("clang 18.1.8", "after"): 73.9,
    }
    assert set(cells["unit"]) == {"tsc_ticks"}


def test_published_linux_counts() -> None:
    frame = published().dropna(subset="instructions").set_index("phase")
    names = ["calls", "cycles", "instructions", "branches", "branch_misses", "load_share_percent"]
    assert list(frame.loc["before", names]) == [1000000, 26922913, 80302961, 21059816, 2896, 4.16]
    assert list(frame.loc["after", names]) == [1000000, 17960709, 41292805, 11058119, 2997, 0.83]


def test_published_latency_and_throughput() -> None:
    frame = published().dropna(subset="ticks_per_call")
    at_40 = frame[frame["size"] == 40].set_index(["mode", "phase"])["ticks_per_call"]
    assert at_40.to_dict() == {
        ("latency", "before"): 6.08,
        ("latency", "after"): 5.57,
        ("throughput", "before"): 4.43,
        ("throughput", "after"): 3.05,
    }
    assert set(frame[frame["size"] == 1024]["mode"]) == {"latency"}  # its throughput was not published


def test_published_dpdk_agrees_with_its_own_rounding() -> None:
    with (Path(lab.__file__).parent / "_mail" / "data" / "dpdk_cksum_perf.csv").open(
        encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 72
    for row in rows:
        block, size = Fraction(row["tsc_cycles_per_block"]), int(row["block_size"])
        off = Fraction(5, 100) / size + Fraction(5, 1000)
        assert abs(block / size - Fraction(row["tsc_cycles_per_byte"])) <= off, row


# Tables of cksum_perf_autotest

REVIEW = [
    ("gcc 14.2 BEFORE", "aligned", 20, 18.4, 0.92),
    ("gcc 14.2 BEFORE", "unaligned", 20, 12.6, 0.63),
    ("gcc 14.2 BEFORE", "aligned", 1500, 150.0, 0.10),
    ("gcc 14.2 BEFORE", "unaligned", 1500, 150.3, 0.10),
    ("gcc 14.2 AFTER", "aligned", 21, 16.9, 0.81),
    ("gcc 14.2 AFTER", "unaligned", 21, 16.9, 0.80),
    ("gcc 14.2 AFTER", "aligned", 1500, 105.0, 0.07),
    ("clang 19 BEFORE", "aligned", 20, 13.0, 0.65),
    ("clang 19 BEFORE", "unaligned", 20, 9.0, 0.45),
    ("clang 19 AFTER", "aligned", 20, 12.8, 0.64),
    ("clang 19 AFTER", "aligned", 9216, 460.8, 0.05),
    (LAPTOP := "For comparison, my own numbers on an old laptop, pasted from a spreadsheet (main branch)",
     "aligned", 64, 20.0, 0.31),
    (LAPTOP, "unaligned", 64, 21.5, 0.34),
    (LAPTOP, "aligned", 65536, 19660.8, 0.30),
]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\r\n"),
        lambda text: textwrap.indent(text, "> > ", lambda _: True),
        lambda text: textwrap.indent(text, ">>>", lambda _: True),
        lambda text: textwrap.indent(text, "JR> ", lambda _: True),
        lambda text: text.replace(">", "&gt;"),
        lambda text: text.replace("  ", " \u00a0"),
        lambda text: "\ufeff" + text.replace("Aligned ", "\x1b[1mAligned\x1b[0m "),
    ],
    ids=["as is", "CRLF", "CRCRLF", "deeper", "tight", "initials", "HTML", "no-break spaces", "terminal"],
)
def test_a_review_with_everything_in_it(change: Callable[[str], str]) -> None:
    frame = quietly(read_dpdk_table, change(mail("dpdk_review.txt")))
    assert table_rows(frame) == REVIEW
    assert frame["ipc"].dropna().tolist() == [2.41, 2.28, 2.9]
    assert [(number, reason) for number, _, reason in frame.attrs["rejected"]] == [
        (40, "has 'n/a' where 'TSC cycles/block' stands in its heading"),
        (53, "contradicts itself: 498.1 for 9216 bytes is not 0.50 a byte"),
        (63, "stands behind other words, so that it may be a sentence or a line of a diff"),
    ]
    assert set(frame.attrs["units"].values()) == {"TSC cycles"}


def test_a_series_with_other_kinds_of_table() -> None:
    frame = quietly(read_dpdk_table, mail("dpdk_series.txt"))
    caption = (
        "Performance from cksum_perf_autotest on some server (two sockets, AVX2) built with Clang 17 "
        "(TSC cycles/byte)"
    )
    both = "Same machine, all in one (TSC cycles/block)"
    flowed = "Reflowed by my mailer, sorry"
    assert table_rows(frame) == [
        (f"{caption} Before", None, 100, None, 0.42),
        (f"{caption} After", None, 100, None, 0.21),
        (f"{caption} Before", None, 9000, None, 0.50),
        (f"{caption} After", None, 9000, None, 0.06),
        (both, "aligned", 100, 42.0, None),
        (both, "unaligned", 100, 45.5, None),
        (both, "aligned", 1500, 750.0, None),
        (both, "unaligned", 1500, 761.2, None),
        ("run 3", "aligned", 20, 10.0, 0.50),
        ("run 3", "offset+7", 20, 11.0, 0.55),
        (flowed, "aligned", 20, 12.6, 0.63),
        (flowed, "unaligned", 20, 12.3, 0.62),
        (flowed, "aligned", 21, 13.6, 0.65),
        (flowed, "unaligned", 21, 13.6, 0.65),
    ]
    assert [number for number, _, _ in frame.attrs["rejected"]] == [6]


def test_a_log_of_dpdk_test_with_several_runs() -> None:
    run = f"""\
RTE>>cksum_perf_autotest
### rte_raw_cksum() performance ###
{HEADING}
Aligned           20                20.5             1.02
Unaligned         20                14.1             0.70
Test OK
"""
    start = "EAL: Detected CPU lcores: 2\nAPP: HPET is not enabled, using TSC as default timer\n"
    assert table_rows(read_dpdk_table(f"{start}{run}{run}RTE>>quit\n")) == [
        ("run 1", "aligned", 20, 20.5, 1.02),
        ("run 1", "unaligned", 20, 14.1, 0.70),
        ("run 2", "aligned", 20, 20.5, 1.02),
        ("run 2", "unaligned", 20, 14.1, 0.70),
    ]


def test_quoted_printable() -> None:
    text = """\
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

With the patch:

> Alignment=C2=A0 Block size=C2=A0 =C2=A0 TSC cycles/block=C2=A0 =
TSC cycles/byte
> Alig=
ned=C2=A0 =C2=A0 =C2=A0 20=C2=A0 20.5=C2=A0=
 1.02
> Unaligned=C2=A0 20 14.1 n/a
"""
    frame = quietly(read_dpdk_table, text)
    assert table_rows(frame) == [("With the patch", "aligned", 20, 20.5, 1.02)]
    assert frame.attrs["rejected"][0][0] == 11  # lines are counted as they stand in the text


@pytest.mark.parametrize(
    ("heading", "row", "expected"),
    [
        ("Block size   cycles/byte  cycles/block  Alignment", "64 0.5 32.0 aligned", ("aligned", 64, 32.0, 0.5)),
        ("Size (bytes)  core cycles/packet  core cycles/byte", "9216 500 0.05", (None, 9216, 500.0, 0.05)),
        ("Kernel  Alignment  Length  TSC cycles/call", "mine Aligned 100 7.25", ("aligned", 100, 7.25, None)),
        ("Alignment  Data size  TSC cycles/byte  Gbit/s", "+63 100000 0.125 96", ("+63", 100000, None, 0.125)),
        ("align | len | cntvct_ticks/block | ticks/byte", "aligned|20|2.5|0.13", ("aligned", 20, 2.5, 0.13)),
    ],
    ids=["other order", "no alignment", "a name first", "more columns", "another clock"],
)  # fmt: skip
def test_headings_nobody_saw_yet(heading: str, row: str, expected: tuple[object, ...]) -> None:
    assert table_rows(read_dpdk_table(f"mine:\n{heading}\n{row}\n"))[0] == ("mine", *expected)


def test_further_columns_keep_their_names() -> None:
    frame = read_dpdk_table(f"Kernel  {HEADING}  Gbit/s\nfoo Aligned 20 20.5 1.02 fast\n")
    assert list(frame.columns)[5:] == ["kernel", "gbit_per_s"]
    assert list(frame.loc[0, ["kernel", "gbit_per_s"]]) == ["foo", "fast"]


def test_a_second_clock_and_a_column_called_run() -> None:
    frame = read_dpdk_table(f"here:\n{HEADING}  core cycles/block  Run\nAligned 20 20.5 1.02 26.1 7\n")
    assert list(frame.columns)[5:] == ["core_cycles_per_block", "run_column"]
    assert list(frame.loc[0]) == ["here", "aligned", 20, 20.5, 1.02, 26.1, 7]


def test_nanoseconds_are_no_cycles() -> None:
    frame = read_dpdk_table("Alignment Size ns/block ns/byte\nAligned 20 5.0 0.25\n")
    assert list(frame.loc[0, ["ns_per_block", "ns_per_byte"]]) == [5.0, 0.25]
    assert frame[["cycles_per_block", "cycles_per_byte"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("BEFORE:", "AFTER:", ("BEFORE", "AFTER")),
        ("gcc 15 before the patch:", "after", ("gcc 15 before the patch", "gcc 15 after")),
        (
            "## gcc\n\n**Without the patch**",
            "**With the patch**",
            ("gcc Without the patch", "gcc With the patch"),
        ),
        ("=== main ===", "=== v3 ===", ("main", "v3")),
        ("Results:", "Results:", ("Results", "Results (2)")),
        ("I ran it. This is what I got.", "It went on. And so it ends.", ("run 1", "run 2")),
        ("Hi Joe,", "On Mon, 9 Mar 2026, Joe Author wrote:", ("run 1", "run 2")),
        ("$ sudo dpdk-test --no-huge", "Acked-by: Jane Reviewer <jane@example.org>", ("run 1", "run 2")),
    ],
)
def test_names_of_runs(before: str, after: str, names: tuple[str, str]) -> None:
    row = "Aligned           20                20.5             1.02"
    frame = read_dpdk_table(f"{before}\n\n{HEADING}\n{row}\n\n{after}\n\n{HEADING}\n{row}\n")
    assert tuple(frame["run"]) == names


def test_the_same_cell_again_is_another_run() -> None:
    rows = "Aligned 20 20.5 1.02\nUnaligned 20 14.1 0.70\n"
    assert list(read_dpdk_table(f"{HEADING}\n{rows}{rows}")["run"]) == ["run 1", "run 1", "run 2", "run 2"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Aligned 20 20.5", "has only 3 of the 4 columns"),
        ("Aligned 20 20.5 1.02 7", "has more figures than the 4 columns"),
        ("Aligned 20 20.5 nan", "has 'nan' where"),
        ("Aligned 20 20.5-21.5 1.02", "has '20.5-21.5' where"),
        ("Aligned twenty 20.5 1.02", "has 'twenty' where"),
        ("Aligned 0 20.5 1.02", "has a size of 0"),
        ("Aligned 20.5 20.5 1.00", "has a size of 20.5"),
        ("Aligned 20 20.5 1.20", "contradicts itself: 20.5 for 20 bytes is not 1.20"),
        ("-Aligned 20 20.5 1.02", "stands behind other words"),
        ("[12:00:01] Aligned 20 20.5 1.02", "stands behind other words"),
        ("20 20.5 1.02", "has figures, but not the first column"),
    ],
)
def test_what_looks_like_a_row_is_reported(row: str, reason: str) -> None:
    text = f"{HEADING}\n{row}\nUnaligned 20 14.1 0.70\n"
    with pytest.warns(UserWarning, match="line 2 looks like a row of a checksum table but") as caught:
        frame = read_dpdk_table(text)
    ((number, rejected, words),) = frame.attrs["rejected"]
    assert (number, rejected) == (2, row)
    assert reason in words
    assert len(frame) == 1
    assert str(caught[0].message).count(". ") == 0


def test_a_remark_with_figures_is_reported_and_its_row_read() -> None:
    frame = quietly(
        read_dpdk_table, f"{HEADING}\nAligned 20 20.5 1.02 -> 15.6 0.78\nUnaligned 20 14.1 0.70 <- odd\n"
    )
    assert [row[1:] for row in table_rows(frame)] == [
        ("aligned", 20, 20.5, 1.02),
        ("unaligned", 20, 14.1, 0.70),
    ]
    ((number, _, reason),) = frame.attrs["rejected"]
    assert (number, reason) == (2, "has more behind its figures, which is not read: -> 15.6 0.78; its row is")


def test_one_compiler_a_column() -> None:
    text = (
        "All in TSC cycles/block:\n\nBlock size    gcc 14    clang\n20    18.4    13.0\n21    18.9    9.7\n"
    )
    assert table_rows(read_dpdk_table(text)) == [
        ("All in TSC cycles/block gcc 14", None, 20, 18.4, None),
        ("All in TSC cycles/block clang", None, 20, 13.0, None),
        ("All in TSC cycles/block gcc 14", None, 21, 18.9, None),
        ("All in TSC cycles/block clang", None, 21, 9.7, None),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Unaligned 20 byte blocks are no slower.",
        "Aligned data is what the test has first.",
        "20 bytes take 20.5 cycles, 21 take 15.8.",
        "The block size and cycles/byte are printed.",
        '+\tprintf("Alignment  Block size    TSC cycles/block  TSC cycles/byte\\n");',
        "+static size_t data_sizes[] = { 20, 21, 100, 101, 1500, 1501 };",
        "2026",
    ],
)
def test_prose_is_not_reported(line: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_dpdk_table(f"{line}\n\n{HEADING}\nAligned 20 20.5 1.02\n\nSo it is.\n{line}\n")
    assert len(frame) == 1


@pytest.mark.parametrize(
    ("row", "accepted"),
    [
        ("Aligned 21 16.9 0.81", True),  # 16.95 / 21 = 0.807, and that rounds to 0.81
        ("Aligned 21 16.9 0.80", True),
        ("Aligned 21 16.9 0.82", False),
        ("Aligned 1500 148.2 0.10", True),
        ("Aligned 1500 148.2 0.11", False),
        ("Aligned 10 1.0 0.1", True),
        ("Aligned 10 2 0.25", True),  # 2.5 / 10 = 0.25
        ("Aligned 10 2 0.26", False),
    ],
)
def test_both_roundings_are_allowed_for(row: str, accepted: bool) -> None:
    assert len(quietly(read_dpdk_table, f"{HEADING}\n{row}\n")) == accepted


def test_a_text_without_a_table() -> None:
    with pytest.warns(UserWarning, match="nothing in the text looks like a row"):
        frame = read_dpdk_table("Looks good to me.\n")
    assert frame.empty
    assert list(frame.columns) == ["run", "alignment", "size", "cycles_per_block", "cycles_per_byte"]


# A table that somebody sends, and what mail does to it


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, int, str, str]]:
    """Rows as the test program prints them: alignment, size, cycles per block and per byte as text."""
    sizes = draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=8, unique=True))
    rows = []
    for size in sorted(sizes):
        for alignment in ("Aligned", "Unaligned"):
            ticks = Fraction(draw(st.integers(1, 10**8)), 100)
            rows.append((alignment, size, f"{float(ticks):.1f}", f"{float(ticks / size):.2f}"))
    return rows


def printed(rows: list[tuple[str, int, str, str]]) -> list[str]:
    return [HEADING, *(f"{a:<9} {size:>10} {block:>19} {byte:>16}" for a, size, block, byte in rows)]


@given(
    rows=tables(),
    depth=st.integers(0, 4),
    width=st.sampled_from([40, 48, 56, 200]),
    newline=st.sampled_from(["\n", "\r\n"]),
    change=st.sampled_from(["as is", "tabs", "single spaces", "pipes", "blank lines"]),
)
def test_a_table_survives_the_mail(
    rows: list[tuple[str, int, str, str]], depth: int, width: int, newline: str, change: str
) -> None:
    lines = printed(rows)
    if change == "tabs":
        lines = ["\t".join(line.split("  ")) for line in lines[:1]] + [
            "\t".join(line.split()) for line in lines[1:]
        ]
    elif change == "single spaces":
        lines = [" ".join(line.split()) for line in lines]
    elif change == "pipes":
        lines = ["| Alignment | Block size | TSC cycles/block | TSC cycles/byte |", "|---|--:|--:|--:|"] + [
            f"| {' | '.join(line.split())} |" for line in lines[1:]
        ]
    elif change == "blank lines":
        lines = [each for line in lines for each in (line, "")]
    wrapped = [part for line in lines for part in (textwrap.wrap(line, width, expand_tabs=False) or [""])]
    text = newline.join("> " * depth + line for line in ["before:", *wrapped, "", "That is all."])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_dpdk_table(text)
    expected = [("before", a.lower(), size, float(block), float(byte)) for a, size, block, byte in rows]
    assert table_rows(frame) == expected


# Our own report


def test_our_own_report_is_read_back() -> None:
    cells = [
        cell("dpdk_before", 20),
        cell("dpdk_before", 20, 1),
        cell("dpdk_before", 1500, 7),
        cell("mine", 20),
        cell("nothing", 20),
    ]
    ticks = [
        [20.46, 20.46, 20.5],
        [14.06, 14.1, 14.2],
        [148.2, 190.0, 200.0],
        [9.0, 9.0, 9.0],
        [2.0, 2.0, 2.0],
    ]
    built = facts(
        "mine",
        command=["gcc", "-O3", "-DNEW=1", "before.c", "-o", "a-rather-long-name-of-a-shared-object.so"],
    )
    text = sweep_of([facts("dpdk_before"), built, facts("nothing")], cells, ticks).text()
    assert table_rows(read_dpdk_table(text)) == [
        ("dpdk_before", "aligned", 20, 20.5, 1.02),
        ("dpdk_before", "unaligned", 20, 14.1, 0.70),
        ("dpdk_before", "+7", 1500, 148.2, 0.10),
        ("mine", "aligned", 20, 9.0, 0.45),
        ("nothing", "aligned", 20, 2.0, 0.10),
    ]


def test_our_own_report_is_read_back_from_a_reply() -> None:
    text = sweep_of(
        [facts("mine"), facts("nothing")], [cell("mine", 20), cell("nothing", 20)], [[9.0] * 3, [2.0] * 3]
    ).text()
    quoted = textwrap.indent(f"Here is what I measured.\n\n{text}", "> ", lambda _: True)
    assert table_rows(read_dpdk_table(quoted)) == [
        ("mine", "aligned", 20, 9.0, 0.45),
        ("nothing", "aligned", 20, 2.0, 0.10),
    ]


def test_a_report_of_a_real_sweep_is_read_back() -> None:
    sweep = lab.sweep(sizes=(20, 21, 1500), offsets=(0, 1, 5), rounds=3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_dpdk_table(sweep.text())
    names = {0: "aligned", 1: "unaligned", 5: "+5"}
    read = {(run, alignment, size): figures for run, alignment, size, *figures in table_rows(frame)}
    rows = sweep.table()
    assert len(read) == len(frame) == len(rows)
    for row in rows:
        printed_figures = [float(f"{row.ticks_per_call:.1f}"), float(f"{row.ticks_per_byte:.2f}")]
        assert read[row.kernel, names[row.offset], row.size] == printed_figures


# Blocks of perf stat


def test_a_review_with_blocks() -> None:
    frame = quietly(read_perf_stat, mail("perf_review.txt"))
    french = "./load_module (5 runs)"
    assert count_rows(frame) == [
        ("Before", "cycles", 26812340, "3846130.429 GHz"),
        ("Before", "instructions", 80290112, "2.99 insn per cycle"),
        ("Before", "branches", 21051007, "3019791.564 M/sec"),
        ("Before", "branch-misses", 2901, "0.01% of all branches"),
        ("After", "cycles", 17855001, "2550714.429 GHz (49.77%)"),
        ("After", "instructions", 41280633, "2.31 insn per cycle; 0.14 stalled cycles per insn"),
        ("After", "ref-cycles", None, "<not supported>"),
        ("After", "L1-dcache-load-misses", None, "<not counted>; (0.00%)"),
        (french, "task-clock", 6.812334, "msec; 0,965 CPUs utilized ( +- 0,58% )"),
        (french, "context-switches", 13, "0,490 K/sec"),
        (french, "cycles", 17855001, "2,914 GHz"),
        (french, "branch-misses", 356636, "1,15% of all branches"),
    ]
    assert frame.attrs["seconds"] == {
        "Before": {"time elapsed": 0.013371337, "user": 0.012, "sys": 0.001},
        french: {"time elapsed": 0.000965},
    }
    assert frame.attrs["rejected"] == [
        (
            33,
            "11,050,200 cycles and branches I did not look at",
            "has words behind its event that are no comment column",
        )
    ]


def test_counts_without_their_header() -> None:
    frame = quietly(read_perf_stat, mail("perf_plain.txt"))
    india = "and in India, system wide"
    assert count_rows(frame) == [
        ("unpatched", "task-clock", 582.4674048, "msec"),
        ("unpatched", "context-switches", 19910.8, ""),
        ("unpatched", "cycles", 414784733.1, ""),
        ("unpatched", "stalled-cycles-frontend", None, "<not supported>"),
        ("unpatched", "instructions", 580070698.4, ""),
        ("patched", "task-clock", 973.6174796, "msec"),
        ("patched", "context-switches", 988.6, ""),
        ("patched", "cycles", 772883602.4, ""),
        (india, "cycles", 71672923288, "(54.30%)"),
        (india, "cpu_core/cpu-cycles/", 418955116, "0.0 GHz cycles_frequency"),
        (india, "sched:sched_process_free", 20, "[100.00%]"),
        (india, "TopdownL1", None, "68.7 % tma_backend_bound; 3.1 % tma_bad_speculation"),
    ]
    assert [(number, text) for number, text, _ in frame.attrs["rejected"]] == [(30, "1234 instructions")]


def test_csv_output() -> None:
    frame = quietly(read_perf_stat, mail("perf_csv.txt"))
    both = "by CPU and interval at"
    assert count_rows(frame) == [
        ("run 1", "task-clock", 0.62, "msec; 0.762 CPUs utilized"),
        ("run 1", "cycles", 26922913, "3.846 GHz"),
        ("run 1", "instructions", None, "<not supported>"),
        ("run 1", "cpu/event=0x3c,umask=0x0/", 5, "(45.50%)"),
        ("three runs", "task-clock", 0.71, "msec; 1.184 CPUs utilized; ( +- 3.86% )"),
        ("three runs", "page-faults", 48, "73.777 K/sec; ( +- 0.69% )"),
        (f"{both} 1.000123456 s CPU0", "cycles", 1234, ""),
        (f"{both} 1.000123456 s CPU1", "cycles", 1235, ""),
        (f"{both} 2.000123456 s CPU0", "cycles", 1236, ""),
    ]
    assert [(number, reason) for number, _, reason in frame.attrs["rejected"]] == [
        (6, "has no field before its event that is a count")
    ]


PERF_JSON = """\
The same, as JSON:
{"counter-value" : "0.769624", "unit" : "msec", "event" : "task-clock", "event-runtime" : 769624, \
"pcnt-running" : 100.00, "metric-value" : "0.762", "metric-unit" : "CPUs utilized"}
> {"counter-value" : "1234.000000", "unit" : "", "event" : "cycles", "variance" : 3.86,
> "event-runtime" : 769624, "pcnt-running" : 45.50, "metric-value" : "3.8", "metric-unit" : "GHz"}
{"counter-value" : "<not supported>", "unit" : "", "event" : "instructions", "event-runtime" : 0, \
"pcnt-running" : 100.00}
{"interval" : 1.000123456, "cpu" : "0", "counter-value" : "7.000000", "unit" : "", "event" : "cycles", \
"event-runtime" : 1, "pcnt-running" : 100.00}
"""


def test_json_output() -> None:
    """As perf's tools/perf/util/stat-display.c prints it with -j; the second one as a mailer broke it."""
    frame = quietly(read_perf_stat, PERF_JSON)
    assert count_rows(frame) == [
        ("The same, as JSON", "task-clock", 0.769624, "msec; 0.762 CPUs utilized"),
        ("The same, as JSON", "cycles", 1234, "3.8 GHz; ( +- 3.86% ); (45.50%)"),
        ("The same, as JSON", "instructions", None, "<not supported>"),
        ("The same, as JSON at 1.000123456 s CPU0", "cycles", 7, ""),
    ]
    assert frame["share"].dropna().tolist() == pytest.approx([0.455])
    assert frame["spread"].dropna().tolist() == pytest.approx([0.0386])
    assert frame.attrs["rejected"] == []


def test_share_and_spread_are_columns() -> None:
    frame = quietly(
        read_perf_stat,
        " Performance counter stats for './x' (3 runs):\n\n"
        "     1,000      cycles        #    3,000 GHz      ( +-  0,45% )  (83,31%)\n"
        "     2,000      instructions                      [66.67%]\n"
        "     3,000      branches\n",
    )
    assert frame["share"].tolist()[:2] == pytest.approx([0.8331, 0.6667])
    assert frame["spread"].tolist()[0] == pytest.approx(0.0045)
    assert frame["share"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("name", ["perf_review.txt", "perf_plain.txt", "perf_csv.txt"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: textwrap.indent(text, "> > ", lambda _: True),
        lambda text: text.replace("<", "&lt;").replace(">", "&gt;"),
    ],
    ids=["CRLF", "deeper", "HTML"],
)
def test_what_mail_does_to_counts(name: str, change: Callable[[str], str]) -> None:
    plain = quietly(read_perf_stat, mail(name))
    changed = quietly(read_perf_stat, change(mail(name)))
    assert count_rows(changed) == count_rows(plain)
    assert changed.attrs == plain.attrs


@pytest.mark.parametrize(
    ("printed_count", "value"),
    [
        ("26,922,913", 26922913),
        ("26.922.913", 26922913),
        ("26 922 913", 26922913),
        ("26\u202f922\u202f913", 26922913),
        ("26\u00a0922\u00a0913", 26922913),
        ("26'922'913", 26922913),
        ("26\u2019922\u2019913", 26922913),
        ("2,69,22,913", 26922913),
        ("26922913", 26922913),
        ("2,896", 2896),
        ("2.896", 2896),
        ("0.896", 0.896),
        ("19910.8", 19910.8),
        ("34.5", 34.5),
        ("1.234,56", 1234.56),
        ("1,234.56", 1234.56),
        ("0", 0),
    ],
)
def test_thousands_separators(printed_count: str, value: float) -> None:
    text = f" Performance counter stats for 'x':\n\n   {printed_count}      cycles\n"
    assert read_perf_stat(text)["count"].tolist() == [value]


def test_the_comment_column_tells_the_decimal_mark() -> None:
    text = (
        " Performance counter stats for 'x':\n\n      1.234      page-faults    #    0.965 K/sec\n"
        "      1,234      cycles         #    0.965 GHz\n"
    )
    assert read_perf_stat(text)["count"].tolist() == [1.234, 1234]


def test_a_broken_line_is_mended() -> None:
    text = """\
> Performance counter stats for './a.out --with a very long list of
> arguments' (3 runs):
>
>   <not
> supported>      cycles
>        80,302,961
> instructions              #
> 2.98  insn per cycle
>            2,896      branch-misses             #    0.01% of all
branches          ( +-  0.58% )
>              932      context-switches                 #
> 281.7 cs/sec  cs_per_second
>            1,234      faults
"""
    run = "./a.out --with a very long list of arguments (3 runs)"
    assert count_rows(read_perf_stat(text)) == [
        (run, "cycles", None, "<not supported>"),
        (run, "instructions", 80302961, "2.98 insn per cycle"),
        (run, "branch-misses", 2896, "0.01% of all branches ( +- 0.58% )"),
        (run, "context-switches", 932, "281.7 cs/sec cs_per_second"),
        (run, "faults", 1234, ""),
    ]


def test_a_short_row_was_not_broken() -> None:
    frame = read_perf_stat(" Performance counter stats for './x':\n\n   1,234 cycles\nper cycle, all idle\n")
    assert count_rows(frame) == [("./x", "cycles", 1234, "")]


def test_the_output_of_other_options() -> None:
    text = """\
 Performance counter stats for 'system wide':

CPU0              3.38 msec cpu-clock                        #    0.457 CPUs utilized
CPU1              7.39 msec cpu-clock                        #    1.000 CPUs utilized
S0        4        123,456      cycles
         24.50 Joules power/energy-pkg/

       0.007383413 seconds time elapsed

#           time             counts unit events
     0.100468348               0.99 msec task-clock                       #    0.010 CPUs utilized
     0.100468348    <not supported>      cycles
     0.200790079      <not counted> msec task-clock
"""
    when = "run 2 at"
    assert count_rows(read_perf_stat(text)) == [
        ("system wide CPU0", "cpu-clock", 3.38, "msec; 0.457 CPUs utilized"),
        ("system wide CPU1", "cpu-clock", 7.39, "msec; 1.000 CPUs utilized"),
        ("system wide S0 4", "cycles", 123456, ""),
        ("system wide", "power/energy-pkg/", 24.5, "Joules"),
        (f"{when} 0.100468348 s", "task-clock", 0.99, "msec; 0.010 CPUs utilized"),
        (f"{when} 0.100468348 s", "cycles", None, "<not supported>"),
        (f"{when} 0.200790079 s", "task-clock", None, "msec; <not counted>"),
    ]


def test_two_blocks_of_the_same_command() -> None:
    block = (
        " Performance counter stats for './x':\n\n     1,000      cycles\n     2,000      instructions\n\n"
    )
    assert list(read_perf_stat(block + block)["run"]) == ["./x", "./x", "./x (2)", "./x (2)"]


def test_events_that_begin_again_are_another_run() -> None:
    rows = "     1,000      cycles\n     2,000      instructions\n"
    frame = read_perf_stat(f" Performance counter stats for './x':\n\n{rows}\n{rows}")
    assert list(frame["run"]) == ["./x", "./x", "./x (2)", "./x (2)"]


def test_old_names_of_events() -> None:
    text = """\
    Performance counter stats for '/home/joe/hackbench':

       1255.538611  task clock ticks     #      10.143 CPU utilization factor
             54011  context switches     #       0.043 M/sec
        3808323185  CPU cycles           #    3033.219 M/sec

    Wall-clock time elapsed:   123.786620 msecs
"""
    frame = read_perf_stat(text)
    assert frame["event"].tolist() == ["task clock ticks", "context switches", "CPU cycles"]
    assert frame["count"].tolist() == [1255.538611, 54011, 3808323185]
    assert frame.attrs["seconds"]["/home/joe/hackbench"]["time elapsed"] == pytest.approx(0.12378662)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cycles          26,922,913     17,960,709", "has its event before the count"),
        ("| instructions | 80,302,961 | 41,292,805 |", "has its event before the count"),
        (
            '{"counter-value" : "many", "unit" : "msec", "event" : "task-clock"}',
            "is JSON, but not a whole line",
        ),
        ("  1,000 cycles a call", "has words behind its event"),
    ],
)
def test_other_forms_of_counts_are_reported(line: str, reason: str) -> None:
    frame = quietly(
        read_perf_stat, f" Performance counter stats for './x':\n\n     1,000      faults\n{line}\n"
    )
    assert count_rows(frame) == [("./x", "faults", 1000, "")]
    ((number, _, words),) = frame.attrs["rejected"]
    assert number == 4
    assert reason in words


@pytest.mark.parametrize(
    "line", ["It takes 20 cycles.", "3 patches (see below)", "2 things to note here", "1,234 apples"]
)
def test_prose_beside_counts_is_not_reported(line: str) -> None:
    block = " Performance counter stats for './x':\n\n     1,000      cycles\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_perf_stat(f"{line}\n\n{block}\n{line}\n")
    assert (frame["event"].tolist(), frame["count"].tolist()) == (["cycles"], [1000])


@pytest.mark.parametrize(
    "line", ["1" * 5000, "1," * 2500, "x-1" * 2000, "tsc " * 1000, "> " * 2000, "( " * 2000]
)
def test_long_lines_of_anything_come_to_an_end(line: str) -> None:
    block = " Performance counter stats for './x':\n\n    80,302,961      instructions        #    2.98\n"
    assert len(quietly(read_perf_stat, f"{block}{line}\n{line}!\n\n{block}")) == 2
    table = f"{HEADING}\nAligned 20 20.5 1.02\n"
    assert len(quietly(read_dpdk_table, f"{table}{line}\n{line}!\n\n{table}")) == 2


def test_a_text_without_counts() -> None:
    with pytest.warns(UserWarning, match="nothing in the text looks like a count of perf stat"):
        frame = read_perf_stat("Looks good to me.\n")
    assert list(frame.columns) == ["run", "event", "count", "note", "share", "spread"]
