"""The public names are a promise: this list changes only on purpose."""

import ostinato

NAMES = [
    *("AdaptiveUCB", "Batch", "Best", "Category", "Certificate", "Costs", "Float", "Integer", "Learned", "MiniEI"),
    *(
        "MiniTS",
        "MiniUCB",
        "Optimizer",
        "Ordered",
        "Plan",
        "Prediction",
        "Result",
        "Space",
        "Study",
        "confidence",
        "errors",
    ),
    *("kernels", "optimize", "policies", "stopping"),
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


def test_every_error_is_in_the_one_tree():
    errors = [error for error in vars(ostinato.errors).values() if isinstance(error, type)]
    assert all(issubclass(error, (ostinato.errors.OstinatoError, ostinato.errors.OstinatoWarning)) for error in errors)
    assert all(error.__doc__ for error in errors)
