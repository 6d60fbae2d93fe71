"""The faults of tests/mutants.py, that each still has its place in the sources; they are tried by that program."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT, Mutant, planted


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_fault_has_a_place(mutant: Mutant) -> None:
    text = (ROOT / "csrc" / mutant.file).read_text()
    assert planted(text, mutant) != text


def test_names_differ() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_the_page_says_how_many() -> None:
    assert f" {len(MUTANTS)} faults " in (ROOT / "CONTRIBUTING.md").read_text()
