"""Changes that coverage guides, by atheris: ``python -m fuzz.guided model 60``."""

from __future__ import annotations

import inspect
import random
import sys
from importlib import import_module

from fuzz.plain import BYTES_OF_MEMORY, FOLDER, SECONDS_OF_A_FILE
from fuzz.readers import READERS


def functions_of(module):
    """Functions that a module defines, methods of its classes included."""
    for item in vars(module).values():
        if getattr(item, "__module__", None) == module.__name__:
            members = vars(item).values() if inspect.isclass(item) else [item]
            yield from filter(inspect.isfunction, members)


def main():
    """Fuzz one reader; half of the changes are its own."""
    import atheris

    reader, seconds = READERS[sys.argv[1]], float(sys.argv[2])
    corpus = FOLDER / f"corpus-{reader.name}"
    corpus.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(reader.seeds()):
        (corpus / f"seed{k}").write_bytes(data)
        reader.check(data)  # compiles what is compiled
    for name in reader.modules:
        for function in functions_of(import_module(name)):
            atheris.instrument_func(function)

    def mutate(data, max_size, seed):
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return atheris.Mutate(data, max_size)
        return reader.change(data, rng)[:max_size]

    def check_one(data):
        reader.check(data)

    options = [
        f"-max_total_time={max(1, round(seconds))}",
        "-max_len=50000",
        f"-timeout={SECONDS_OF_A_FILE:.0f}",
        f"-rss_limit_mb={BYTES_OF_MEMORY // 10**6}",
        f"-artifact_prefix={FOLDER / reader.name}-",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], check_one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
