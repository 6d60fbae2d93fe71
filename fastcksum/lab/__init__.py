"""The bench: times any checksum kernel from Python, in C, and shows the table that reviewers mail.

NumPy is enough to measure and to print; frame() asks for pandas when it is called.
"""

from ._compile import CompiledKernel, CompileError, compile_kernel, kernel_source
from ._host import Host, host
from ._sweep import DPDK_SIZES, IMIX, Plan, Row, Samples, Sweep, measure, sweep

__all__ = [
    "DPDK_SIZES",
    "IMIX",
    "CompileError",
    "CompiledKernel",
    "Host",
    "Plan",
    "Row",
    "Samples",
    "Sweep",
    "compile_kernel",
    "host",
    "kernel_source",
    "measure",
    "sweep",
]
