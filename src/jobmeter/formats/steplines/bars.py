"""Progress bars of tqdm and of those who look like it, found anywhere within a line.

Most bars in a log are not training: files are fetched, shards loaded, test sets evaluated. A bar is training if
it shows a metric of training or if its words say so; one without words numbers the rows printed beside it.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from jobmeter.formats.steplines import numbers, shapes
from jobmeter.formats.steplines.row import Number
from jobmeter.formats.steplines.shapes import Span
from jobmeter.model import metrics

FILLED = "█▏▎▍▌▋▊▉#━╸╺─"
_COUNT = r"\d+(?:\.\d+)?[kKMGT]?"
_ELAPSED = r"(?:\d+ days?, )?\d+:\d{2}(?::\d{2})?"
_REST_TEXT = (
    rf"\[(?P<elapsed>{_ELAPSED})(?:<(?P<left>[^,\]\s]*))?,\s*(?P<rate>[^,\]\s]+)"
    r"(?:,?\s+(?P<postfix>(?:[^\[\]]|\[[^\[\]]*\])*))?\s*\]"
)
_REST = re.compile(_REST_TEXT)
_PLACE = re.compile(rf"(?P<n>{_COUNT})(?:/(?P<total>{_COUNT}|\?)|(?P<unit>[A-Za-z]+))")
_PERCENT = re.compile(r"(^|\s|:)\d{1,3}%$")
_RICH = re.compile(
    rf"(?P<head>Epoch \d+(?:/\d+)?)\s+[━╸╺─ ]*\s(?P<n>\d+)/(?P<total>\d+)\s+{_ELAPSED}\s*•\s*(?:{_ELAPSED}|-:--:--)\s*"
    r"(?P<rate>[\d.]+it/s)(?P<postfix>(?:\s+[\w/@.-]+:\s+\S+)*)"
)
_RATE = re.compile(rf"(?P<value>{_COUNT})\s?(?P<unit>\D\S*)")
_BEFORE_WORDS = re.compile(rf"[|\[\]<,{FILLED}]")
_LONGEST_WORDS = 400
_MOST_WORDS = 512
"""A bar keeps its words and the names of its metrics while it is drawn: what they mean is found once."""
_WIDTH = 5
_SPACES = " \t"
_NOTEBOOK = re.compile(r"\s*(?P<words>Epoch \d+):\s+\d{1,3}%\s*")
LIGHTNING = re.compile(r"Epoch \d+$")
_EPOCH = re.compile(r"\bepochs?\s*:?\s*\[?(?P<epoch>\d+)(?:\s*/\s*(?P<epochs>\d+))?\]?", re.IGNORECASE)
_NOT_TRAINING = re.compile(
    r"\b(?:eval\w*|valid\w*|val|test\w*|predict\w*|sanity\w*|infer\w*|generat\w*|load\w*|download\w*|fetch\w*|"
    r"extract\w*|map|filter\w*|tokeniz\w*|sampl\w*|sav\w*|preprocess\w*|process\w*|cach\w*|encod\w*|quantiz\w*|"
    r"upload\w*|read\w*|scan\w*|build\w*|copy\w*|warm\w*|calibrat\w*)\b",
    re.IGNORECASE,
)
_TRAINING = re.compile(
    r"\b(?:train\w*|steps?|fine-?tun\w*|iter(?:ation)?s?|optimi[sz]\w*|epochs?\W*\d+)", re.IGNORECASE
)
_PHRASE = re.compile(rf"(?P<name>[A-Za-z_][\w /@.-]*?)\s*[:=]?\s*(?P<value>{numbers.NUMBER})", re.IGNORECASE)
_ENDED = re.compile(r"\[[^\[\]]*(?:<|it/s|s/it|\?)[^\[\]]*\]")
"""The end of a bar that was drawn before on the same line."""
_WITHIN = re.compile(r"\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)(?![\d/])[^\]]*\]")
_NUMBER = re.compile(r"\d[\d.,]*(?:e[-+]?\d+)?")
_INDENT = " " * 20
_MOST_BARS = 16
_DROPPED = frozenset(("v_num", "eta", "ETA", "refresh"))
"""Said by bars, measured by nobody."""


@dataclass(slots=True, kw_only=True)
class Bar:
    """One drawing of a bar."""

    position: int
    total: int | None
    words: str
    """What stands before it; empty for a bar without a name."""
    is_fragment: bool
    """Its beginning was cut off: the words may be somewhere before."""
    metrics: dict[str, Number] = field(default_factory=dict)
    rate: dict[str, Number] = field(default_factory=dict)
    is_lightning: bool = False
    """Lightning counts its epochs from 0."""
    is_rich: bool = False
    end: int = 0

    @property
    def is_training(self) -> bool:
        """Tell whether the bar is that of a training loop."""
        return _is_training(self.words, tuple(self.metrics))

    def may_number_rows(self, *, is_training: bool) -> bool:
        """Tell whether rows printed beside it can be of its step."""
        return self.total is not None and (is_training or not self.words.strip(" :"))

    @property
    def epoch(self) -> int | None:
        """The epoch its words name, where the bar counts the steps within one."""
        return _epoch(self.words)[0]

    def may_be_last(self, first_epoch: int) -> bool:
        """Tell whether no epoch can follow, as far as its words say."""
        epoch, epochs = _epoch(self.words)
        return epoch is None or epochs is None or epoch >= epochs - 1 + first_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the parts of a bar stand in lines of one shape."""

    words: Span
    is_fragment: bool
    position: Span
    has_count: bool
    """It shows a total, if only as `?`."""
    total: Span | None
    metrics: tuple[numbers.Spelled, ...]
    pairs: tuple[Span, ...]
    """Where to look for metrics that are not written as `name=value` between commas."""
    rate: Span | None
    is_lightning: bool
    is_certain: bool
    """No metric has a name that differs from line to line."""
    end: int


