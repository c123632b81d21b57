"""Small functions for test_api.py, in a file whose lines the tests know."""
import functools

import numpy as np

import pyasc


@pyasc.jit
def named(x, scale=2.0, *, shift=0.0):
    """Scales and shifts."""
    return x * scale + shift


@pyasc.jit
def inner(x):
    return x + 1


@pyasc.jit
def outer(x):
    return inner(x) * inner(x * 2)


@pyasc.jit
def factorial(x, n):
    if n == 0:
        return x * 0 + 1
    return factorial(x, n - 1) * n


@pyasc.jit
def power_sum(x, n):
    return power_sum(x, n - 1) + x**n if n else x * 0


@pyasc.jit
def fails(x):
    y = x * 2
    return helper_that_fails(y)


def helper_that_fails(y):
    if y.sum() > 0:
        raise ValueError("too much")  # the line that raises
    return y


@pyasc.jit
def bad_shapes(x, y):
    z = x + 1
    return z + y  # shapes do not fit


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 10
    return wrapper


@pyasc.jit
@logged
def decorated(x):
    return x + 0.5


first, second = pyasc.jit(lambda x: x + 1), pyasc.jit(lambda x: x * 5)


class Model:
    rate = 0.5

    def __init__(self, w):
        self.w = w

    @pyasc.jit
    def forward(self, x):
        return np.tanh(x @ self.w) * self.rate

    @pyasc.jit
    @classmethod
    def scaled(cls, x):
        return x * cls.rate

    @staticmethod
    @pyasc.jit
    def twice(x):
        return x * 2

    @pyasc.jit
    @staticmethod
    def thrice(x):
        return x * 3

    @property
    @pyasc.jit
    def norm(self):
        return np.sqrt((self.w**2).sum())

    @pyasc.jit
    def __call__(self, x):
        return self.forward(x) + self.__secret()

    def __secret(self):
        return self.norm


class Child(Model):
    rate = 0.25

    @pyasc.jit
    def forward(self, x):
        return super().forward(x) + 1


class Affine:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, x):
        return self.a * x + self.b
