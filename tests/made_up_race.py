"""Races that nobody measured: ticks typed in, or drawn from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from made_up_sweep import HOST

from fastcksum.lab import Host, Race
from fastcksum.lab._bench.places import draw_places
from fastcksum.lab._figures.contests import Case, Field, Minima, Runner
from fastcksum.lab._figures.race_file import About

if TYPE_CHECKING:
    from collections.abc import Mapping

T20, T40, L40 = (
    Case("throughput", 20, "fixed", 0),
    Case("throughput", 40, "fixed", 1),
    Case("latency", 40, "fixed", 0),
)
IND, DEP = Case("mixed", 0, "imix", -1), Case("mixed dependent", 0, "imix", -1)
ROLES = {
    "new": "production",
    "new (copy)": "copy",
    "old": "production",
    "peer_a": "peer",
    "peer_b": "peer",
    "past_c": "past",
    "load_only_512": "yardstick",
    "nothing": "yardstick",
    "x86_64_adc": "production",
    "linux_before": "past",
    "linux_after": "past",
    "linux_2023": "peer",
}
ABOUT = About(how="typed in", started="2026-11-30T12:00:00+00:00", interrupted=False, notes=("A note.",))
FIVE_CELLS = {
    T20: {"new": 4.0, "old": 3.0, "peer_a": 5.0, "peer_b": 8.0, "past_c": 6.0, "nothing": 2.0},
    T40: {"new": 6.0, "old": 9.0, "peer_a": 5.0, "peer_b": 8.0, "past_c": 3.0, "nothing": 2.0},
    L40: {"new": 12.0, "old": 9.0, "peer_a": 15.0, "peer_b": 10.0},
    IND: {"new": 10.0, "old": 12.0, "peer_a": 20.0, "peer_b": 40.0},
    DEP: {"new": 10.0, "old": 12.0, "peer_a": 80.0, "peer_b": 10.0},
}


def field_of(names: Mapping[str, str] | list[str], chosen: str = "new", placements: int = 16) -> Field:
    """Runners of these names, each at places of its own; builds are called after the kernel."""
    return Field(
        {
            name: Runner(
                name.split(" ", maxsplit=1)[0],
                "chosen" if name == chosen else ROLES.get(name.split(" [")[0], "peer"),
                f"cc of {name}",
            )
            for name in names
        },
        {
            name: [(place.kernel, place.loops) for place in draw_places(placements, number, 1)]
            for number, name in enumerate(names)
        },
    )


def race_of(minima: Minima, chosen: str = "new", **more: Any) -> Race:
    """A race with these minima."""
    names = list(dict.fromkeys(name for ticks in minima.values() for name in ticks))
    return Race(
        host=more.pop("host", HOST),
        about=more.pop("about", ABOUT),
        field=field_of(names, chosen),
        minima=minima,
        **more,
    )


def made_up(
    ticks: Mapping[Case, Mapping[str, float]], chosen: str = "new", host: Host = HOST, about: About = ABOUT
) -> Race:
    """A race in which each of 16 placements shows these ticks a call."""
    minima = {
        case: {name: dict.fromkeys(range(16), figure) for name, figure in of_case.items()}
        for case, of_case in ticks.items()
    }
    return race_of(minima, chosen, host=host, about=about)
