"""Where figures were measured: the machine and the libraries."""

import platform
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

import numpy as np

LIBRARIES = ("ostinato", "numpy", "scipy")


def facts() -> list[tuple[str, str]]:
    """Processor, cores, operating system, Python, libraries and NumPy's linear algebra."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return [
        ("Processor", f"{_processor()}, {cpu_count()} cores; one core a run"),
        ("System", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"),
        ("Libraries", f"{libraries}, {_blas()}"),
    ]


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    return f"{blas['name']} {blas['version']}"
