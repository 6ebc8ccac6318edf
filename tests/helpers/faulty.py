"""Readers of files that have defects, for the fuzzer to find."""

import time

from fuzz.reader import Reader
from heterolda.foundations.files import read_npz


def seeds():
    return [b"good"]


def change(data, rng):
    return bytes([rng.randrange(256)])


def raises(data):
    if data != b"good":
        read_npz(1, "numbers")  # an AttributeError
    return True


def toils(data):
    end = time.process_time() + 0.3
    while data != b"good" and time.process_time() < end:
        pass
    return True


def swells(data):
    if data != b"good":
        held = bytearray(1_000_000_000)  # more than other tests ever held
        held[::4096] = b"x" * len(held[::4096])
    return True


def reader_of(check):
    return Reader(check.__name__, ".bin", seeds, change, check)
