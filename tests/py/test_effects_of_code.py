"""Effects in operators and protocols of objects, in calls that raise, and none in a trial."""
import types

import numpy as np
import pytest

from same import assert_same, freeze, scenarios, seen

# -- Operators and protocols of objects --------------------------------------------------------------


class Loud:
    """Everything that Python does with it is noted."""

    def __init__(self, log):
        self.log = log

    def _note(self, what, answer):
        self.log.append(what)
        return answer

    def __add__(self, other):
        return self._note("add", other * 2)

    def __radd__(self, other):
        return self._note("radd", other * 3)

    def __neg__(self):
        return self._note("neg", 2.0)

    def __len__(self):
        return self._note("len", 3)

    def __bool__(self):
        return self._note("bool", True)

    def __iter__(self):
        return self._note("iter", iter([1.0, 2.0]))

    def __contains__(self, item):
        return self._note("contains", True)

    def __eq__(self, other):
        return self._note("eq", True)

    def __lt__(self, other):
        return self._note("lt", True)

    def __getitem__(self, key):
        return self._note("getitem", 5.0)

    def __setitem__(self, key, value):
        self._note("setitem", None)

    def __enter__(self):
        return self._note("enter", 4.0)

    def __exit__(self, *exc):
        self._note("exit", None)

    def __str__(self):
        return self._note("str", "loud")

    def __format__(self, spec):
        return self._note("format", "abc")

    def __index__(self):
        return self._note("index", 1)

    def __float__(self):
        return self._note("float", 1.5)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._note("getattr", 6.0)

    __hash__ = None


def _add(x, o):
    return o + x


def _radd(x, o):
    return x * 1 + o


def _iadd(x, o):
    y = 1.0
    y += o
    return x * y


def _neg(x, o):
    return x * -o


def _len(x, o):
    return x * len(o)


def _bool(x, o):
    return x if o else -x


def _not(x, o):
    return x * (not o)


def _and(x, o):
    return x if (o and x[0] > 0) else -x


def _for(x, o):
    for v in o:
        x = x * v
    return x


def _unpack(x, o):
    a, b = o
    return x * a + b


def _star(x, o):
    return np.maximum(x, max(*o))


def _in(x, o):
    return x * (3 in o)


def _eq(x, o):
    return x * (o == 1)


def _lt(x, o):
    return x * (o < 1)


def _getitem(x, o):
    return x * o[0]


def _setitem(x, o):
    o[0] = x
    return x


def _with(x, o):
    with o as v:
        return x * v


def _str(x, o):
    return x * len(str(o))


def _format(x, o):
    return x * len(f"{o}") + len("{}".format(o))


def _index(x, o):
    return x[o] + x[:o].sum()


def _float(x, o):
    return x * float(o)


def _getattr(x, o):
    return x * o.anything + getattr(o, "more")


def _sorted(x, o):
    return x * len(sorted([o, o]))


def _sum(x, o):
    return sum([o], x)


OPERATORS = [v for k, v in list(globals().items()) if k.startswith("_") and callable(v)
             and getattr(v, "__code__", None) and v.__code__.co_varnames[:2] == ("x", "o")]


