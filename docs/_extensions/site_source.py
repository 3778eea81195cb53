"""The API of integrations whose libraries need not be there: read from the source, which is not imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

import site_docstrings

FOLDER = Path(__file__).resolve().parents[2] / "src" / "ostinato" / "integrations"
NAMES = {
    "botorch": ("OstinatoModel",),
    "ax": ("OstinatoNode",),
    "mlflow": ("log_to_mlflow", "MlflowLog"),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def page(title: str) -> str:
    """All names of all modules, in reStructuredText."""
    lines = [title, "=" * len(title), ""]
    for module, names in NAMES.items():
        tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
        lines += [f".. py:module:: ostinato.integrations.{module}", "", *described(tree), ""]
        for name in names:
            lines += [*entry(f"ostinato.integrations.{module}", found(tree, name)), ""]
    return "\n".join(lines)


def found(tree: ast.Module, name: str) -> ast.ClassDef | Function:
    """What a module calls so."""
    return next(each for each in tree.body if isinstance(each, ast.ClassDef | Function) and each.name == name)


def entry(module: str, node: ast.ClassDef | Function) -> Iterator[str]:
    """A function, or a class with the methods that have words of their own."""
    if isinstance(node, Function):
        yield from (f".. py:function:: {module}.{node.name}{signature(node)}", "", *indented(described(node)))
        return
    methods = [each for each in node.body if isinstance(each, Function)]
    made = next((signature(each, bound=True) for each in methods if each.name == "__init__"), "()")
    yield from (f".. py:class:: {module}.{node.name}{made}", "", *indented(described(node)))
    for each in methods:
        if not each.name.startswith("_") and ast.get_docstring(each):
            yield from ("", *indented(method(each)))


def method(node: Function) -> Iterator[str]:
    """A method, or a property."""
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    if "property" in decorators:
        yield from (f".. py:property:: {node.name}", *type_of(node), "", *indented(described(node)))
    else:
        yield from (f".. py:method:: {node.name}{signature(node, bound=True)}", "", *indented(described(node)))


def type_of(node: Function) -> list[str]:
    return [f"   :type: {ast.unparse(node.returns)}"] if node.returns else []


def signature(node: Function, *, bound: bool = False) -> str:
    """The arguments, without the object itself, and what comes back."""
    arguments = ast.unparse(node.args)
    if bound:
        arguments = arguments.removeprefix("self").removeprefix(", ")
    returns = ast.unparse(node.returns).strip("'") if node.returns and node.name != "__init__" else ""
    return f"({arguments})" + (f" -> {returns}" if returns else "")


def described(node: ast.Module | ast.ClassDef | Function) -> list[str]:
    """Its docstring, as reStructuredText."""
    return site_docstrings.convert((ast.get_docstring(node) or "").splitlines())


def indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    return (f"   {line}" if line else "" for line in lines)
