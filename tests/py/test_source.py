"""Finding a function's source: lambdas beside the definition, names that are imported elsewhere, no source."""
import linecache

import numpy as np
import pytest

import pyasc
from same import freeze

# -- Lambdas beside the definition -------------------------------------------------------


def with_lambda(value):
    return lambda function: function


@with_lambda(lambda p: p)
def decorated(x, k=lambda v: v * 2, *, j=lambda v: v + 1):
    return k(x) + j(x)


nested = lambda x, k=lambda v: v * 2: k(x) + 1  # noqa: E731


class Holder:
    @staticmethod
    def method(x, k=lambda v: v * 2):
        return k(x) + 1


@pytest.mark.parametrize("function", [decorated, nested, Holder.method])
def test_lambdas_in_defaults_and_decorators(function):
    jitted = pyasc.jit(function)
    for _ in range(3):
        assert freeze(jitted(np.ones(3))) == freeze(function(np.ones(3)))
    assert jitted.cache_info().hits == 2


# -- Imported names: Python compiles calls of their methods otherwise --------------------

CELLS = [
    "import numpy as np\n",
    "import math\nfrom fractions import Fraction\n\ndef f(x):\n    return np.sin(x) * math.sqrt(2)\n",
    "try:\n    from decimal import Decimal\nexcept ImportError:\n    pass\n\ndef g(x):\n"
    "    return np.floor(x) + (math.floor(2.5) if Decimal.from_float else Fraction.from_float(0.5))\n",
]


def test_names_imported_in_other_cells():
    scope = {}
    for number, text in enumerate(CELLS):
        name = f"<cell {number}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), scope)
    for name in "fg":
        jitted = pyasc.jit(scope[name])
        for _ in range(3):
            assert freeze(jitted(np.ones(3))) == freeze(scope[name](np.ones(3)))
        assert not any("source" in reason for reason in jitted.report()["reasons"])


def calls_in_inner_functions(x):
    def twice(z):
        return np.sqrt(z) * 2
    return twice(x) + 1


def calls_in_comprehensions(x):
    return sum([np.sqrt(x) * i for i in range(3)], np.zeros(3))


def calls_in_inner_lambdas(x):
    functions = [lambda y, i=i: np.abs(y) * i for i in range(3)]
    return sum(f(x) for f in functions)


@pytest.mark.parametrize("function", [calls_in_inner_functions, calls_in_comprehensions, calls_in_inner_lambdas])
def test_modules_that_inner_code_names(function):
    """Code depends on which names are modules, in functions and comprehensions inside of it, too."""
    compiled = pyasc.jit(function, tier=1)
    for _ in range(3):
        assert np.array_equal(compiled(np.ones(3)), function(np.ones(3)))
    assert compiled.report()["ops_compiled"] and not compiled.report()["fallback"]


def imports_inside(x):
    import numpy as np
    return np.exp(x)


def imports_further_inside(x):
    import numpy as np

    def inner(y):
        import math as pytest
        return np.exp(y) * pytest.pi
    return inner(x)


@pytest.mark.parametrize("function", [imports_inside, imports_further_inside])
def test_variables_named_like_modules(function):
    """The module imports a name of theirs, too."""
    jitted = pyasc.jit(function, numerics="strict")
    for _ in range(3):
        assert freeze(jitted(np.ones(3))) == freeze(function(np.ones(3)))
    assert "source" not in str(jitted.report()["reasons"])
