"""Medians and spreads as every table prints them; plain Python, so that a list of runs loads no numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """The centre and spread of one arm's usable values.

    `sd` is the population standard deviation and None for a single value: nothing varied, so there is no ± to print.
    """

    count: int
    median: float
    sd: float | None
    q1: float
    q3: float

    @property
    def iqr(self) -> float:
        """The interquartile range, quartiles by linear interpolation."""
        return self.q3 - self.q1

    @property
    def relative_sd(self) -> float | None:
        """SD over median as a fraction; None for a single value, 0 where the median is not positive."""
        if self.sd is None:
            return None
        return self.sd / self.median if self.median > 0 else 0.0


def median(values: Sequence[float]) -> float:
    """The median, the mean of the middle two for an even count. ValueError without values."""
    if len(values) == 0:
        raise ValueError("no values")
    return quantile(values, 0.5)


def population_sd(values: Sequence[float]) -> float:
    """The population standard deviation (divisor n). ValueError without values."""
    if len(values) == 0:
        raise ValueError("no values")
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))


def quantile(values: Sequence[float], fraction: float) -> float:
    """The quantile by linear interpolation at fraction × (n - 1), LITTLETai's convention and numpy's default."""
    if len(values) == 0:
        raise ValueError("no values")
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def summarise(values: Sequence[float]) -> Summary | None:
    """The summary of the values, None when there are none."""
    if len(values) == 0:
        return None
    q1, centre, q3 = (quantile(values, fraction) for fraction in (0.25, 0.5, 0.75))
    return Summary(len(values), centre, population_sd(values) if len(values) > 1 else None, q1, q3)


def seed_summary(values: Sequence[float]) -> Summary | None:
    """As `summarise`, after ENTITY's rule that values ≤ 0 are dropped first."""
    return summarise([value for value in values if value > 0])


def ttft_derived_ms(prompt_tok_s: float, decode_tok_s: float, n_prompt: int = 512, n_first: int = 1) -> float:
    """The derived time to first token, ms: 1000·(PP/pp + PL/tg). ValueError unless both rates are positive."""
    if prompt_tok_s <= 0 or decode_tok_s <= 0:
        raise ValueError("a rate that is not positive has no time to first token")
    return 1000.0 * (n_prompt / prompt_tok_s + n_first / decode_tok_s)
