# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does the rewritten loop make DPDK's checksum faster, and with which compiler?
#
# In February 2026 a patch on dpdk-dev changed the inner loop of `__rte_raw_cksum`. Before, it copies two bytes at a
# time with `memcpy` and steps an address by integer arithmetic; after, it walks a typed pointer over 16-bit words. The
# arithmetic is the same. The mails that followed said: with small blocks clang was faster than gcc before, with large
# ones slower; after the patch clang is faster everywhere. Each cell of their tables is one sample on one machine.
#
# Here both forms, written afresh "in the manner of" the originals, are compiled by every compiler below, checked,
# measured in one interleaved run, and set beside the published figures.

# %% tags=["parameters"]
SIZES = (20, 21, 64, 100, 101, 256, 576, 1500, 1501, 4096, 9000, 9001, 65536, 65537)
COMPILERS = ("gcc", "clang-19")
FLAGS = ("-O3",)
ROUNDS = 60
SEED = 2026

# %%
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import kernels, lab
from fastcksum.lab import plot

# %matplotlib inline
# %config InlineBackend.figure_formats = ["png"]

# %% [markdown]
# ## The builds
# A compiler that is not installed is named and left out.

# %%
built = {}
for compiler in COMPILERS:
    for form in ("dpdk_before", "dpdk_after"):
        try:
            built[form, compiler] = lab.compile_kernel(lab.kernel_source(form), compiler, FLAGS)
        except lab.CompileError as error:
            print(f"{compiler} is left out: {str(error).splitlines()[0]}")
            break
compilers = [name for name in COMPILERS if ("dpdk_after", name) in built]
pd.DataFrame(
    {
        "form": form,
        "compiler": kernel.compiler,
        "flags": " ".join(FLAGS),
        "main loop": f"vectorised, {kernel.vector_bits} bits" if kernel.vectorised else "scalar",
        "bytes of code": kernel.code_bytes,
    }
    for (form, _), kernel in built.items()
)

# %% [markdown]
# ## The measurement
# Every round visits every cell once in a shuffled order; the figure of a cell is the minimum over the rounds. The
# yardsticks say what an empty call costs and what the loads alone cost.

# %%
yardsticks = [kernel for kernel in kernels() if kernel.role == "yardstick" and kernel.runs_here]
sweep = lab.sweep([*built.values(), *yardsticks], SIZES, offsets=(0, 1), rounds=ROUNDS, seed=SEED)
print("\n".join(sweep.host.to_lines()))

# %% [markdown]
# ## Published beside measured
# Both panels show cycles of the time stamp counter per byte, aligned blocks. The machines and their clocks differ, so
# heights can't be compared across the panels; the order of the lines and their shape can.

# %%
names = [kernel.name for kernel in built.values()]
published = lab.published()
exchange = published[published["source"] == "dpdk-dev 2026-02"]
plot.published_and_measured(exchange, sweep, names)

# %% [markdown]
# ## Cost per byte here

# %%
plot.cycles_per_byte(sweep, kernels=names, title="DPDK's two loops, aligned")

# %% [markdown]
# ## How many times faster "after" is

# %%
pairs = [
    (built["dpdk_after", name].compiler, built["dpdk_before", name].name, built["dpdk_after", name].name)
    for name in compilers
]
plot.before_after(pairs, sweep, title="before / after, aligned: above 1 the patch is faster")

# %%
frame = sweep.frame()
ticks = frame[frame["offset"] == 0].pivot_table(index="size", columns="kernel", values="ticks_per_call")
ratios = pd.DataFrame({label: ticks[before] / ticks[after] for label, before, after in pairs})
if len(compilers) > 1:
    first, second = (built["dpdk_after", name] for name in compilers[:2])
    before = [built["dpdk_before", name].name for name in compilers[:2]]
    ratios[f"before: {first.compiler} / {second.compiler}"] = ticks[before[0]] / ticks[before[1]]
    ratios[f"after: {first.compiler} / {second.compiler}"] = ticks[first.name] / ticks[second.name]
ratios.round(2)

# %% [markdown]
# The columns named by one compiler are before / after; those named by two are ticks of the first by ticks of the
# second: above 1 the second compiler's code is faster.
#
# ## Answer

# %%
small, large = min(SIZES), max(size for size in SIZES if size <= 9001)
gains = "; ".join(
    f"{label}: {ratios[label][large]:.1f} times at {large} bytes, {ratios[label][small]:.2f} times at {small}"
    for label, _, _ in pairs
)
display(
    Markdown(
        f"**What can be concluded here:** the patch gains where the compiler could not vectorise the loop before and "
        f"can after, and little elsewhere ({gains}).\n\n"
        f"**What can't:** how the published machine behaves at other sizes, or what gcc 15 makes of either loop, which "
        f"is not to be had here; and differences at 20 and 21 bytes that are smaller than the noise band, or than what "
        f"another place of the same code in memory would make of them, since the code was measured in one place."
    )
)
