"""Candidates of a space that another library describes: listed where that is quick, sampled elsewhere."""

from ostinato.candidates import Sampled, Space

LISTED = 20_000  # combinations: more take longer to score than a search of the space takes


def candidates_of(space: Space) -> Space | Sampled:
    return space if space.size <= LISTED else Sampled(space)
