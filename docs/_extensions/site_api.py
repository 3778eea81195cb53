"""The pages of the API reference: every public name, in groups that a reader looks for."""

import inspect
from importlib import import_module
from types import ModuleType

import site_source

GROUPS = {
    "optimising": ("Optimise", ["optimize", "Optimizer", "Study", "Client", "Result"]),
    "candidates": ("Candidates", ["Space", "Float", "Integer", "Ordered", "Category", "ShardedTable"]),
    "answers": ("Answers", ["Batch", "Plan", "Best", "Prediction", "Learned", "Costs", "Certificate"]),
}
MODULES = {
    "policies": "Policies",
    "kernels": "Kernels",
    "confidence": "Confidence schedules",
    "stopping": "Stopping rules",
    "errors": "Errors and warnings",
    "plots": "Figures",
    "plots.data": "Data of the figures",
    "experiments": "Experiments",
    "problems": "Problems",
    "storage": "Storage",
    "integrations": "Integrations",
    "integrations.optuna": "Integration with Optuna",
    "integrations.sklearn": "Integration with scikit-learn",
}
DERIVED = ("ostinato.kernels", "ostinato.policies", "ostinato.posterior")  # where bases are on the same page
HEAD = """API
===

Every public name. ``help(ostinato.Optimizer)`` shows the same text. What is not listed here may change without notice.

.. toctree::
   :maxdepth: 2

"""


def pages() -> dict[str, str]:
    """The text of every page by its name, in reStructuredText."""
    listed = {name: group(title, names) for name, (title, names) in GROUPS.items()}
    listed |= {name.replace(".", "-"): module_page(name, title) for name, title in MODULES.items()}
    listed["integrations-more"] = site_source.page("Integrations with BoTorch, Ax and MLflow")
    return {"index": HEAD + "".join(f"   {name}\n" for name in listed), **listed}


def group(title: str, names: list[str]) -> str:
    """A page with some of the names of `ostinato` itself."""
    package = import_module("ostinato")
    return headed(title) + "".join(entry("ostinato", name, getattr(package, name)) for name in names)


def module_page(name: str, title: str) -> str:
    """A page with all public names of a module."""
    module = import_module(f"ostinato.{name}")
    head = headed(title) + f".. automodule:: ostinato.{name}\n   :no-members:\n\n"
    return head + "".join(entry(module.__name__, each, getattr(module, each)) for each in public(module))


def public(module: ModuleType) -> list[str]:
    """The names that a module promises; without such a list, the classes that it defines itself."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = {name: each for name, each in vars(module).items() if inspect.isclass(each) and not name.startswith("_")}
    return [name for name, each in own.items() if each.__module__ == module.__name__]


def entry(module: str, name: str, found: object) -> str:
    """What Sphinx is told of one name."""
    if inspect.isclass(found):
        plain = issubclass(found, BaseException) or found.__module__.startswith("ostinato.integrations")
        own = "" if plain else _members(found)
        return f".. autoclass:: {module}.{name}\n{own}\n"
    if inspect.ismodule(found):
        return f"``{name}`` is a module of its own: :py:mod:`{found.__name__}`.\n\n"
    kind = "autofunction" if inspect.isroutine(found) else "autodata"
    extra = "" if kind == "autofunction" else "   :no-value:\n"
    return f".. {kind}:: {module}.{name}\n{extra}\n"


def _members(found: type) -> str:
    """Which members of a class are shown.

    The bases of kernels and policies are on the same page. A derived class shows only its own members, and of these
    only those with a docstring of their own.
    """
    if not found.__module__.startswith(DERIVED):
        return "   :members:\n   :inherited-members: object, Exception, Struct\n"
    said = [name for name in vars(found) if _repeats(found, name) and (name == "__call__" or name[0] != "_")]
    hidden = f"   :exclude-members: {', '.join(said)}\n" if said else ""
    return f"   :members:\n   :special-members: __call__\n{hidden}"


def _repeats(found: type, name: str) -> bool:
    """Whether a member has no docstring of its own and a class above has the same member."""
    own = getattr(vars(found)[name], "__doc__", None)
    return not own and any(name in vars(above) for above in found.__mro__[1:])


def headed(title: str) -> str:
    """A title."""
    return f"{title}\n{'=' * len(title)}\n\n"
