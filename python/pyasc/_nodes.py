"""Parts of syntax trees: names, constants and calls of hooks."""

import ast

from . import _pyasc

PREFIX = "_pyasc_"
HOOKS = {PREFIX + name: hook for name, hook in _pyasc.hooks.items()}
HOOKS[PREFIX + "slice"] = slice
HOOKS[PREFIX + "NameError"] = NameError
HOOKS[PREFIX + "UNBOUND"] = _pyasc.UNBOUND


def name_node(identifier, ctx=None):
    return ast.Name(id=identifier, ctx=ctx or ast.Load())


def hook_call(hook, *args, at):
    call = ast.Call(func=name_node(PREFIX + hook), args=list(args), keywords=[])
    return ast.copy_location(call, at)


def constant(value):
    return ast.Constant(value=value)
