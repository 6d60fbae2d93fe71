# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is my version faster, where, and how sure is that?
#
# Paste a C function with the signature that `__rte_raw_cksum` and `csum_partial` share into `SOURCE` and run the page.
# It is compiled, checked against the reference before it is believed, compared with `BASELINE` built by the same
# compiler with the same flags, and judged; the last cells are a mail that reviewers can use.
#
# The example is an obvious idea: instead of 16-bit words in a 32-bit sum, 32-bit words in a 64-bit one.

# %% tags=["parameters"]
SOURCE = r"""
#include <stdint.h>
#include <string.h>

uint32_t my_cksum(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (; len >= 4; p += 4, len -= 4) {
        uint32_t word;
        memcpy(&word, p, sizeof word);
        total += word;
    }
    if (len >= 2) {
        uint16_t word;
        memcpy(&word, p, sizeof word);
        total += word;
        p += 2, len -= 2;
    }
    if (len > 0) {
        uint16_t word = 0;
        memcpy(&word, p, 1);
        total += word;
    }
    total = (total >> 32) + (uint32_t)total;
    return (uint32_t)((total >> 32) + (uint32_t)total);
}
"""
BASELINE = "dpdk_after"
COMPILER = "gcc"
FLAGS = ("-O3",)
SIZES = (20, 21, 40, 64, 100, 101, 256, 576, 1500, 1501, 4096, 9000, 65536)
ROUNDS = 20
PLACEMENTS = (32, 64, 128)
COMPARED_ROUNDS = 2
SECONDS = 60
SEED = 1071

# %%
from html import escape

import pandas as pd
from IPython.display import HTML, Markdown, display

from fastcksum import active_kernel, kernels, lab
from fastcksum.lab import plot

# %% [markdown]
# ## Is it right?
# A function that gives a wrong sum, crashes, hangs or reads past its buffer is an error that says where, and is never
# timed. To see that it would be, here is a version that forgets the odd last byte:

# %%
forgetful = SOURCE.replace("if (len > 0)", "if (0)")
try:
    lab.compile_kernel(forgetful, COMPILER, FLAGS)
except ValueError as error:
    print(error)

# %%
mine = lab.compile_kernel(SOURCE, COMPILER, FLAGS)
theirs = lab.compile_kernel(lab.kernel_source(BASELINE), COMPILER, FLAGS)
pd.DataFrame(
    {
        "kernel": kernel.name,
        "main loop": f"vectorised, {kernel.vector_bits} bits"
        if kernel.vectorised
        else "scalar",
        "bytes of code": kernel.code_bytes,
    }
    for kernel in (theirs, mine)
)

# %% [markdown]
# ## Is it faster?
# Both are linked at 32 places and more, until a cell is decided, since the place of the code alone can move a small
# size by tens of per cent, and the baseline twice: what two copies of the same code differ by is the noise floor
# (grey). Faster and slower need an interval that excludes 1 and a ratio beyond the floor, same an interval within 1 %;
# what is none of these is unresolved (hollow). All verdicts together are 95 % sure.

# %%
looks = {"placements": PLACEMENTS, "rounds": COMPARED_ROUNDS, "seconds": SECONDS}
comparison = lab.compare(theirs, mine, SIZES, (0, 1), seed=SEED, **looks)
plot.before_after(comparison, title="Times faster than the baseline, aligned")

# %%
plot.before_after(
    comparison, offset=1, title="Times faster than the baseline, one byte off"
)

# %% [markdown]
# ## Where does it stand?
# Faster than the baseline is not yet fast. The grey area is what the loads alone cost, and the third line is the kernel
# that `raw_cksum` uses on this machine.

# %%
yardsticks = [
    kernel for kernel in kernels() if kernel.role == "yardstick" and kernel.runs_here
]
everybody = [theirs, mine, active_kernel(), *yardsticks]
here = lab.sweep(everybody, SIZES, (0, 1), rounds=ROUNDS, seed=SEED)
plot.cycles_per_byte(here, title="Cost per byte, aligned")

# %% [markdown]
# ## The mail
# All that the first reply would ask for, within 100 columns: host, both kernels' compiler and flags, clock, date, how
# often, how placed, the ticks of both, and every verdict. `print(comparison.text())` or `fastcksum compare` give the
# same.

# %%
style = "font-family: monospace; font-size: 75%"
HTML(f"<pre style='{style}'>{escape(comparison.text())}</pre>")

# %% [markdown]
# ## Answer


# %%
def in_words(cells: pd.DataFrame) -> str:
    """How many cells, at which sizes, by how much."""
    if cells.empty:
        return "in none"
    times = cells["ratio"].where(cells["ratio"] >= 1, 1 / cells["ratio"])
    sizes = ", ".join(f"{size:,}" for size in sorted(set(cells["size"])))
    return (
        f"in {len(cells)} ({times.min():.2f}x to {times.max():.2f}x; {sizes} bytes)"
    )


verdicts = comparison.frame()
by_verdict = {
    verdict: verdicts[verdicts["verdict"] == verdict]
    for verdict in ("faster", "slower", "same", "unresolved")
}

# %%
places = verdicts["placements"]
claim = "A patch that claims more than that claims what was not found here."
if len(by_verdict["faster"]) == len(verdicts):
    claim = "It can be proposed as faster at every size and offset measured."
answer = f"""
**Of {len(verdicts)} cells** (sizes x offsets) `{mine.symbol}`, built by
{mine.compiler} {" ".join(FLAGS)}, is faster than `{BASELINE}`
{in_words(by_verdict["faster"])}, slower {in_words(by_verdict["slower"])}, the same
within 1 % in {len(by_verdict["same"])}, and {len(by_verdict["unresolved"])} are
unresolved, over {places.min()} to {places.max()} placements. {claim}
"""
display(Markdown(answer))
