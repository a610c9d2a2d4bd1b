"""Numbers of ranks as people write them."""

from collections.abc import Sequence


def written(numbers: Sequence[int]) -> str:
    """Write numbers with runs of neighbours as one: `0-6, 9`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)
