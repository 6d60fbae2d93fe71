"""Where in a page a kernel and its loops lie at each placement: two independent stratified draws.

Where code lies changes what it costs - branch predictor sets, the op cache, lines that an instruction straddles - by a
factor at small sizes, and one build shows one throw of these dice. A page has 64 lines of 64 bytes, and functions are
aligned to 16 bytes: 4 residues in a line. Of each four placements, counted from number 0 on, each residue is that of
the kernel once and that of its loops once; of each sixteen, each pair of residues comes once (a Latin square). The
lines of each four lie in the four quarters of the page, those of each sixteen in its sixteenths, those of 64 are all
lines. What is left to chance is drawn for each kernel, its loops and each copy by itself. A placement's places depend
on its number, not on how many there are: more placements are added to those that were measured.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

PAGE: Final = 4096
LINE: Final = 64
STEP: Final = 16  # functions are aligned to this at least
RESIDUES: Final = LINE // STEP
SQUARE: Final = RESIDUES**2
LINES: Final = PAGE // LINE
MOST: Final = 1024


class Place(NamedTuple):
    """Offsets in a page, in bytes: of a kernel's code, and of the loops that call it."""

    kernel: int
    loops: int


def check_placements(n: int) -> None:
    """ValueError unless so many placements hold each residue equally often, or are the single one of the linker."""
    if n == 1 or (0 < n <= MOST and n % RESIDUES == 0):
        return
    raise ValueError(
        f"placements must be 1 or a multiple of {RESIDUES} up to {MOST}, not {n}: each of the {RESIDUES} residues of "
        f"{STEP} bytes in a line is taken equally often; {nearest(n)} is the next"
    )


def nearest(n: int) -> int:
    """The least number of placements, but 1, that is enough and may be asked for."""
    return min(max(-(-n // RESIDUES), 1) * RESIDUES, MOST)


def draw_places(n: int, kernel: int, seed: int, first: int = 0) -> list[Place]:
    """The places of placements first..first+n-1 of the kernel with this number in the list."""
    numbers = range(first, first + n)
    return [
        Place(
            LINE * _line(number, [seed, kernel, 0]) + STEP * kernel_residue,
            LINE * _line(number, [seed, kernel, 1]) + STEP * loops_residue,
        )
        for number in numbers
        for kernel_residue, loops_residue in [_residues(number, [seed, kernel, 2])]
    ]


def _residues(number: int, key: list[int]) -> tuple[int, int]:
    """(of the kernel, of its loops): row i of a Latin square of 16 pairs, its rows, columns and symbols shuffled."""
    square, within = divmod(number, SQUARE)
    row, column = divmod(within, RESIDUES)
    source = np.random.default_rng([*key, square])
    rows, kernels, loops = (source.permutation(RESIDUES) for _ in range(3))
    order = source.permuted(np.tile(np.arange(RESIDUES), (RESIDUES, 1)), axis=1)[row]
    return int(kernels[order[column]]), int(loops[(order[column] + rows[row]) % RESIDUES])


def _line(number: int, key: list[int]) -> int:
    """The line: its quarter by the last digit of the number to the base 4, and so on, each digit shuffled by itself."""
    turn, rest = divmod(number, LINES)
    line = 0
    path: list[int] = []
    while len(path) < 3:
        rest, digit = divmod(rest, RESIDUES)
        shuffle = np.random.default_rng([*key, turn, len(path), *path]).permutation(RESIDUES)
        line = line * RESIDUES + int(shuffle[digit])
        path.append(digit)
    return line
