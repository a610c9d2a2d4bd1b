"""What a guard says of a run: each number with what it was held against, and whether that is acceptable."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One number of a run."""

    key: str
    unit: str
    """`bytes`, `seconds`, or empty for a plain number."""
    told: str
    """`ok`, `exceeded`, or the word of a ruling over history: `steady`, `worse`, `better`, ..."""
    sentence: str
    is_bad: bool = False
    value: float | None = None
    baseline: float | None = None
    change_percent: float | None = None
    limit: str | None = None
    """As it was given: `+5%`."""
    since_run: str | None = None
    """The first run of a change."""
    runs: int | None = None
    """How many runs the baseline is the middle of."""

    def as_record(self) -> dict[str, object]:
        """Render for JSON; what is not known is left out."""
        record: dict[str, object] = {
            "key": self.key,
            "told": self.told,
            "ok": not self.is_bad,
            "sentence": self.sentence,
            "value": self.value,
            "baseline": self.baseline,
            "change_percent": None if self.change_percent is None else round(self.change_percent, 3),
            "limit": self.limit,
            "since_run": self.since_run,
            "runs": self.runs,
        }
        return {name: value for name, value in record.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All that was checked of one run."""

    run_id: str
    against: str
    """A run's id, or `history`."""
    checks: tuple[Checked, ...] = field(default=())
    notes: tuple[str, ...] = ()
    """What a reader should know besides: a run that failed, too little history."""

    @property
    def is_ok(self) -> bool:
        """Tell that nothing is bad."""
        return not any(one.is_bad for one in self.checks)

    def as_record(self) -> dict[str, object]:
        """Render as `check --json` does."""
        return {
            "run_id": self.run_id,
            "against": self.against,
            "ok": self.is_ok,
            "checks": [one.as_record() for one in self.checks],
            "notes": list(self.notes),
        }
