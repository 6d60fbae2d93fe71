"""The figures of a race in a file: small enough to stand in a repository, enough to judge it anew."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fastcksum.lab._machine.facts import Cache, Host

from .contests import Case, Field, Minima, Runner
from .results import replace_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

SCHEMA: Final = 1
KIND: Final = "fastcksum race"


@dataclass(frozen=True, slots=True)
class About:
    """What a reader must know beside the figures: how they were measured, when it was begun (UTC), and notes."""

    how: str
    started: str
    interrupted: bool
    notes: tuple[str, ...]


def save(path: str | os.PathLike[str], host: Host, about: About, field: Field, minima: Minima) -> None:
    """Writes the file as JSON; a good file of that name is replaced only by a whole one."""
    facts = {
        "kind": KIND,
        "schema": SCHEMA,
        "host": dataclasses.asdict(host),
        "about": dataclasses.asdict(about),
        "runners": {
            name: {**runner._asdict(), "places": list(field.places.get(name, ()))}
            for name, runner in field.runners.items()
        },
        "cells": [{**case._asdict(), "ticks": ticks} for case, ticks in minima.items()],
    }
    lines = json.dumps(facts, indent=1).replace("\n    ", " ").replace("\n   ", " ")
    replace_whole(Path(path), f"{lines}\n".encode())


def load(path: str | os.PathLike[str]) -> tuple[Host, About, Field, Minima]:
    """What save() wrote. ValueError that names the file if it is something else, damaged, or of another schema."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
        kind, schema = facts["kind"], facts["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no file of a race: {error!r}") from None
    if (kind, schema) != (KIND, SCHEMA):
        raise ValueError(
            f"{path} is a {kind!r} of schema {schema}; this version reads {KIND!r} of schema {SCHEMA}"
        )
    try:
        return _host(facts["host"]), _about(facts["about"]), _field(facts["runners"]), _minima(facts["cells"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from None


def _host(facts: Mapping[str, Any]) -> Host:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
    }
    fields["caches"] = tuple(Cache(**cache) for cache in facts["caches"])
    return Host(**fields)


def _about(facts: Mapping[str, Any]) -> About:
    return About(**{**facts, "notes": tuple(facts["notes"])})


def _field(facts: Mapping[str, Any]) -> Field:
    return Field(
        {name: Runner(each["kernel"], each["role"], each["build"]) for name, each in facts.items()},
        {name: tuple((k, loops) for k, loops in each["places"]) for name, each in facts.items()},
    )


def _minima(cells: list[Mapping[str, Any]]) -> Minima:
    return {
        Case(cell["mode"], cell["size"], cell["distribution"], cell["offset"]): {
            name: {int(number): float(value) for number, value in ticks.items()}
            for name, ticks in cell["ticks"].items()
        }
        for cell in cells
    }
