"""Workloads in one line: `cosine(200k..2.2M, period=60m, noise=100k) + 2 * spike(1M, at=40m, for=5m)`."""

from functools import reduce
from operator import add, mul

from elastream.core.callform import Expression, Number, Operation, parse_expression
from elastream.core.errors import BadInput
from elastream.workloads.constant import Constant
from elastream.workloads.pattern import HIGHEST_RPS, Pattern, workloads


def parse_workload(text: str) -> Pattern:
    """The workload that a line of text describes, or BadInput with the column of what is wrong."""
    return _built(parse_expression(text, what=workloads.kind))


def _built(tree: Expression) -> Pattern:
    if isinstance(tree, Operation):
        return reduce(add if tree.operator == "+" else mul, map(_built, tree.operands))
    if isinstance(tree, Number):
        return _constant(tree)
    return workloads.build_call(tree)


def _constant(number: Number) -> Constant:
    if number.quantity.unit == "s":
        raise BadInput(f"workload: column {number.column}: found the duration {number.quantity}; a rate belongs here")
    if number.quantity.value > HIGHEST_RPS:
        raise BadInput(f"workload: column {number.column}: found {number.quantity}; rates end at {HIGHEST_RPS:g}")
    if number.quantity.value < 0:
        raise BadInput(f"workload: column {number.column}: found {number.quantity}; rates and factors are not negative")
    return Constant(rps=number.quantity.value)
