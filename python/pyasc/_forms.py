"""Builtins that go through elements, as Python functions: nests (_nests.py) take these in their place."""
import builtins


def sum(values):
    total = 0
    for value in values:
        total = total + value
    return total


def any(values):
    for value in values:
        if value:
            return True
    return False


def all(values):
    for value in values:
        if not value:
            return False
    return True


FORMS = {builtins.sum: sum, builtins.any: any, builtins.all: all}
