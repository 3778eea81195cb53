"""The public names are a promise: this list changes only on purpose."""

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import ostinato

LAZY = ("ostinato", "ostinato.candidates", "ostinato.integrations", "ostinato.optimizer", "ostinato.study")
NAMES = [
    *(
        "AdaptiveUCB",
        "Batch",
        "Best",
        "Category",
        "Certificate",
        "Client",
        "Costs",
        "Float",
        "Integer",
        "Learned",
        "MiniEI",
    ),
    *(
        "MiniTS",
        "MiniUCB",
        "Optimizer",
        "Ordered",
        "Plan",
        "Prediction",
        "Result",
        "ShardedTable",
        "Space",
        "Study",
        "confidence",
        "errors",
        "integrations",
    ),
    *("kernels", "optimize", "plots", "policies", "stopping"),
]
KERNELS = [
    *("RBF", "Column", "Constant", "Custom", "Hamming", "Kernel", "Linear", "Matern12", "Matern32", "Matern52", "On"),
    *("Product", "ProductMatern52", "RationalQuadratic", "Scaled", "Stationary", "Sum", "as_kernel"),
]


def test_public_names():
    assert sorted(ostinato.__all__) == sorted(NAMES)
    assert sorted(ostinato.kernels.__all__) == sorted(KERNELS)
    assert all(hasattr(ostinato, name) for name in NAMES)
    assert all(hasattr(ostinato.kernels, name) for name in KERNELS)


FIGURES = ["measurements", "progress", "posterior", "parallel", "batches", "noise", "calibration"]


def test_public_names_of_figures():
    assert sorted(ostinato.plots.__all__) == ["FIGURES", "plot", "report", "save", "series_of"]
    assert list(ostinato.plots.FIGURES) == FIGURES
    assert set(FIGURES) < set(ostinato.plots.data.__all__)


def promised(package):
    """What type checkers see of a package, under TYPE_CHECKING and above it: names, and the modules they are in."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    checked = [each for node in tree.body if isinstance(node, ast.If) for each in node.body]
    imports = [node for node in (*tree.body, *checked) if isinstance(node, ast.ImportFrom)]
    found = {alias.name: node.module for node in imports for alias in node.names}
    return {name: module for name, module in found.items() if name not in ("TYPE_CHECKING", "lazily")}


@pytest.mark.parametrize("name", LAZY)
def test_names_that_are_imported_when_they_are_used(name):
    package = importlib.import_module(name)
    names = promised(package)
    assert sorted(names) == sorted(package.__all__)
    for each, module in names.items():
        home = importlib.import_module(module)
        found = importlib.import_module(f"{name}.{each}") if home is package else getattr(home, each)
        assert getattr(package, each) is found
        assert each in dir(package)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Optimiser'"):
        _ = package.Optimiser
    assert not hasattr(package, "optimiser")
    modules = {each.stem for each in Path(package.__file__).parent.iterdir()}
    own = {each for each, module in names.items() if module != name}
    assert not own & modules, "a name that is also a module of the package would depend on who was imported first"


def test_a_fresh_process_finds_every_name():
    code = """
import pickle, sys, ostinato
assert "numpy" not in sys.modules, "importing the package alone is cheap"
from ostinato import *
assert ostinato.kernels.RBF.__module__ == "ostinato.kernels.stationary"
assert Optimizer is ostinato.Optimizer
sys.stdout.buffer.write(pickle.dumps((Float(0, 1), Result, optimize)))
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert pickle.loads(done.stdout) == (ostinato.Float(0, 1), ostinato.Result, ostinato.optimize)


def test_every_error_is_in_the_one_tree():
    errors = [error for error in vars(ostinato.errors).values() if isinstance(error, type)]
    assert all(issubclass(error, (ostinato.errors.OstinatoError, ostinato.errors.OstinatoWarning)) for error in errors)
    assert all(error.__doc__ for error in errors)