@pytest.mark.parametrize("body", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("where", ["argument", "global", "attribute", "item"])
def test_protocols(body, where):
    def scenario(wrap):
        log = []
        loud = Loud(log)
        holder = types.SimpleNamespace(loud=loud)
        items = [loud]
        if where == "argument":
            @wrap
            def f(x):
                return body(x, loud)
        elif where == "global":
            @wrap
            def f(x):
                return body(x, CURRENT)
        elif where == "attribute":
            @wrap
            def f(x):
                return body(x, holder.loud)
        else:
            @wrap
            def f(x):
                return body(x, items[0])

        global CURRENT
        CURRENT = loud
        return seen(f, log=log)

    assert_same(scenario)


def scenario_next_of_outer_iterator(wrap):
    numbers, more = iter(range(100)), (n * 1.0 for n in range(100))

    @wrap
    def f(x):
        y = x * next(numbers)
        for v in more:
            return y + v

    return [*seen(f), next(numbers), next(more)]


def scenario_own_generator(wrap):
    log = []

    @wrap
    def f(x):
        def rows():
            for v in x:
                log.append(float(v))
                yield v * 2

        return sum(rows())

    return seen(f, log=log)


# -- Calls that raise -----------------------------------------------------------------------------------


def scenario_raise_before_and_after(wrap):
    log = []

    @wrap
    def f(x):
        log.append("start")
        if x[0] < 0:
            raise ValueError(f"negative: {x[0]}")
        log.append("end")
        return x * 2

    return seen(f, log=log)


def scenario_effect_before_a_failing_call(wrap):
    log = []

    @wrap
    def f(x):
        log.append("in")
        m = np.diag(np.where(x > 0, x, 0))
        y = np.linalg.inv(m)
        log.append("out")
        return y

    return seen(f, log=log)


def scenario_effect_after_a_failing_call(wrap):
    log = []

    @wrap
    def f(x):
        y = np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
        log.append("out")
        return y

    return seen(f, log=log)


def scenario_handler_with_effect(wrap):
    log = []

    @wrap
    def f(x):
        try:
            y = np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
            log.append("fine")
        except np.linalg.LinAlgError as error:
            log.append(str(error))
            y = x
        finally:
            log.append("finally")
        return y

    return seen(f, log=log)


def scenario_handler_without_effect(wrap):
    @wrap
    def f(x):
        try:
            return np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
        except np.linalg.LinAlgError:
            return x * 0

    return seen(f)


def scenario_handler_after_a_write(wrap):
    @wrap
    def f(x, out):
        out += 1
        try:
            out[0] += np.linalg.inv(np.diag(np.where(x > 0, x, 0)))[0, 0]
        except np.linalg.LinAlgError:
            out[1] += 10
        return out * 2

    out = np.zeros(4)
    return seen(f, out, log=out)


def scenario_assertion(wrap):
    log = []

    @wrap
    def f(x):
        log.append(1)
        assert x[0] > 0, "negative"
        log.append(2)
        return x

    return seen(f, log=log)


def scenario_key_and_attribute_errors(wrap):
    class Box:
        pass

    box, d = Box(), {}

    @wrap
    def f(x):
        try:
            k = box.k
        except AttributeError:
            k = 1.0
        try:
            j = d["j"]
        except KeyError:
            j = 1.0
        try:
            i = NOT_THERE_YET  # noqa: F821
        except NameError:
            i = 1.0
        return x * k + j * i

    out = seen(f)
    box.k = 3.0
    out += seen(f)
    d["j"] = 5.0
    out += seen(f)
    globals()["NOT_THERE_YET"] = 7.0
    out += seen(f)
    del globals()["NOT_THERE_YET"]
    return out + seen(f)


# -- Nothing happens in a trial ---------------------------------------------------------------------------


def test_explain_and_lower_have_no_effects():
    import pyasc

    log, table = [], np.zeros(3)
    masked = np.ma.array([1.0, 2.0, 3.0])

    @pyasc.jit
    def effect(x):
        log.append(x.sum())
        return x * 2

    @pyasc.jit
    def effect_after_bail(x):
        y = (x + masked).sum()
        log.append(y)
        return y

    @pyasc.jit
    def swallowing(x):
        try:
            log.append(1)
        except BaseException:
            log.append(2)
        log.append(3)
        return x

    @pyasc.jit
    def writes(x):
        table[:] = x
        x += 1
        return x

    @pyasc.jit
    def draws(x):
        return x + np.random.rand(3)

    x = np.ones(3)
    state = freeze(list(np.random.get_state()))
    for f in (effect, effect_after_bail, swallowing, writes, draws):
        f.explain(x)
    ahead = [pyasc.jit(f.__wrapped__, shape_infer=[(3,)]) for f in (effect, swallowing, writes, draws)]
    assert log == [] and table.sum() == 0 and x.sum() == 3
    assert freeze(list(np.random.get_state())) == state
    assert len(ahead) == 4
    writes(x)
    assert table.sum() == 3 and x.sum() == 6


FOUND, NAMES = scenarios(globals())


@pytest.mark.parametrize("scenario", FOUND, ids=NAMES)
def test_effects(scenario):
    assert_same(scenario)
