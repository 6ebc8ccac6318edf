"""Any bytes are refused with a ValueError, or are a model that predicts numbers."""

import json
import random
from copy import deepcopy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.changes import VALUES, change_bytes, change_structure, places
from fuzz.model_json import check, seeds

SEEDS = seeds()
DOCUMENTS = [json.loads(data) for data in SEEDS]

bounded = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
numbers = st.integers() | st.floats()
scalars = st.none() | st.booleans() | numbers | st.text()
json_values = st.recursive(
    scalars | st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


def encoded(document):
    """JSON as Python writes it, NaN and surrogates included."""
    return json.dumps(document).encode()


@bounded
@given(st.data())
def test_any_value_in_any_place(data):
    document = json.loads(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 3))):
        every = places(document)
        container, key = every[data.draw(st.integers(0, len(every) - 1))]
        container[key] = deepcopy(data.draw(json_values))  # changed next, perhaps
    check(encoded(document))


@bounded
@given(st.data())
def test_any_number_in_the_place_of_a_number(data):
    document = json.loads(data.draw(st.sampled_from(SEEDS)))
    every = [
        (container, key)
        for container, key in places(document)
        if isinstance(container[key], int | float)
    ]
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = every[data.draw(st.integers(0, len(every) - 1))]
        container[key] = data.draw(numbers)
    check(encoded(document))


@bounded
@given(st.sampled_from(DOCUMENTS), st.integers(0, 2**32))
def test_any_part_left_out_or_doubled_or_moved(document, seed):
    check(encoded(change_structure(document, random.Random(seed))))


@bounded
@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
def test_any_bytes_changed(content, seed):
    check(change_bytes(content, random.Random(seed)))


@bounded
@given(st.data())
def test_any_key_twice(data):
    lines = data.draw(st.sampled_from(SEEDS)).splitlines()
    with_keys = [k for k, line in enumerate(lines) if b": " in line and b"," in line]
    k = data.draw(st.sampled_from(with_keys))
    doubled = b"\n".join([*lines[:k], lines[k], *lines[k:]])
    assert not check(doubled)


@bounded
@given(st.binary())
def test_any_bytes(content):
    assert not check(content)


@bounded
@given(json_values)
def test_any_model(value):
    head = {"format": "heterolda-model", "version": 1, "heterolda": ""}
    assert not check(encoded({**head, "model": value}))
