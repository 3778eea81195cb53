"""Kernels and policies read from text: looked up, never run."""

import pytest

from ostinato.confidence import Bayesian
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF, Constant, Hamming, Matern52
from ostinato.policies import GPUCB, MiniUCB
from ostinato.study.expressions import kernel_of, policy_of


def test_they_are_written_as_in_python():
    assert kernel_of("Matern52(lengthscale=(10, 0.5), std=2)") == Matern52((10, 0.5), 2)
    assert kernel_of('0.5 * RBF(0.3).on("temp") * Hamming().on("solvent") + Constant(2)') == 0.5 * RBF(0.3).on(
        "temp"
    ) * Hamming().on("solvent") + Constant(2)
    assert policy_of("MiniUCB(C=1.2, beta=2)") == MiniUCB(C=1.2, beta=2)
    assert policy_of("GPUCB(beta=Bayesian(delta=0.1))") == GPUCB(beta=Bayesian(delta=0.1))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Matern52(", "cannot be read"),
        ("Matern(2)", "Matern is unknown"),
        ("RBF(length=2)", "unexpected keyword"),
        ("RBF(-1)", "lengthscale=-1"),
        ("3", "is not a kernel"),
        ("__import__('os').system('true')", "unknown"),
        ("RBF.__class__(1)", "unknown"),
        ("RBF(open('x'))", "open is unknown"),
        ("Custom(3)", "Custom is unknown"),
        ("Stationary(1)", "Stationary is unknown"),
        ("'a' * 999999999999", "cannot be added or multiplied"),
        ("[0] * 999999999999", "cannot be added or multiplied"),
        ("9" * 5000, "5000 characters"),
        ("(" * 400 + "1" + ")" * 400, "cannot be read"),
        ("0.5 * " * 160 + "RBF(1)", "cannot be read"),
    ],
)
def test_anything_else_is_refused(text, cause):
    with pytest.raises(InvalidSetting, match=cause):
        kernel_of(text)


def test_a_kernel_is_not_a_policy():
    with pytest.raises(InvalidSetting, match="RBF is unknown"):
        policy_of("RBF(1)")
