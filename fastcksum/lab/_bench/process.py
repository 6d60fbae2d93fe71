"""A job in a process of its own: other addresses, other physical pages."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

import numpy as np

from .job import Job, Outcome, run

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG: Final = 1  # <linux/prctl.h>


def run_in_process(job: Job, report: Callable[[int, int], None]) -> Outcome:
    """Runs the job in a new process: other addresses, other physical pages. The same errors as run().

    The process ends with this one, and with whatever ends this call.
    """
    with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder:
        result, words = Path(folder, "outcome.npz"), Path(folder, "stderr")
        command = [sys.executable, "-P", "-c", "from fastcksum.lab._bench.process import child; child()"]
        with (
            words.open("wb") as complaints,  # a pipe would block the child when it is full
            subprocess.Popen(
                [*command, str(result), str(os.getpid())],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,  # Ctrl-C reaches this process, which passes it on once
            ) as process,
        ):
            try:
                _follow_to_the_end(process, job, report)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0 or not result.exists():
            _raise_of(words.read_text(errors="replace"), process.returncode)
        return _read_outcome(result)


def _follow_to_the_end(process: subprocess.Popen[str], job: Job, report: Callable[[int, int], None]) -> None:
    """Gives the process its job and passes its progress on until it ends; passes Ctrl-C on to it, once."""
    try:
        with suppress(BrokenPipeError), cast("IO[str]", process.stdin) as pipe:  # it says why it ended
            pipe.write(job.to_json())
        for line in cast("IO[str]", process.stdout):
            report(int(line), job.all_rounds)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        for _ in cast("IO[str]", process.stdout):
            pass
    process.wait()


def _raise_of(complaint: str, status: int) -> None:
    """Raises what ended the child: its own ValueError, KeyboardInterrupt, or a RuntimeError."""
    last = complaint.strip().rsplit("\n", 1)[-1]
    if last.startswith("ValueError: "):
        raise ValueError(last.removeprefix("ValueError: "))
    if last.startswith("KeyboardInterrupt"):
        raise KeyboardInterrupt
    raise RuntimeError(
        f"a measuring process ended with status {status}: {complaint.strip() or 'it said nothing'}"
    )


def _import_paths() -> list[str]:
    """Where a child finds this very package."""
    return [str(Path(__file__).resolve().parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]


def child() -> None:
    """Runs the job on standard input; says each round on standard output; writes the outcome where argv says."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    _end_with(int(sys.argv[2]))
    job = Job.from_json(sys.stdin.read())

    def say(done: int, rounds: int) -> None:  # noqa: ARG001 - the parent knows the rounds
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()

    outcome = run(job, say)
    facts = {"rounds_done": outcome.rounds_done, "processor": outcome.processor, "pages": outcome.pages}
    np.savez(sys.argv[1], samples=outcome.samples, mean_lengths=outcome.mean_lengths, facts=json.dumps(facts))


def _end_with(parent: int) -> None:
    """Has the system kill this process when its parent ends; ends it if that has happened already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the process that measures ended")


def _read_outcome(path: Path) -> Outcome:
    with np.load(path) as stored:
        facts = json.loads(str(stored["facts"]))
        return Outcome(samples=stored["samples"], mean_lengths=stored["mean_lengths"].tolist(), **facts)
