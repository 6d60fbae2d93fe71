"""The bench: times any checksum kernel from Python, in C, and shows the table that reviewers mail.

NumPy is enough to measure and to print; frame() asks for pandas when it is called, and what only pandas can do
(published, read_dpdk_table, read_perf_stat, concat) imports it when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._build.admission import KernelError
from ._build.command import CompileError
from ._build.compiler import CompiledKernel, compile_kernel
from ._build.packages import installed, not_installed
from ._build.unit import kernel_source
from ._build.ziglang import ziglang_clang
from ._compare import Comparison, Ratio, compare
from ._dpdk_test import dpdk_test
from ._figures.record import DPDK_SIZES, IMIX, Plan
from ._figures.result import Sweep
from ._figures.rows import Row
from ._machine.counters import Counters, Counts, count
from ._machine.facts import Host, host
from ._matrix import Matrix, MatrixRow, matrix
from ._measure import Samples, measure
from ._race import Race, race
from ._sweep import sweep
from ._trace import Trace, TraceRow, trace

if TYPE_CHECKING:
    from ._figures.results import concat
    from ._mail.exchanges import published, read_dpdk_table, read_perf_stat

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
    "kernel_source",
    "matrix",
    "measure",
    "not_installed",
    "published",
    "race",
    "read_dpdk_table",
    "read_perf_stat",
    "sweep",
    "trace",
    "ziglang_clang",
]

_WITH_PANDAS = {
    "concat": "_figures.results",
    "published": "_mail.exchanges",
    "read_dpdk_table": "_mail.exchanges",
    "read_perf_stat": "_mail.exchanges",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_PANDAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{_WITH_PANDAS[name]}", __name__)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"lab.{name} needs {error.name}: pip install 'fastcksum[lab]'", name=error.name
        ) from error
    return getattr(module, name)
