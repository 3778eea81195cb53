"""The generation node of Ax, in real experiments."""

import logging
from itertools import pairwise

import numpy as np
import pytest

from libraries import needed
from ostinato.errors import InvalidSetting

needed("ax")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ax, BoTorch and pandas have some of their own

from ax.adapter.registry import Generators  # noqa: E402
from ax.api.client import Client  # noqa: E402
from ax.api.configs import ChoiceParameterConfig, DerivedParameterConfig, RangeParameterConfig  # noqa: E402
from ax.core.parameter import FixedParameter, ParameterType  # noqa: E402
from ax.generation_strategy.generation_node import GenerationNode  # noqa: E402
from ax.generation_strategy.generation_strategy import GenerationStrategy  # noqa: E402
from ax.generation_strategy.generator_spec import GeneratorSpec  # noqa: E402
from ax.generation_strategy.transition_criterion import MinTrials  # noqa: E402
from ax.storage.json_store.load import load_experiment  # noqa: E402
from ax.storage.json_store.save import save_experiment  # noqa: E402

from ostinato.integrations.ax import OstinatoNode  # noqa: E402

logging.getLogger("ax.api.client").setLevel(logging.ERROR)
PARAMETERS = [
    RangeParameterConfig("temp", (20, 80), "float", step_size=5),
    RangeParameterConfig("ph", (4, 9), "float", step_size=0.5),
]


def laboratory(node, parameters=PARAMETERS, objective="gain", before=(), **more):
    client = Client(random_seed=0)
    client.configure_experiment(parameters=parameters, **more)
    client.configure_optimization(objective)
    client.set_generation_strategy(GenerationStrategy(name="test", nodes=[*before, node]))
    return client


def truth(parameters):
    return 70 - (parameters["temp"] - 55) ** 2 / 20 - 4 * (parameters.get("ph", 6.5) - 6.5) ** 2


def run(client, trials, at_once=1, seed=0, metric="gain", sign=1):
    rng, asked = np.random.default_rng(seed), []
    while len(asked) < trials:
        for index, parameters in client.get_next_trials(at_once).items():
            asked.append(parameters)
            client.complete_trial(index, {metric: sign * truth(parameters) + rng.normal(0, 3)})
    return asked


@pytest.fixture(scope="module")
def finished():
    node = OstinatoNode(seed=0, budget=100)
    client = laboratory(node)
    return client, node, run(client, 100)


def test_repeats_are_consecutive_trials(finished):
    _, node, asked = finished
    best = node.best()
    repeated = sum(first == second for first, second in pairwise(asked))
    assert node.optimizer.steps == 100
    assert node.optimizer.switches == 99 - repeated
    assert repeated > 50
    assert not node.optimizer.in_flight
    assert truth(best.candidate) > 68
    assert best.interval[0] < truth(best.candidate) < best.interval[1]


def test_the_answer_is_no_fluke(finished):
    client, node, asked = finished
    _, said, _, _ = client.get_best_parameterization()
    assert said["gain"][0] > 73  # the luckiest trial: nothing is better than 70
    assert abs(node.best().mean - 70) < 2
    assert node.best().candidate in asked
    assert str(node.best()).startswith("{'temp': 55.0, 'ph': 6.5}: gain ")


def test_lower_is_better_where_the_experiment_says_so():
    node = OstinatoNode(seed=0, budget=60)
    run(laboratory(node, objective="-cost"), 60, metric="cost", sign=-1)
    assert truth(node.best().candidate) > 67
    assert not node.optimizer.maximizes


def test_trials_that_run_at_the_same_time():
    node = OstinatoNode(seed=0, budget=60)
    client = laboratory(node)
    asked = run(client, 60, at_once=6)
    assert len(asked) == node.best().n + sum(parameters != node.best().candidate for parameters in asked)
    assert node.optimizer.steps == 60
    assert not node.optimizer.in_flight


def test_trials_that_fail_or_are_abandoned():
    node = OstinatoNode(seed=0)
    client = laboratory(node)
    run(client, 10)
    first, second = client.get_next_trials(2)
    client.mark_trial_failed(first)
    client.mark_trial_abandoned(second)
    run(client, 5)
    assert node.best().n >= 1
    assert (node.optimizer.steps, node.optimizer.failures) == (15, 2)


