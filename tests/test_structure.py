"""How the source is built: few flat modules, functions with few parameters, files that can be read in one go."""

import ast
from pathlib import Path

import pytest

import ostinato

ROOT = Path(ostinato.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST = 8  # parameters
LONGEST = 550  # lines of a file, docstrings included
PUBLIC = {  # called by users, by keyword
    "optimizer/optimizer.py": {"__init__", "tell", "observe"},
    "running/optimize.py": {"optimize"},
    "study/study.py": {"__init__", "ask", "tell", "observe", "run", "retract"},
    "experiments/compare.py": {"compare", "reproduce"},
    "integrations/sklearn.py": {"__init__"},
}


def functions(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def parameters(function):
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def test_there_are_few_flat_modules():
    flat = [file.stem for file in ROOT.glob("*.py") if not file.stem.startswith("__")]
    assert len(flat) <= 8, flat


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_functions_have_few_parameters(file):
    name = file.relative_to(ROOT).as_posix()
    if name.startswith("cli/") or name == "posterior/card_fused.py":  # options of commands; programs for a GPU
        return
    long = [f.name for f in functions(file) if len(parameters(f)) > MOST and f.name not in PUBLIC.get(name, set())]
    assert not long, f"{name}: {long} have more than {MOST} parameters"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_can_be_read_in_one_go(file):
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{file.relative_to(ROOT)} has {lines} lines"
