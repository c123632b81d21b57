"""Lists are the objects that they are: appended, kept in dicts, gone over, changed by another name."""
import collections
import copy
import gc

import numpy as np
import pytest

import pyasc
from same import freeze



def one_a(x):
    row=[x]
    out=[]
    out.append(row)
    row.append(1)
    return out

def one_b(x):
    row=[[1],2]
    out=[]
    out.append(row)
    row.append(3)
    return out, out[0] is row

def one_c(x):
    row=[(x,1),2]
    out=[[0]]
    out.append(row)
    row.append(x+1)
    return out, out[1] is row

def one_d(x):
    row=[{'a':x}]
    out={}
    out['k']=row
    out.setdefault('z',row)
    row.append(3)
    return out

def one_e(x):
    row=[[x],[1]]
    out=[0]
    out.insert(0,row)
    out.extend([row])
    row[0].append(2)
    row.append(9)
    return out

def one_f(x):
    row=[[x],[1]]
    s=[]
    s.append(row)
    return s.index(row), row in s, s.count(row), s.pop() is row

def two_a(x):
    rows=[[x],[1],[[2]]]
    for r in rows: r.append(3)
    for i,r in enumerate(rows): r.append(i)
    for r,s in zip(rows,rows[::-1]): r.append(len(s))
    return rows

def two_b(x):
    row=[[1],x]
    d={}
    d['k']=row
    d['m']=[row]
    d['k'].append(5)
    return d, d['m'][0] is row

def two_c(x):
    row=[[1],x]
    out=[0]
    out+=[row]
    out=out+[row]
    out.extend([row,row])
    t=(row,row)
    row[0].append(7)
    row.append(8)
    return out,t,[row]*2

def two_d(x):
    def g(l): l.append([x]); return l
    row=[[1]]
    r=g(row)
    r[0].append(2)
    return row, r is row

def two_e(x):
    q=collections.deque()
    row=[[1],[x]]
    q.append(row)
    q.appendleft(row)
    row.append(0)
    return list(q), q[0] is row

def two_f(x):
    s=[[x[0],1],[x[1],0]]
    t=sorted(s,key=lambda r:r[1])
    t[0].append(9)
    u=list(s)
    u[0].append(4)
    v=s.copy()
    v[1].append(3)
    w=s[:]
    w[0].append(2)
    return s,t,u,v,w

def two_g(x):
    m=max([[1,x.sum()],[2,0]], key=lambda r:r[0])
    m.append(3)
    a,b=[[1],[x]]
    a.append(b)
    first,*rest=[[1],[2],[x]]
    rest[0].append(first)
    return m,a,rest

def two_h(x):
    d={'a':[[1]],'b':[[x]]}
    for v in d.values(): v.append(1)
    for k,v in d.items(): v[0].append(k)
    y=d.get('a')
    y.append(2)
    z=d.setdefault('a',0)
    z.append(3)
    p=d.pop('b')
    p.append(4)
    return d,p

def two_i(x):
    class N: pass
    n=N()
    n.kids=[]
    m=N()
    m.kids=[n]
    n.up=m
    n.kids.append([x])
    m.kids[0].kids[0].append(1)
    return len(n.kids[0]), m.kids[0] is n

def two_k(x):
    l=[[1],[2]]
    it=iter(l)
    next(it).append(x)
    r=list(reversed(l))
    r[0].append(5)
    s=list(filter(lambda q: len(q)>1,l))
    s[0].append(6)
    t=list(map(lambda q:q,l))
    t[0].append(7)
    return l

def two_m(x):
    l=[[0]]*3
    l[0].append(x[0])
    c=copy.copy(l)
    c[1].append(2)
    dd=copy.deepcopy(l)
    dd[0].append(9)
    return l,c,dd

def two_n(x):
    g=[[x[j] for j in range(2)] for _ in range(2)]
    h=[r for r in g]
    h[0].append(1)
    k={id(r):r for r in g}
    list(k.values())[1].append(2)
    return g

