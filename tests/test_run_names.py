"""What a run out of a mail is called: by the side that its heading names, and by what stands above it only if
needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fastcksum.lab import read_dpdk_table, read_perf_stat

TABLE = """
Alignment  Block size    TSC cycles/block  TSC cycles/byte
Aligned           20                20.5             1.02
"""
COUNT = "\n     26,922,913      cycles    #    3846130.429 GHz\n"

PATCH = """From: Jane Author <jane@example.org>
To: "A. Maintainer" <am@example.org>
Cc: netdev <netdev@example.org>,
\tJane Author <jane@example.com>,
 Joe Reviewer <joe.reviewer@...ample.com
Subject: [PATCH] x86/csum: rewrite csum_partial()

From: Jane Author <jane@example.com>

perf record -e cycles:pp -C <cpu>

  4.16%  [kernel]  csum_partial
"""


def runs(text: str) -> list[str]:
    """The names in order, each once."""
    frame = read_dpdk_table(text) if "Alignment" in text else read_perf_stat(text)
    return list(dict.fromkeys(frame["run"]))


@pytest.mark.parametrize(
    "above",
    [
        PATCH,
        PATCH.partition("\n\n")[2],
        "foo bar\n",
        "$ cat /etc/redhat-release\nSome Linux release 9.4 (Plough)\n",
        "[root@box ~]# uname -r\n5.14.0\n",
        "* a bullet of a list\n",
    ],
)
@pytest.mark.parametrize("figures", [TABLE, COUNT])
def test_one_comparison_is_before_and_after(above: str, figures: str) -> None:
    assert runs(f"{above}\nBefore:\n{figures}\nAfter:\n{figures}") == ["Before", "After"]


def test_what_a_command_printed_ends_at_a_heading() -> None:
    printed = "$ cat /etc/redhat-release\nSome Linux release 9.4"
    text = f"{printed}\n#### main branch\n{TABLE}\n#### with the series\n{TABLE}"
    assert runs(text) == ["main branch", "with the series"]


def test_two_comparisons_are_told_apart_by_what_stands_above() -> None:
    one = f"BEFORE\n{TABLE}\nAFTER\n{TABLE}"
    names = ["gcc 15 BEFORE", "gcc 15 AFTER", "clang 18 BEFORE", "clang 18 AFTER"]
    assert runs(f"gcc 15\n\n{one}\nclang 18\n\n{one}") == names


def test_two_comparisons_without_a_heading_are_counted() -> None:
    assert runs(f"BEFORE\n{COUNT}\nAFTER\n{COUNT}\nBEFORE\n{COUNT}") == ["BEFORE", "AFTER", "BEFORE (2)"]


def test_a_heading_by_markup_stays_in_front() -> None:
    assert runs(f"## gcc\n\nBEFORE\n{TABLE}\nAFTER\n{TABLE}") == ["gcc BEFORE", "gcc AFTER"]


def test_seconds_and_units_have_the_same_names() -> None:
    block = " Performance counter stats for './loop':\n\n  100  cycles\n\n  0.5 seconds time elapsed\n"
    frame = read_perf_stat(f"foo bar\n\nBefore:\n\n{block}\nAfter:\n\n{block}")
    assert list(frame.attrs["seconds"]) == list(dict.fromkeys(frame["run"])) == ["Before", "After"]
    frame = read_dpdk_table(f"foo bar\n\nBefore:\n{TABLE}")
    assert frame.attrs["units"] == {"Before": "TSC cycles"}


def test_bytes_and_paths_are_no_text() -> None:
    for read in (read_dpdk_table, read_perf_stat):
        with pytest.raises(TypeError, match=r"must be a str, the mail itself, not bytes; text\.decode\(\)"):
            read(b"x")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"not PosixPath; Path\(\.\.\.\)\.read_text\(\)"):
            read(Path("mail.txt"))  # type: ignore[arg-type]
