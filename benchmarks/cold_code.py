"""What does the first call of a kernel cost when other code has run since, and how large is each kernel?

    python benchmarks/cold_code.py [--quick] [--kib 64]

A C program is built of the kernels' own files and of a stretch of other code: 64 KiB, a jump in each of its
cache lines. For each kernel and length it times single calls, on data that lies in the nearest cache:

  warm   the call before was the same one
  cold   the other code ran in between, which took the kernel out of the instruction cache and out of the buffers of
         decoded instructions and of branch targets, and made the predictor forget what it can

Kernels and lengths take turns. Figures are means of the middle half of the samples, in ticks, an empty pair
of counter readings included; the line of `nothing` is what that, and a cold call of an empty function, cost.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

import fastcksum
from fastcksum import _core, lab
from fastcksum.lab._machine.processor import pinned

LENGTHS = (20, 64, 100, 1500)
LARGEST_CODE = 6 * 1024

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>

#include "bench/timer.h"
#include "kernels/kernel.h"

#define TEXT(x) #x
#define STRING(x) TEXT(x)

#if CKSUM_X86_64
#define STEP "addl $1, %eax\n\tjmp 1f\n\t"
#else
#define STEP "add w0, w0, #1\n\tb 1f\n\t"
#endif
void other_code(void);
__asm__(".text\n\t.p2align 12\n\t.globl other_code\nother_code:\n\t"
        ".rept " STRING(LINES) "\n\t" STEP ".p2align 6\n1:\n\t.endr\n\tret\n");

static volatile uint32_t kept;

/* One call of the kernel by its own name, with no table or pointer that a cold call would mispredict. */
#define TIME(id)                                                                                                       \
    extern cksum_fn cksum_opaque_##id CKSUM_HIDDEN;                                                                    \
    static __attribute__((noinline, aligned(4096))) uint64_t time_##id(const unsigned char *buf, size_t len)           \
    {                                                                                                                  \
        const uint64_t begin = timer_begin();                                                                          \
        kept = cksum_opaque_##id(buf, len, 0);                                                                         \
        return timer_end() - begin;                                                                                    \
    }
KERNELS(TIME)

#define ENTRY(id) {#id, time_##id},
static const struct {
    const char *name;
    uint64_t (*time)(const unsigned char *buf, size_t len);
} entries[] = {KERNELS(ENTRY)};
static const size_t lengths[] = {LENGTHS};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int main(int argc, char **argv)
{
    static unsigned char buf[4096] __attribute__((aligned(4096)));
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (size_t i = 0; i < sizeof buf; i++) {
        buf[i] = (unsigned char)(i * 167 + 13);
    }
    for (unsigned long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < COUNT(entries) * COUNT(lengths); i++) {
            const size_t turn = (i + round) % (COUNT(entries) * COUNT(lengths));
            const size_t entry = turn % COUNT(entries), len = lengths[turn / COUNT(entries)];
            for (int repeat = 0; repeat < 8; repeat++) {
                entries[entry].time(buf, len);
            }
            const uint64_t warm = entries[entry].time(buf, len);
            other_code();
            const uint64_t cold = entries[entry].time(buf, len);
            printf("%s %zu %llu %llu\n", entries[entry].name, len, (unsigned long long)warm, (unsigned long long)cold);
        }
    }
    return 0;
}
"""


def build(folder: Path, names: list[str], kib: int) -> Path:
    """The program with these kernels in it, compiled as the extension was."""
    facts = _core.build_facts()
    csrc = next(
        path for path in lab.kernel_source(names[0]).parents if (path / "kernels" / "kernel.h").is_file()
    )
    common = [facts["command"], *facts["flags"].split(), "-I", str(csrc)]
    for name in names:
        run([*common, "-c", "-o", f"{name}.o", str(lab.kernel_source(name))], folder)
    (folder / "main.c").write_text(SOURCE)
    defines = [
        f"-DKERNELS(X)={' '.join(f'X({name})' for name in names)}",
        f"-DLENGTHS={','.join(map(str, LENGTHS))}",
        f"-DLINES={kib * 1024 // 64}",
    ]
    run([*common, *defines, "-o", "cold_code", "main.c", *(f"{name}.o" for name in names)], folder)
    return folder / "cold_code"


def run(command: list[str], folder: Path) -> None:
    """Runs a compiler. CalledProcessError if it fails; its words are on standard error."""
    subprocess.run(command, cwd=folder, check=True)


def middle_mean(samples: list[int]) -> float:
    """The mean of the middle half, which a coarse counter can't round and an interrupt can't shift."""
    low, high = np.quantile(samples, [0.25, 0.75])
    values = np.array(samples)
    return float(values[(values >= low) & (values <= high)].mean())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    parser.add_argument("--kib", type=int, default=64, help="other code between two calls (default: 64)")
    options = parser.parse_args()
    rounds = 200 if options.quick else 2000
    field = [
        each
        for each in fastcksum.kernels()
        if each.runs_here and (each.role in {"production", "peer"} or each.name == "nothing")
    ]
    samples: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder, pinned():
        program = build(Path(folder), [each.name for each in field], options.kib)
        done = subprocess.run([program, str(rounds)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        size, *ticks = map(int, numbers)
        samples[name, size].append((ticks[0], ticks[1]))

    host = lab.host()
    print(
        f"{host.cpu}; {host.compiler}; {rounds} samples a figure, {options.kib} KiB of other code; "
        f"{host.unit}"
    )
    print(f"{'':<18} {'code':>7} " + "".join(f"{f'{length} bytes':>20}" for length in LENGTHS))
    print(f"{'':<18} {'':>7} " + f"{'warm':>8} {'cold':>5} {'more':>5}" * len(LENGTHS))
    for each in field:
        figures = ""
        for length in LENGTHS:
            warm, cold = (
                middle_mean(list(column)) for column in zip(*samples[each.name, length], strict=True)
            )
            figures += f"{warm:8.0f} {cold:5.0f} {cold - warm:5.0f}"
        print(f"{each.name:<18} {each.code_bytes or 0:>5} B {figures}")
    large = [
        each.name for each in field if each.role == "production" and (each.code_bytes or 0) > LARGEST_CODE
    ]
    print(f"Production kernels above {LARGEST_CODE} bytes of code: {', '.join(large) or 'none'}")


if __name__ == "__main__":
    main()
