"""Functions of functions: compile and value_and_grad."""
import functools

from . import _core


def compile(function=None, *, most=8, **options):
    """A function of tensors that runs as a plan: the first call with new shapes compiles it, every call runs the plan.

        @ingot.compile
        def f(x, w):
            return ingot.relu(x @ w)

    Arguments and results may be tensors, arrays, and tuples, lists and dicts of them. Everything else among the arguments is a
    constant: another value is another plan; the `most` plans used last are kept. Tensors that the function finds elsewhere are
    read where they are at every run; frozen=True promises that they keep their elements, as weights do at inference. Options are those of a plan: name, without,
    threads, byte_limit, frozen, check_numerics. f.plan(x, w) is the plan itself: describe(), bytes(), profile(), save().
    """
    if function is None:
        return functools.partial(compile, most=most, **options)
    compiled = _core.Compiled(function, most, **options)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(function, name):
            setattr(compiled, name, getattr(function, name))
    compiled.__wrapped__ = function
    return compiled


def value_and_grad(function, argnums=0, **options):
    """A function that returns (function(...), its gradients), as one plan per shape: of a scalar by argument `argnums`, or by
    several, which gives a tuple of gradients. An argument may be a list or a dict of tensors, and its gradients come alike.
    If the function returns a tuple or list, its first entry is what is differentiated."""
    several = not isinstance(argnums, int)
    numbers = tuple(argnums) if several else (argnums,)

    def both(*args, **kwargs):
        value = function(*args, **kwargs)
        loss = value[0] if isinstance(value, (tuple, list)) else value
        if loss.shape != ():
            raise _core.ShapeError(f"value_and_grad: the value has shape {list(loss.shape)} — it must be a scalar: sum or mean it")
        wanted = [leaves(args[i]) for i in numbers]
        found = iter(_core.gradients(loss, [t for tensors in wanted for t in tensors]))
        gradients = tuple(rebuilt(args[i], found) for i in numbers)
        return value, gradients if several else gradients[0]

    return compile(both, **options)


def leaves(value):
    """The tensors of a nested value, in order."""
    if isinstance(value, _core.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        raise TypeError(f"value_and_grad: {type(value).__name__} is no tensor and no list or dict of them")
    return [t for each in value for t in leaves(each)]


def rebuilt(value, tensors):
    """The same nested value with the next tensors in place of its own."""
    if isinstance(value, _core.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: rebuilt(each, tensors) for key, each in value.items()}
    return type(value)(rebuilt(each, tensors) for each in value)