def test_trials_of_other_nodes_count():
    node = OstinatoNode(seed=0)
    sobol = GenerationNode(
        name="Sobol",
        generator_specs=[GeneratorSpec(Generators.SOBOL, generator_kwargs={"seed": 0})],
        transition_criteria=[MinTrials(threshold=8, transition_to="Ostinato")],
    )
    client = laboratory(node, before=[sobol])
    run(client, 20)
    assert node.best().n >= 1
    assert node.optimizer.steps == 20
    assert node.optimizer.epochs <= 12  # batches of its own


def test_attached_trials_count_with_their_standard_errors():
    node = OstinatoNode(seed=0)
    client = laboratory(node)
    run(client, 12)
    place = {"temp": 80.0, "ph": 9.0}
    node.best()
    before = node.optimizer.counts().get(len(node.optimizer.predict()) - 1, 0)
    client.complete_trial(client.attach_trial(place), {"gain": (5.0, 0.01)})
    node.best()
    assert node.optimizer.counts()[len(node.optimizer.predict()) - 1] == before + 1
    assert node.optimizer.predict([place]).mean[0] == pytest.approx(5, abs=0.1)


def test_a_new_node_takes_an_old_experiment_in(finished, tmp_path):
    client, node, _ = finished
    save_experiment(client._experiment, str(tmp_path / "lab.json"))
    again, other = Client(), OstinatoNode(seed=0, budget=120)
    again.set_experiment(load_experiment(str(tmp_path / "lab.json")))
    again.set_generation_strategy(GenerationStrategy(name="test", nodes=[other]))
    run(again, 2, seed=1)
    best = other.best()
    assert other.optimizer.steps == 102
    assert best.candidate == node.best().candidate
    assert best.mean == pytest.approx(node.best().mean, abs=0.5)


def test_a_value_that_is_revised():
    node = OstinatoNode(seed=0)
    client = laboratory(node)
    run(client, 10)
    node.best()
    trial = client._experiment.trials[3]
    before = node.optimizer.to_frame("polars")["value"].to_list()
    client._experiment.attach_data(_data(trial, 12.5))
    node.best()
    after = node.optimizer.to_frame("polars")["value"].to_list()
    assert len(before) == len(after) == 10
    assert 12.5 in after
    assert 12.5 not in before


def _data(trial, value):
    import pandas as pd
    from ax.core.data import Data

    row = {
        "trial_index": trial.index,
        "arm_name": trial.arm.name,
        "metric_name": "gain",
        "metric_signature": "gain",
        "mean": value,
        "sem": float("nan"),
    }
    return Data(df=pd.DataFrame([row]))


def test_all_kinds_of_parameters():
    node = OstinatoNode(seed=0)
    parameters = [
        RangeParameterConfig("temp", (20, 80), "float"),
        RangeParameterConfig("rate", (1e-4, 1e-1), "float", scaling="log"),
        RangeParameterConfig("cycles", (1, 9), "int"),
        ChoiceParameterConfig("solvent", ["water", "ethanol", "none"], "str", is_ordered=False),
        ChoiceParameterConfig("grade", [1, 2, 4], "int", is_ordered=True),
        ChoiceParameterConfig("stirred", [True, False], "bool"),
        DerivedParameterConfig("total", "temp + cycles", "float"),
    ]
    client = laboratory(node, parameters, parameter_constraints=["temp + 2*cycles <= 80"])
    client._experiment.search_space.add_parameter(FixedParameter("lab", ParameterType.STRING, "north"))
    for each in run(client, 25):
        assert client._experiment.search_space.check_membership(each)
        assert each["temp"] + 2 * each["cycles"] <= 80
        assert each["total"] == pytest.approx(each["temp"] + each["cycles"])
        assert (type(each["cycles"]), type(each["stirred"]), each["lab"]) == (int, bool, "north")
    assert node.best().candidate["lab"] == "north"
    assert node.optimizer.steps == 25


def test_what_it_is_not_for_is_refused():
    with pytest.raises(InvalidSetting, match="comes from the experiment"):
        OstinatoNode(direction="minimize")
    with pytest.raises(InvalidSetting, match="has not seen an experiment"):
        OstinatoNode().best()
    for objective, constraints in (("gain, -cost", None), ("gain", ["cost <= 3"])):
        client = Client()
        client.configure_experiment(parameters=PARAMETERS)
        client.configure_optimization(objective, outcome_constraints=constraints)
        client.set_generation_strategy(GenerationStrategy(name="test", nodes=[OstinatoNode()]))
        with pytest.raises(InvalidSetting, match="one metric"):
            client.get_next_trials(1)
