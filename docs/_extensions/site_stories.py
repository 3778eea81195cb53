"""The order of the stories in the gallery: first what most users have, then what they meet later."""

STORIES = (
    "plates_and_setup_errors",
    "inventory_simulator",
    "network_for_optuna_users",
    "clicks_on_items",
    "kernel_autotuning",
    "benchmarks_in_ci",
    "adding_conditions",
    "repairing_a_mistake",
    "three_machines",
    "drift",
    "own_policy",
)


class Place:
    """The key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, _folder: str) -> None:
        pass

    def __repr__(self) -> str:  # part of the settings, by which Sphinx knows whether they have changed
        return "Place"

    def __call__(self, name: str) -> int:
        return STORIES.index(name.removeprefix("plot_").removesuffix(".py"))
