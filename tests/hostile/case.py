"""A row of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hostile.contenders import OURS, Contender
from hostile.data import Data
from hostile.judges import Judge
from hostile.trial import attempt
from hostile.ways import OF_ROWS


@dataclass(frozen=True)
class Case:
    """An input and what must come out.

    Attributes
    ----------
    name : str
        On the page and in tests.
    make : callable
        Makes the data for a number of classes.
    must : Judge
        What must come out.
    but : mapping of str to Judge
        What must come out of some contenders instead.
    classes : tuple of int
        Numbers of classes to try.
    ways : tuple of str
        Ways of fitting that make sense.
    only : tuple of str or None
        The contenders of ours that it is about; None means all.
    peers : bool
        Whether it means anything to scikit-learn's discriminants.
    note : str
        A remark for the page.
    """

    name: str
    make: Callable[[int], Data]
    must: Judge
    but: Mapping[str, Judge] = field(default_factory=dict)
    classes: tuple[int, ...] = (2, 4)
    ways: tuple[str, ...] = OF_ROWS
    only: tuple[str, ...] | None = None
    peers: bool = True
    note: str = ""

    def contenders(self) -> Iterator[tuple[Contender, int]]:
        """Those of ours that it is tried with, with the numbers of classes."""
        for contender in OURS.values():
            if self.only is None or contender.name in self.only:
                for k in self.classes:
                    wanted = k in contender.classes or self.classes == (k,)
                    if wanted and self.ways_of(contender, k):
                        yield contender, k

    def judge(self, contender: Contender) -> Judge:
        """What must come out of a contender; "peers" in `but` stands for all peers."""
        name = "peers" if contender.is_peer else contender.name
        return self.but.get(name, self.must)

    def ways_of(self, contender: Contender, k: int) -> list[str]:
        """Ways in which a contender is tried."""
        every = k in contender.all_ways or self.classes == (k,)
        ways = contender.ways if every else ("fit",)
        return [way for way in ways if way in self.ways]

    def complaints(
        self, contender: Contender, k: int, without: tuple[str, ...] = ()
    ) -> list[str]:
        """Try a contender in all ways, or without some; what is wrong, with the way."""
        data, judge = self.make(k), self.judge(contender)
        found = [
            (way, judge(attempt(contender, data, way)))
            for way in self.ways_of(contender, k)
            if way not in without
        ]
        return [f"{way}: {complaint}" for way, complaint in found if complaint]
