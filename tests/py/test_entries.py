"""Arrays stored over others in dicts that are arguments, or from outside, beside all that reads them."""
import copy
import random

import numpy as np
import pytest

import pyasc
from same import freeze, outcome

STATEMENTS = [
    "p['a'] = p['a'] * 2 + x", "p['b'] = p['b'] - p['a']", "p['a'] = x", "p['a'] = p['b']", "p['b'] = p['a'][::-1]",
    "p['a'] -= 0.5", "p['a'] = p['a'].astype('f4') if s else p['a']", "y = p['a']; p['a'] = y * 3; y += 1", "q = p['a'] + p['b']",
    "for k in p: p[k] = p[k] * 0.5", "for k, v in p.items(): p[k] = v + 1", "q = sum(v.sum() for v in p.values())",
    "q = p.get('a', 0) + 1", "r = dict(p); r['a'] = x; q = r['b'] * 1", "q = {**p}['b'] + 1", "q = list(p.values())[0] * 2",
    "q = len(p) + ('a' in p)", "p['n']['c'] = p['n']['c'] + x", "p['n'] = {'c': x * 1}", "p['new'] = x * 2", "p['t'] = p['t'] + 1",
    "if p['a'].sum() > 2: p['b'] = p['b'] * 2", "np.log(p['c']) if s else 0; q = p['a'] / p['b']", "q = p.copy()['a'] * 2", "p['a'], p['b'] = p['b'], p['a']",
    "del p['b']; p['b'] = x * 1", "p.update(a=x + 1)", "q = p.pop('b') * 1; p['b'] = x", "p['a'][1:] = p['b'][:-1] * 2", "q = p['a'].reshape(2, 2); p['a'] = q.T.ravel()",
    "q = int(p['i'][0])", "p['i'] = p['i'] + 1", "q = [v * 2 for k, v in p.items() if k in 'ab']",
]


#: Of these two names alone: more of the programs are plans.
FEW = [s for s in STATEMENTS if not any(k in s for k in ("'i'", "'n'", "'t'", "'new'", "pop", "del", "update"))] + [
    "p['b'] = np.cumsum(p['a'])", "z = p['a']; p['a'] = z; z *= 2", "p['a'] = p['a'][:]", "p['b'] = np.where(p['a'] > x, p['b'], 0)",
    "x += p['a']", "p['a'] = x; x *= 2", "p['b'] = p['a']; p['a'] += 1"]


def made(few):
    if few:
        return {"a": np.arange(4.0), "b": np.linspace(-1, 1, 4)}
    return {"a": np.arange(4.0), "b": np.linspace(-1, 1, 4), "i": np.array([3, 1]), "t": 0.5, "n": {"c": np.ones(4)}}


def program(rng, tmp_path, number):
    lines = rng.choices(FEW if number % 2 else STATEMENTS, k=rng.randint(1, 5))
    text = "import numpy as np\n\ndef f(p, x, s):\n    q = 0\n" + "".join(f"    {line}\n" for line in lines)
    text = text.replace(": p[k]", ":\n        p[k]").replace(": p['b']", ":\n        p['b']")
    text += "    return q, " + rng.choice(["p", "p['a'] + 1", "x", "(p, p['b'])"]) + "\n"
    path = tmp_path / f"program{number}.py"
    path.write_text(text)
    space = {}
    exec(compile(text, str(path), "exec"), space)
    return space["f"], text


def run(f, how, changes, few=False):
    """What calls give, and leave; `how` says where the dict comes from."""
    class Holder:
        pass

    holder, seen = Holder(), []
    holder.p = made(few)
    if how == "argument":
        def call(x, s):
            return f(holder.p, x, s)
    else:
        call = f(holder)
    for k, change in enumerate(changes):
        if change == "another":
            holder.p = made(few)
        elif change == "copy":
            holder.p = copy.deepcopy(holder.p)
        elif change == "dtype":
            holder.p["a"] = holder.p["a"].astype("f4")
        elif change == "without":
            holder.p.pop("b", None)
        elif change == "the same":
            holder.p["a"] = holder.p.get("b")
        x = np.linspace(0, 1, 4) * (k - 1)
        kept = holder.p
        seen.append((outcome(call, x, k == 4), freeze(x), freeze(holder.p), kept is holder.p))
    return seen


@pytest.mark.parametrize("how", ["argument", "outside"])
@pytest.mark.parametrize("seed", range(80))
def test_stores_of_entries(seed, how, tmp_path):
    rng = random.Random(seed)
    few = seed % 2 == 1
    f, text = program(rng, tmp_path, seed)
    changes = ["", "", rng.choice(["another", "copy", ""]), rng.choice(["dtype", "the same", ""]), "", rng.choice(["without", "another"]), ""]
    with np.errstate(all="ignore"):
        if how == "argument":
            expected = run(f, how, changes, few)
            for tier in (0, 1):
                assert run(pyasc.jit(f, numerics="strict", tier=tier), how, changes, few) == expected, text
        else:
            def from_outside(make):
                return lambda holder: make(lambda x, s: f(holder.p, x, s))

            expected = run(from_outside(lambda g: g), how, changes, few)
            for tier in (0, 1):
                assert run(from_outside(lambda g: pyasc.jit(g, numerics="strict", tier=tier)), how, changes, few) == expected, text


def test_entries_are_operations():
    def step(p, g, rate):
        for k in p:
            p[k] = p[k] - rate * g[k]
        return p

    jitted, p, same = pyasc.jit(step, tier=1), {"w": np.ones(3), "b": np.zeros(2)}, {"w": np.ones(3), "b": np.zeros(2)}
    for k in range(5):
        g = {"w": np.arange(3.0) + k, "b": np.ones(2)}
        assert jitted(p, g, 0.1 * k) is p and step(same, g, 0.1 * k) is same
        assert freeze(p) == freeze(same)
    assert not jitted.report()["fallback"] and jitted.cache_info().traces == 1


def test_an_error_after_a_store():
    def f(p, x):
        p["a"] = p["a"] + 1
        return np.linalg.inv(x) @ p["a"]

    jitted, p, same = pyasc.jit(f), {"a": np.zeros(2)}, {"a": np.zeros(2)}
    for x in (np.eye(2), np.eye(2) * 2, np.zeros((2, 2)), np.eye(2), np.zeros((2, 2)), np.eye(2)):
        assert outcome(jitted, p, x) == outcome(f, same, x)
        assert freeze(p) == freeze(same)


def test_an_array_that_was_there_already_by_chance():
    class Holder:
        p = {"a": np.arange(4.0), "b": np.ones(4)}

    def f():
        Holder.p["b"] = Holder.p["a"]
        Holder.p["a"] += 1

    jitted = pyasc.jit(f)
    for k in range(4):
        if k == 2:
            Holder.p = {"a": np.arange(4.0), "b": np.ones(4)}
        jitted()
        assert Holder.p["b"] is Holder.p["a"]
    assert Holder.p["a"][0] == 2
