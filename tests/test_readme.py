"""The documents keep their word: what they show can be run, what they point to is there."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from fastcksum.cli import _parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = "pip install . && fastcksum perf"
SECOND = "pip install -e '.[test]' && pytest"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def test_the_two_command_lines() -> None:
    assert blocks("sh")[:2] == [FIRST + "\n", SECOND + "\n"]
    assert README.index(FIRST) < README.index(SECOND) < README.index("## Use")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "README.md" in script
    assert SECOND not in script  # it is read from the README, so that there is one of it


def commands() -> list[list[str]]:
    shell = "\n".join(blocks("sh")).replace("&&", "\n")
    inline = re.findall(r"`(fastcksum [^`]*)`", README)
    lines = [shlex.split(line, comments=True) for line in [*shell.splitlines(), *inline]]
    return [words[1:] for words in lines if words and words[0] == "fastcksum"]


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_each_command_is_one(arguments: list[str]) -> None:
    assert callable(_parser.parser().parse_args(arguments).run)


@pytest.mark.needs_tool("gcc")
def test_the_python_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # a capture is named from here
    examples = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", "README.md", 0)
    assert len(test.examples) > 10
    words: list[str] = []
    doctest.DocTestRunner().run(test, out=words.append)
    assert not words, "".join(words)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_what_a_document_points_to_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    paths = re.findall(r"`((?:csrc|tests|fastcksum|notebooks|\.ci)/[\w./-]+)`", text)
    missing = [name for name in {*links, *paths} - {"csrc/kernels/mine.c"} if not (ROOT / name).exists()]
    assert missing == []
    assert links or paths


def test_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    latest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert latest is not None
    assert cited is not None
    assert latest[1] == cited[1] == version
