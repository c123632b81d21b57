"""Named tuples: results of np.linalg and np.unique_* go through plans, field by field."""
import collections

import numpy as np
import pytest

import pyasc
from same import freeze

Pair = collections.namedtuple("Pair", "x y")


def eigen_basis(a):
    w, v = np.linalg.eigh(a@a.T)
    return v@np.diag(w) + 1


def eigen_fields(a):
    r = np.linalg.eigh(a@a.T)
    return r.eigenvalues * 2, r.eigenvectors.sum()


def svd_whole(a):
    return np.linalg.svd(a)


def svd_parts(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return (u * s)@vt - a


def qr_and_determinant(a):
    q, r = np.linalg.qr(a)
    return q@r, np.linalg.slogdet(a@a.T)


def singular_values(a):
    s = np.linalg.svd(a)
    return s.S


def kept_in_lists(a):
    s = np.linalg.svd(a)
    kept = [s]
    kept.append(s[1] * 2)
    return kept, s


def counts(a):
    return np.unique_counts(np.round(a * 2))


def eigen_length(a):
    r = np.linalg.eig(a@a.T)
    return r[0].sum(), len(r), isinstance(r, tuple), r._fields


def qr_in_a_loop(a):
    out = []
    for i in range(7):
        q, r = np.linalg.qr(a + i)
        out.append(r[0,0] * 2)
    return out


def sign_branch(a):
    s, l = np.linalg.slogdet(a@a.T + np.eye(len(a)))
    if l>0:
        return l * 2
    return s


def into_another(a):
    r = np.linalg.eigh(a@a.T)
    p=Pair(r.eigenvalues, a)
    return p.x * 2, p


def replaced(a):
    r = np.linalg.eigh(a@a.T)
    return r._replace(eigenvalues=r.eigenvalues * 2)


def as_dict(a):
    r = np.linalg.eigh(a@a.T)
    d = r._asdict()
    return d


FUNCTIONS = [eigen_basis, eigen_fields, svd_whole, svd_parts, qr_and_determinant, singular_values, kept_in_lists, counts, eigen_length, qr_in_a_loop, sign_branch, into_another, replaced, as_dict]
PLANNED = [eigen_basis, eigen_fields, svd_whole, svd_parts, qr_and_determinant, singular_values, counts,
           qr_in_a_loop, sign_branch]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_named_tuples(function, tier):
    jitted = pyasc.jit(function, tier=tier)
    for k in range(6):
        a = np.random.default_rng(k % 3).random((4, 5))
        expected, got = function(a), jitted(a)
        assert freeze(got) == freeze(expected)
        assert types_of(got) == types_of(expected)
    if function in PLANNED:
        assert jitted.cache_info().hits and not any("does not know" in r for r in jitted.report()["reasons"])


def types_of(x):
    inner = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return type(x), [types_of(v) for v in inner]


# -- As arguments -------------------------------------------------------------------------


def fields(p, k):
    return p.x * k + p.y.sum(), p[0] - 1, len(p)


def unpacked(p, k):
    x, y = p
    y += k
    return x @ y


def passed(p, k):
    return helper(p) + k, p._fields


def helper(p):
    return p.x + p.y


def handed_back(p, k):
    return p, k


def replaced(p, k):
    return p._replace(x=p.x * k)


@pytest.mark.parametrize("function", [fields, unpacked, passed, handed_back, replaced])
def test_as_arguments(function):
    jitted = pyasc.jit(function)
    for k in range(4):
        a, b = [Pair(np.arange(4.0) + k, np.ones(4)) for _ in range(2)]
        got = jitted(b, k)
        assert freeze(got) == freeze(function(a, k))
        assert freeze(b) == freeze(a)
        if function is handed_back:
            assert got[0] is b


def test_named_tuples_have_plans():
    jitted = pyasc.jit(fields)
    for k in (2.0, 3.0, 4.0):
        jitted(Pair(np.arange(4.0) + k, np.ones(4)), k)
    assert jitted.cache_info().traces == 1 and not jitted._facts()["entries"][0]["plain"]
    Other = collections.namedtuple("Other", "y x")
    got = jitted(Other(np.ones(4), np.arange(4.0)), 2.0)
    assert freeze(got) == freeze(fields(Other(np.ones(4), np.arange(4.0)), 2.0))
