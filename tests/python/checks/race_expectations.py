"""What kernels say in comments about their races."""

import re

_MARK = re.compile(r"(race|equal): (\w+)")
_KINDS = {"race": "data-race", "equal": "equal-writes"}


def expected_in(lines, start, comment):
    """{(kind, first line, second line)}: `race: A` marks both lines of a pair, or the one line that races with itself; `equal: A` a
    pair that writes equal values.

    :param start: the number of the first line
    :param comment: how comments begin
    """
    marks = {}
    for number, line in enumerate(lines, start):
        for kind, label in _MARK.findall(line.partition(comment)[2]):
            marks.setdefault((kind, label), []).append(number)
    return {(_KINDS[kind], min(numbers), max(numbers)) for (kind, _), numbers in marks.items()}
