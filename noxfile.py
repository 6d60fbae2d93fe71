"""The verbs: nox -s tests | lint | types | c | fuzz | sanitize | format | notebooks | wheels | man | ci. `nox` alone:
lint, types, tests.
"""

from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.default_venv_backend = "venv"

PYTHONS = ["3.11", "3.12", "3.13"]


def c_files() -> list[str]:
    folders = (Path("csrc"), Path("tests", "c"), Path("tests", "fuzz"))
    return sorted(str(path) for folder in folders for path in folder.rglob("*.[ch]"))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The test suite on each Python that is here; arguments behind -- go to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS)
def wheels(session: nox.Session) -> None:
    """A manylinux2014 wheel for x86-64 into dist/, and tried where no compiler is."""
    session.run("bash", ".ci/wheel", "dist", external=True, env={"PYTHON": "python"})


@nox.session
def man(session: nox.Session) -> None:
    """The manual page build/fastcksum.1, made of what --help says."""
    session.install(".", "argparse-manpage")
    words = {
        "--module": "fastcksum.cli._parser",
        "--function": "parser",
        "--project-name": "fastcksum",
        "--prog": "fastcksum",
        "--author": "the fastcksum authors",
        "--description": "the Internet checksum, and a bench for kernels of it",
        "--output": "build/fastcksum.1",
    }
    Path("build").mkdir(exist_ok=True)
    session.run("argparse-manpage", *(word for pair in words.items() for word in pair))


@nox.session
def lint(session: nox.Session) -> None:
    """What ruff and clang-format say."""
    session.install("ruff", "clang-format==19.*")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("clang-format", "--dry-run", "--Werror", *c_files())


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict over the package, the tests and this file."""
    session.install("-e", ".[dev]")
    session.run("mypy")


@nox.session(venv_backend="none")
@nox.parametrize("compiler", ["gcc", "clang-19"])
def c(session: nox.Session, compiler: str) -> None:
    """The C tests, which need no Python, under the address and undefined-behaviour sanitizers."""
    session.run("bash", "tests/c/run.sh", compiler, external=True)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzzes every target for a minute; behind -- : other seconds, or a target of tests/fuzz and seconds."""
    session.install("-e", ".[capture]")
    arguments = {0: ["all", "60"], 1: ["all", *session.posargs]}.get(len(session.posargs), session.posargs)
    session.run("bash", "tests/fuzz/run.sh", *arguments, external=True, env={"PYTHON": "python"})


@nox.session
def sanitize(session: nox.Session) -> None:
    """The extension under the address and undefined-behaviour sanitizers; arguments behind -- go to pytest."""
    session.install("-e", ".[test]")
    session.run("bash", "tests/sanitize.sh", *session.posargs, external=True, env={"PYTHON": "python"})


@nox.session(name="format")
def format_(session: nox.Session) -> None:
    """Rewrites what lint would refuse."""
    session.install("ruff", "clang-format==19.*")
    session.run("ruff", "check", "--fix-only")
    session.run("ruff", "format")
    session.run("clang-format", "-i", *c_files())


@nox.session
def notebooks(session: nox.Session) -> None:
    """Runs the notebooks with their full plans and keeps their outputs; parts of names behind -- choose."""
    session.install("-e", ".[test]")
    session.run("python", "benchmarks/notebooks.py", *session.posargs)


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """All of it, as on a bare Debian 12 machine."""
    session.run("bash", ".ci/run", external=True)