def two_o(x):
    st=[[x]]
    cur=st[-1]
    cur.append(1)
    st.append(cur)
    st[0].append(2)
    del st[0]
    return st

def two_p(x):
    a=[1,[x]]
    b=a
    b[1]+= [2]
    b+= [3]
    c=a*1
    c[1].append(4)
    return a,b,c, a is b

def keeps_itself(x):
    out = []
    for i in range(5):
        out.append(out if x[i % 3] > 0 else i)
    return len(out), out[-1] is out, out[0]


FUNCTIONS = [f for name, f in list(globals().items()) if name.startswith(("one_", "two_"))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_case(function):
    jitted = pyasc.jit(function, numerics="strict")
    for x in (np.arange(3.0), np.arange(3.0), np.arange(1.0, 4.0)):
        assert freeze(jitted(x.copy())) == freeze(function(x.copy()))


def test_a_list_that_holds_itself():
    jitted = pyasc.jit(keeps_itself)
    for x in (np.zeros(3), np.array([0.0, 1, 1]), np.array([0.0, 1, 1]), np.array([0.0, 0, 1])):
        assert jitted(x) == keeps_itself(x)


def test_a_list_of_an_argument():
    def f(x, rows):
        out = []
        out.append(rows)
        rows[0].append(5)
        return out, out[0] is rows

    jitted = pyasc.jit(f)
    for _ in range(3):
        rows, others = [[1], [2]], [[1], [2]]
        assert jitted(np.ones(3), rows) == f(np.ones(3), others) and rows == others


def test_results_that_hold_themselves():
    def listed(x):
        out = [x * 2]
        out.append((out,))
        return out, out

    def keyed(x):
        d = {}
        d["self"] = d
        d["x"] = x + 1
        return d

    first, second = pyasc.jit(listed), pyasc.jit(keyed)
    for _ in range(3):
        out, again = first(np.ones(2))
        assert out is again and out[1][0] is out and out[0].tolist() == [2, 2]
        d = second(np.ones(2))
        assert d["self"] is d and d["x"].tolist() == [2, 2]


def test_an_argument_that_holds_itself():
    rows = [1]
    rows.append(rows)
    jitted = pyasc.jit(lambda x, rows: (x + rows[0], rows[1] is rows))
    for _ in range(3):
        total, same = jitted(np.ones(2), rows)
        assert total.tolist() == [2, 2] and same is True


def in_a_closure(x):
    y = [x * 2, x.sum()]
    y.append(lambda: y)
    return y[1] + 1


def in_a_tree(x):
    class Node:
        def __init__(self, value, up):
            self.value, self.up, self.kids = value, up, []
    root = Node(x + 1, None)
    root.kids += [Node(x * k, root) for k in range(3)]
    return sum(kid.value for kid in root.kids) + root.kids[0].up.value


def with_a_memo(x):
    memo = [x * 0]

    def power(k):
        while len(memo) <= k:
            memo.append(power(len(memo) - 1) + x)
        return memo[k]
    return power(4)


@pytest.mark.parametrize("function", [in_a_closure, in_a_tree, with_a_memo], ids=lambda f: f.__name__)
def test_cycles_are_collected(function):
    """What the call leaves behind holds tracers, whose trace is done."""
    jitted = pyasc.jit(function)
    for k in range(4):
        x = np.arange(5.0) + k
        assert freeze(jitted(x)) == freeze(function(x))
        gc.collect()


def test_repeated_as_often_as_an_int_says():
    def function(x, n):
        t = [[0.0, x[0] * 0]] * n
        t[0][0] = 5.0
        u = n * [[1]]
        u[0].append(n)
        w = [[2]] * 2 * n
        w[-1].append(3)
        v = ([1],) * n
        v[0].append(2)
        return t, u, w, v, [a is t[0] for a in t]
    jitted = pyasc.jit(function)
    x = np.arange(3.0)
    for n in (2, 3, 4, 3, 5, 0, -1):
        if n > 0:
            assert freeze(jitted(x, n)) == freeze(function(x, n))
        else:
            with pytest.raises(IndexError):
                jitted(x, n)