def position_in_laps(bar: Bar, laps: dict[str, list[int]], key: str) -> int:
    """Number the steps of a bar that begins anew with each epoch and does not say which."""
    if bar.epoch is not None or not bar.total:
        return bar.position
    over, before = laps.pop(key, (0, 0))
    # several ranks draw one bar a little apart: only a drawing near the start begins a lap
    begins = bar.position <= max(1, bar.total // 2) and before >= max(bar.total / 2, bar.position + 1)
    laps[key] = [over + begins, bar.position]
    if len(laps) > _MOST_BARS:
        del laps[next(iter(laps))]
    return (over + begins) * bar.total + bar.position


def find(text: str) -> list[Bar]:
    """Find the bars in a line, in order; each word before a bar belongs to it."""
    if not text.isascii() and "•" in text:
        found = [_rich(match) for match in _RICH.finditer(text)]
        if found:
            return found
    if "[" not in text:
        return []
    places, is_certain = _places(shapes.of(text))
    return [_bar(text, place) for place in (places if is_certain else _places.__wrapped__(text)[0])]


def is_column(text: str) -> bool:
    """Tell a line that rich broke off the last column of its bar."""
    return text.startswith(_INDENT) and not text.isspace()


def column(text: str) -> dict[str, Number]:
    """Read the metrics of such a column, its lines joined."""
    return _without_noise(numbers.pairs(text))


def unfinished(text: str) -> str:
    """Give the words of a bar that the end of the line cut off; empty where there is none."""
    place = text.rfind("%|")
    if place < 0:
        found = _NOTEBOOK.fullmatch(text) if text.rstrip().endswith("%") else None
        return found["words"] if found else ""
    percent = _PERCENT.search(text, max(place - _WIDTH, 0), place + 1)
    if percent is None or text[place + 2 :].strip(FILLED + _SPACES):
        return ""
    words = _BEFORE_WORDS.split(text[max(percent.start() - _LONGEST_WORDS, 0) : percent.start() + 1])[-1]
    words = words.rstrip().removesuffix(":")
    glued = LIGHTNING.search(words)
    return glued[0] if glued else words[slice(*_last_words(words, len(words)))]


@lru_cache(maxsize=shapes.MOST)
def _places(shape: str) -> tuple[tuple["_Place", ...], bool]:
    """Find the bars in lines of a shape, and whether their metrics have no other names in any of them."""
    found: list[_Place] = []
    start = 0
    for rest in _REST.finditer(shape):
        place = _place(shape, start, rest)
        if place is not None and not shape.startswith("`", rest.end()):  # else prose quotes it
            found.append(place)
            start = rest.end()
    return tuple(found), all(place.is_certain for place in found)


def _place(shape: str, start: int, rest: re.Match[str]) -> "_Place | None":
    """Find the parts of a bar whose times begin at `rest`; what stands before it begins at `start`."""
    stop = start + len(shape[start : rest.start()].rstrip())
    cut = max(shape.rfind(" ", start, stop), shape.rfind("|", start, stop), start - 1) + 1
    count = _PLACE.fullmatch(shape, cut, stop)
    if count is None:
        return None
    words, is_fragment = _split_words(shape[start:cut].rstrip(), has_total=count["total"] is not None)
    has_rate = "=" not in rest["rate"]
    metrics, is_certain, pairs = _metric_places(shape, rest, has_rate=has_rate)
    return _Place(
        words=(start + words[0], start + words[1]),
        is_fragment=is_fragment,
        position=count.span("n"),
        has_count=count["total"] is not None,
        total=count.span("total") if count["total"] not in (None, "?") else None,
        metrics=metrics,
        pairs=pairs,
        rate=rest.span("rate") if has_rate else None,
        is_lightning="v_num" in (rest["postfix"] or "") or (not has_rate and "v_num" in rest["rate"]),
        is_certain=is_certain,
        end=rest.end(),
    )


def _metric_places(
    shape: str, rest: re.Match[str], *, has_rate: bool
) -> tuple[tuple[numbers.Spelled, ...], bool, tuple[Span, ...]]:
    """Find the metrics of a bar: `name=value` between commas, or else any pairs in the parts given."""
    spans = [rest.span(part) for part in ("postfix",) if rest[part]]
    if not has_rate:
        spans.insert(0, rest.span("rate"))
    found: list[numbers.Spelled] = []
    is_certain = True
    for start, stop in spans if any("=" in shape[slice(*span)] for span in spans) else ():
        place = start
        for piece in shape[start:stop].split(", "):
            name, equals, value = piece.partition("=")
            begin, end = place + len(name) + len(equals), place + len(piece)
            if numbers.number(value) is not None:
                found.append((name.strip(), begin, end, numbers.reader_of(value)))
            is_certain = is_certain and shapes.is_name(shape, (place, place + len(name)))
            place = end + len(", ")
    kept = tuple(metric for metric in found if metric[0] not in _DROPPED)
    return kept, is_certain, () if found else tuple(spans)


def _bar(text: str, place: "_Place") -> Bar:
    words = text[slice(*place.words)]
    shown = numbers.values(text, place.metrics)
    if place.pairs:
        shown = _without_noise(numbers.pairs(", ".join(text[slice(*span)] for span in place.pairs)))
    for name, value in _phrases(words):
        shown.setdefault(name, value)
    position, total = numbers.scaled(text[slice(*place.position)]) or 0, None
    if place.total is not None:
        total = numbers.scaled(text[slice(*place.total)])
    said = None if place.has_count else _WITHIN.search(words)
    if said is not None:
        # `Train Epoch: 0 [58/65 (88%)] Loss: 14.9: : 57it [...]`: the words know more than the bar
        position, total = int(said["n"]), numbers.scaled(said["total"])
    return Bar(
        position=position,
        total=total,
        words=words,
        is_fragment=place.is_fragment,
        metrics=shown,
        rate=_rate(text[slice(*place.rate)]) if place.rate is not None else {},
        is_lightning=place.is_lightning,
        end=place.end,
    )


def _split_words(left: str, *, has_total: bool) -> tuple[Span, bool]:
    """Find the words before a drawing, and say whether its beginning is missing."""
    if left.endswith("|"):
        left = left[: max(left.rfind("|", 0, len(left) - 1), 0)]
    percent = _PERCENT.search(left)
    if percent is not None:
        return _last_words(left, percent.end(1)), False
    return ((0, 0), True) if has_total else (_last_words(left, len(left)), False)


def _rich(match: re.Match[str]) -> Bar:
    return Bar(
        position=int(match["n"]),
        total=int(match["total"]),
        words=match["head"],
        is_fragment=False,
        metrics=_postfix(match["postfix"]),
        rate=_rate(match["rate"]),
        is_lightning=True,
        is_rich=True,
        end=match.end(),
    )


def _last_words(text: str, stop: int) -> Span:
    """Find a bar's own words, which end at `stop`: text glued before them was printed by somebody else."""
    start = max(stop - _LONGEST_WORDS, 0)
    start, stop = _stripped(text, start, stop, _SPACES)
    stop -= text.endswith(":", start, stop)
    ended = list(_ENDED.finditer(text, start, stop))
    return _stripped(text, ended[-1].end() if ended else start, stop, None)


def _stripped(text: str, start: int, stop: int, blanks: str | None) -> Span:
    stop = start + len(text[start:stop].rstrip(blanks))
    return stop - len(text[start:stop].lstrip(blanks)), stop


def _postfix(text: str) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for piece in text.split(", ") if "=" in text else ():
        name, _, value = piece.partition("=")
        given = numbers.number(value)
        if given is not None:
            found[name.strip()] = given
    return _without_noise(found or numbers.pairs(text))


def _without_noise(found: dict[str, Number]) -> dict[str, Number]:
    if not _DROPPED.isdisjoint(found):
        for name in _DROPPED & found.keys():
            del found[name]
    return found


@lru_cache(maxsize=_MOST_WORDS)
def _phrases(words: str) -> tuple[tuple[str, Number], ...]:
    """Find metrics in a bar's words: `Epoch 1/3, step 10/40 completed (loss: 0.52)`."""
    found: dict[str, Number] = {}
    for match in _PHRASE.finditer(words) if any(letter.isdigit() for letter in words) else ():
        name = match["name"].strip()
        value = numbers.number(match["value"])
        if value is not None and (metrics.is_loss(name) or metrics.canonical(name) == metrics.LR):
            found[name] = value
    return tuple(found.items())


def _rate(text: str) -> dict[str, Number]:
    match = _RATE.fullmatch(text)
    if match is None:
        return {}
    value, unit = match.groups()
    given = numbers.scaled(value) if value[-1].isalpha() else numbers.number(value)
    return {} if given is None else {unit: given}


@lru_cache(maxsize=_MOST_WORDS)
def _is_training(words: str, names: tuple[str, ...]) -> bool:
    if any(metrics.canonical(name) == metrics.LR for name in names):
        return True  # only a loop that learns has a learning rate, whatever the run is called
    if _NOT_TRAINING.search(words):
        return False
    return bool(_TRAINING.search(words)) or any(map(_is_training_metric, names))


@lru_cache(maxsize=_MOST_WORDS)
def _epoch(words: str) -> tuple[int | None, int | None]:
    """Find the epoch that words name, and of how many."""
    found = _EPOCH.search(words)
    if found is None:
        return None, None
    return int(found["epoch"]), int(found["epochs"]) if found["epochs"] else None


@lru_cache(maxsize=_MOST_WORDS)
def without_numbers(words: str) -> str:
    """Give the words that a bar has in every epoch."""
    return _NUMBER.sub("#", words)


def _is_training_metric(name: str) -> bool:
    return metrics.is_loss(name) or (metrics.is_known(name) and not metrics.is_evaluation(name))
