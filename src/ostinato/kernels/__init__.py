"""Covariance functions: how much the values of two candidates have in common."""

from ostinato.kernels.base import Column, Constant, Kernel, On, Product, Scaled, Sum
from ostinato.kernels.other import Custom, Hamming, Linear, as_kernel
from ostinato.kernels.stationary import (
    RBF,
    Matern12,
    Matern32,
    Matern52,
    ProductMatern52,
    RationalQuadratic,
    Stationary,
)

__all__ = [
    "RBF",
    "Column",
    "Constant",
    "Custom",
    "Hamming",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "On",
    "Product",
    "ProductMatern52",
    "RationalQuadratic",
    "Scaled",
    "Stationary",
    "Sum",
    "as_kernel",
]
