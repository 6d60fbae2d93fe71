"""A job in a process of its own: other addresses, other physical pages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from .job import Job, Outcome, run

if TYPE_CHECKING:
    from collections.abc import Callable


def run_in_process(job: Job, report: Callable[[int, int], None]) -> Outcome:
    """Runs the job in a new process: other addresses, other physical pages. The same errors as run()."""
    with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder:
        result = Path(folder, "outcome.npz")
        child = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                "from fastcksum.lab._bench.process import child; child()",
                str(result),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process, which passes it on once
        )
        try:
            _send(child, job)
            complaint = _follow(child, report, job.all_rounds)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            complaint = _follow(child, lambda *_: None, job.all_rounds)
        if child.returncode != 0 or not result.exists():
            _raise_of(complaint, child.returncode)
        return _read_outcome(result)


def _send(child: subprocess.Popen[str], job: Job) -> None:
    """The job to the child's standard input."""
    with cast("IO[str]", child.stdin) as pipe:
        pipe.write(job.to_json())


def _follow(child: subprocess.Popen[str], report: Callable[[int, int], None], rounds: int) -> str:
    """Passes the child's progress on until it ends, and returns what it complained about."""
    for line in cast("IO[str]", child.stdout):
        report(int(line), rounds)
    complaint = cast("IO[str]", child.stderr).read()
    child.wait()
    return complaint


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
    job = Job.from_json(sys.stdin.read())

    def say(done: int, rounds: int) -> None:  # noqa: ARG001 - the parent knows the rounds
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()

    outcome = run(job, say)
    facts = {"rounds_done": outcome.rounds_done, "processor": outcome.processor, "pages": outcome.pages}
    np.savez(sys.argv[1], samples=outcome.samples, mean_lengths=outcome.mean_lengths, facts=json.dumps(facts))


def _read_outcome(path: Path) -> Outcome:
    with np.load(path) as stored:
        facts = json.loads(str(stored["facts"]))
        return Outcome(samples=stored["samples"], mean_lengths=stored["mean_lengths"].tolist(), **facts)
