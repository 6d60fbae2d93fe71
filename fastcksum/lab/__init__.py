"""The bench: times any checksum kernel from Python, in C, and shows the table that reviewers mail.

NumPy is enough to measure and to print; frame() asks for pandas when it is called, and what only pandas can do
(published, read_dpdk_table, read_perf_stat, concat) imports it when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._cells import DPDK_SIZES, IMIX
from ._compare import Comparison, Ratio, compare
from ._compile import CompiledKernel, CompileError, KernelError, compile_kernel, kernel_source
from ._counters import Counters, Counts, count
from ._host import Host, host
from ._installed import dpdk_test, installed, not_installed
from ._matrix import Matrix, MatrixRow, matrix
from ._race import Race, race
from ._sweep import Plan, Row, Samples, Sweep, measure, sweep
from ._trace import Trace, TraceRow, trace
from ._ziglang import ziglang_clang

if TYPE_CHECKING:
    from ._exchanges import published, read_dpdk_table, read_perf_stat
    from ._results import concat

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
    "concat": "_results",
    "published": "_exchanges",
    "read_dpdk_table": "_exchanges",
    "read_perf_stat": "_exchanges",
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
