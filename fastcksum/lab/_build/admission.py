"""A kernel is tried in a process of its own before it is loaded here: what crashes or hangs takes nothing with it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcksum._kernel import where
from fastcksum.lab._machine.compilers import CompileError

if TYPE_CHECKING:
    from .unit import Unit

# The trial of an unoptimised byte loop takes about 2 s of CPU time; the wall clock only ends what sleeps.

CPU_SECONDS = 60
WALL_SECONDS = 600


class KernelError(ValueError):
    """A function that was compiled can't be used: it crashes, hangs or gives a wrong sum, or this CPU can't run it."""


class WrongSumError(KernelError):
    """A function gives a wrong sum, at this length first; perhaps its result means something else."""

    def __init__(self, words: str, length: int) -> None:
        super().__init__(words)
        self.length = length


def try_out(path: Path, unit: Unit) -> None:
    """Lets another process compare the kernel with the reference. KernelError if it is wrong, crashes or hangs."""
    script = Path(__file__).with_name("trial.py")
    package_home = str(Path(__file__).resolve().parents[3])
    paths = [package_home, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-B", "-P", str(script), str(path), unit.kernel_id, str(CPU_SECONDS)]
    # Files, not pipes: a process that the function leaves behind holds a pipe open, and one that prints much blocks on
    # it.
    with os.fdopen(os.memfd_create("verdict"), "rb") as said, tempfile.TemporaryFile() as complaint:
        trial = subprocess.Popen(
            [*command, str(said.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaint,
            pass_fds=[said.fileno()],
            start_new_session=True,
        )
        try:
            status = trial.wait(WALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise KernelError(
                f"'{unit.symbol}' did not end within {WALL_SECONDS} s: it sleeps or waits"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(trial.pid, signal.SIGKILL)  # and what it left behind
            trial.wait()
        words = [os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace") for file in (said, complaint)]
    _judge(unit.symbol, status, *words)


def _judge(symbol: str, status: int, said: str, complaint: str) -> None:
    """KernelError unless the trial said that the kernel is right, or that there is nothing to be right about."""
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    verdict: dict[str, Any] = messages[-1] if messages else {}
    if status < 0:
        raise KernelError(_words_for_death(symbol, -status, verdict.get("at")))
    if status != 0:
        raise KernelError(f"'{symbol}' could not be tried:\n{complaint.strip()}")
    if "error" in verdict:
        raise CompileError(_words_for_unloaded(symbol, verdict["error"]))
    if "state" in verdict:
        raise KernelError(_words_for_state(symbol, verdict["state"]))
    if "wrong" in verdict:
        raise WrongSumError(_words_for_wrong(symbol, verdict["wrong"]), verdict["wrong"]["length"])
    if "right" not in verdict and "unfit" not in verdict:
        raise KernelError(f"'{symbol}' ended the process in which it was tried, with status 0")


def _words_for_unloaded(symbol: str, error: str) -> str:
    missing = re.search(r"undefined symbol: (\w+)", error)
    if missing is None:
        return f"'{symbol}' can't be loaded: {error}"
    return (
        f"'{symbol}' can't be loaded: undefined symbol: {missing[1]}; it is a macro or a function that neither the "
        "source nor a header defines, or its object is missing in the flags"
    )


def _words_for_state(symbol: str, state: dict[str, Any]) -> str:
    return (
        f"'{symbol}' breaks the ABI at {state['length']} bytes: its caller has to find as it was "
        f"{', '.join(state['broken'])}"
    )


def _words_for_wrong(symbol: str, wrong: dict[str, Any]) -> str:
    words = (
        f"'{symbol}' is wrong at {where(wrong['length'], wrong['offset'])} (data: {wrong['fill']}, start value "
        f"{wrong['start']:#x}): it gives {wrong['got']:#06x}, right is {wrong['expected']:#06x}"
    )
    if "right" in wrong:
        words += f"; it was right up to {wrong['right']} bytes: if its sum wraps beyond, say max_len={wrong['right']}"
    return words


def _words_for_death(symbol: str, number: int, at: dict[str, Any] | None) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    when = "while it was loaded"
    if at is not None:
        length = f"{at['length']} bytes" if "length" in at else f"a length of at most {at['longest']} bytes"
        or_end = " or ending at a page end" if at["offset"] == 0 and "length" not in at else ""
        when = (
            f"at {length}, offset {at['offset']}{or_end} (data: {at['fill']}, start value {at['start']:#x})"
        )
    reasons = {
        "SIGXCPU": f"it did not come to an end within {CPU_SECONDS} s of CPU time",
        "SIGKILL": f"it did not come to an end within {CPU_SECONDS} s of CPU time, or the system was out of memory",
        "SIGILL": "the flags ask for instructions that this CPU doesn't have",
        "SIGSEGV": "it reads or writes outside of the buffer, or writes into it: a kernel may only read",
        "SIGBUS": "it reads or writes outside of the buffer, or writes into it: a kernel may only read",
    }
    reason = reasons.get(name)
    return f"'{symbol}' dies of {name} {when}" + (f": {reason}" if reason else "")
