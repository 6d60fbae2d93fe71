"""A source as it stood in a revision of a git repository, with what it includes by quotes."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path, PurePosixPath

from fastcksum.lab._machine.scratch import scratch

from .includes import quoted


def export(revision: str, path: str) -> Path:
    """The file of that revision, in a folder of this process, with what it includes from the same revision.

    path counts from the working directory, or from the root of the repository where there is no such file.
    ValueError in git's words.
    """
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise ValueError(f"{revision}:{path}: git knows no revision {revision!r} here")
    sha = commit.decode().strip()
    tree = _git("ls-tree", "--full-name", "--name-only", sha, "--", path) or _git(
        "ls-tree", "--full-tree", "--name-only", sha, "--", path
    )
    named = tree.decode(errors="surrogateescape").splitlines()
    if len(named) != 1:
        raise ValueError(f"{revision}:{path}: that revision has no such file")
    folder = Path(tempfile.mkdtemp(prefix=f"{sha[:12]}-", dir=scratch()))
    _write(sha, PurePosixPath(named[0]), folder)
    return folder / named[0]


def _write(sha: str, path: PurePosixPath, folder: Path) -> None:
    """Writes a file of the commit, and those that it includes by quotes if the commit has them."""
    target = folder / path
    if target.exists() or ".." in path.parts:
        return
    content = _git("cat-file", "blob", f"{sha}:{path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    for name in quoted(content):
        for above in path.parents:
            included = _normal(above / name)
            if _git("ls-tree", "--full-tree", "--name-only", sha, "--", str(included)):
                _write(sha, included, folder)
                break


def _normal(path: PurePosixPath) -> PurePosixPath:
    """The path without "..", as far as it does not leave the repository."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return PurePosixPath(*parts)


def _git(*words: str) -> bytes:
    """What git says; nothing where it fails quietly. ValueError in its words."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)
    except OSError as error:
        raise ValueError(f"git can't be run: {error.strerror}; REV:path needs it") from None
    complaint = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0 and complaint:
        raise ValueError(f"git: {complaint.removeprefix('fatal: ')}")
    return done.stdout
