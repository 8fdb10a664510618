"""Helpers of kernels in a file of their own, for test_python.py."""

FACTOR = 10
OFFSET = 7
UNUSED = open  # never sent


def twice(v):
    return v + v


def scaled(v):
    return v * FACTOR


def twice_scaled(v):
    return twice(scaled(v))
