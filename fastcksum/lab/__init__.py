"""The bench: times any checksum kernel from Python, in C, and shows the table that reviewers mail.

NumPy is enough to measure, to print and to save. What gives a DataFrame asks for pandas when it is called, lab.plot for
matplotlib when it is first used; `import fastcksum` alone loads neither this package nor NumPy.
"""

from __future__ import annotations

from . import plot
from ._build.admission import KernelError
from ._build.compiler import CompiledKernel, compile_kernel
from ._build.packages import installed, not_installed
from ._build.spec import kernel_of
from ._build.unit import kernel_source
from ._build.ziglang import ziglang_clang
from ._compare import compare
from ._count import Counters, count
from ._dpdk_test import dpdk_test
from ._figures.builds import Matrix, MatrixRow
from ._figures.comparison import Comparison, Ratio
from ._figures.frames import concat
from ._figures.record import DPDK_SIZES, IMIX, Plan
from ._figures.result import Sweep
from ._figures.rows import Row
from ._learning import Learning, LearningRow, learning
from ._machine.compilers import CompileError
from ._machine.events import Counts
from ._machine.facts import Host, host
from ._mail.exchanges import published, read_dpdk_table, read_perf_stat
from ._matrix import matrix
from ._measure import Samples, measure
from ._race import Race, race
from ._sweep import sweep
from ._trace import Trace, TraceRow, trace

__all__ = [
    "DPDK_SIZES",
    "IMIX",
    "Comparison",
    "CompileError",
    "CompiledKernel",
    "Counters",
    "Counts",
    "Host",
    "KernelError",
    "Learning",
    "LearningRow",
    "Matrix",
    "MatrixRow",
    "Plan",
    "Race",
    "Ratio",
    "Row",
    "Samples",
    "Sweep",
    "Trace",
    "TraceRow",
    "compare",
    "compile_kernel",
    "concat",
    "count",
    "dpdk_test",
    "host",
    "installed",
    "kernel_of",
    "kernel_source",
    "learning",
    "matrix",
    "measure",
    "not_installed",
    "plot",
    "published",
    "race",
    "read_dpdk_table",
    "read_perf_stat",
    "sweep",
    "trace",
    "ziglang_clang",
]


def __dir__() -> list[str]:
    return __all__
