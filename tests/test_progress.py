"""How far something is: a bar where somebody looks, the caller's function, silence; and what is said of a missing
extra.
"""

from __future__ import annotations

import os
import pty
import sys
from types import ModuleType, SimpleNamespace

import pytest

from fastcksum import lab
from fastcksum._extras import extra
from fastcksum._progress import reporting, silent


def read_to_the_end(controller: int) -> str:
    """All that was written to a terminal whose other end is closed; the end is an error on Linux."""
    text = b""
    try:
        while chunk := os.read(controller, 1 << 16):
            text += chunk
    except OSError:
        pass
    finally:
        os.close(controller)
    return text.decode()


def shown(monkeypatch: pytest.MonkeyPatch, *, progress: bool | None) -> str:
    """What a sweep shows on a terminal of 0 x 0, on which tqdm by itself draws nothing."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    controller, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        lab.sweep("reference", 20, 0, rounds=4, progress=progress)
        monkeypatch.undo()
    return read_to_the_end(controller)


def test_a_terminal_is_shown_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, progress=None)
    assert "1 cells, 4 rounds" in text
    assert text.endswith("\r")  # the line is wiped


def test_false_is_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, progress=False) == ""


def test_without_tqdm_there_is_no_bar_unless_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with reporting(None, "work") as report:
        assert report is silent
    with (
        pytest.raises(
            ModuleNotFoundError, match=r"a progress bar needs tqdm: pip install 'fastcksum\[lab\]'"
        ),
        reporting(True, "work"),
    ):
        pass


def test_nothing_is_drawn_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    with reporting(None, "work") as report:
        report(1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_function_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    with reporting(lambda done, total: told.append((done, total)), "work") as report:
        report(1, 2)
    assert told == [(1, 2)]


@pytest.mark.parametrize(
    ("shell", "looks"), [(SimpleNamespace(kernel=1), True), (SimpleNamespace(), False), (None, False)]
)
def test_a_notebook_is_shown_a_bar(shell: object, looks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with reporting(None, "work") as report:
        assert (report is not silent) is looks


def test_what_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"^x\(\) needs pandas: pip install 'fastcksum\[lab\]'$"
    ) as error:
        extra("pandas", "x()", "lab")
    assert error.value.name == "pandas"
    with pytest.raises(ModuleNotFoundError, match=r"'fastcksum\[lab\]'; y\(\) works without$"):
        extra("pandas", "x()", "lab", without="y() works without")
    for ask in (lab.published, lambda: lab.read_dpdk_table(""), lambda: lab.read_perf_stat("")):
        with pytest.raises(ModuleNotFoundError, match=r"lab\.\w+\(\) needs pandas: pip install"):
            ask()


def test_the_lab_shows_what_it_exports() -> None:
    assert dir(lab) == sorted(lab.__all__)
    assert {"published", "read_dpdk_table", "read_perf_stat", "concat", "plot"} <= set(dir(lab))
    assert dir(lab.plot) == sorted(lab.plot.__all__)
    with pytest.raises(AttributeError, match="no_such"):
        _ = lab.plot.no_such


def test_pictures_say_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "fastcksum.lab.plot._"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"lab\.plot needs matplotlib: pip install 'fastcksum\[lab\]'"
    ):
        _ = lab.plot.offset_map
