"""Changed files are refused with a ValueError, or are a model that predicts numbers."""

import json
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.changes import VALUES, places
from fuzz.model_json import change, check, seeds

SEEDS = seeds()

bounded = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
numbers = st.integers() | st.floats()
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text() | st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@bounded
@given(st.data(), st.booleans())
def test_any_value_in_any_place(data, numeric):
    document = json.loads(data.draw(st.sampled_from(SEEDS)))
    values, replaced = (numbers, int | float) if numeric else (json_values, object)
    for _ in range(data.draw(st.integers(1, 4))):
        every = [
            (c, key) for c, key in places(document) if isinstance(c[key], replaced)
        ]
        container, key = every[data.draw(st.integers(0, len(every) - 1))]
        container[key] = json.loads(json.dumps(data.draw(values)))
    check(json.dumps(document).encode())


@bounded
@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
def test_any_part_left_out_or_doubled_or_moved_and_any_bytes_changed(content, seed):
    check(change(content, random.Random(seed)))
