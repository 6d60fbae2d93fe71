"""What a strict interpreter says of the package: nothing, neither while it works nor when it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

CAPTURES = Path(__file__).parent / "data" / "captures"

PROGRAMS = {
    "capture": """
        import sys, tempfile
        from pathlib import Path
        from fastcksum import capture
        folder = Path(sys.argv[1])
        for name in sorted(folder.glob("*.pcap*")):
            report = capture.verify(name)
            capture.read(name)
            with tempfile.TemporaryDirectory() as to:
                capture.fix(name, Path(to, "mended.pcap"))
        report.frame()
        next(iter(report.rows), None)
        half_read = iter(capture.verify(name).rows)
        next(half_read, None)
        try:
            capture.verify("no such file")
        except OSError:
            pass
    """,
    "compile": """
        from fastcksum import lab, raw_cksum
        kernel = lab.compile_kernel(lab.kernel_source("portable64"))
        assert raw_cksum(b"abcd", kernel=kernel) == raw_cksum(b"abcd")
        try:
            lab.compile_kernel("int x = ", "gcc", symbol="f")
        except ValueError:
            pass
        try:
            lab.compile_kernel("#include <stdint.h>\\n#include <stddef.h>\\n"
                               "uint32_t f(const void *buf, size_t len, uint32_t sum) { return *(volatile char *)0; }")
        except ValueError:
            pass
    """,
    "lab": """
        from fastcksum import lab
        plan = {"sizes": (20,), "offsets": (0,), "rounds": 4}
        print(lab.sweep(["portable64"], processes=2, placements=4, **plan).text())
        lab.compare("portable64", "reference", placements=8, seconds=1, **plan)
        lab.measure(bytes(100), rounds=2)
        lab.host()
        lab.count("portable64", 20, calls=1000)  # by callgrind too, where there are no counters
    """,
    "command line": """
        import contextlib, io
        from fastcksum.cli import main
        with contextlib.redirect_stdout(io.StringIO()):
            for words in (["kernels"], ["host"], ["verify", "--json", sys.argv[1] + "/link-1.pcap"], ["sum", __file__]):
                with contextlib.suppress(SystemExit):
                    main(words)
    """,
}


@pytest.mark.needs_tool("gcc")
@pytest.mark.needs_tool("valgrind")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_strict_interpreter_says_nothing(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import sys\n" + dedent(PROGRAMS[name]))
    command = [sys.executable, "-X", "dev", "-W", "error", str(script), str(CAPTURES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
