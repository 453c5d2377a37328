"""The result of an occlusion: how important each token of a text is to a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webnnm.evaluation.history import plain
from webnnm.evaluation.table import Tabular


@dataclass(frozen=True)
class TokenImportance(Tabular):
    """How much lower a prediction is when a token is left out of the text.

    >>> importance = TokenImportance(("so", "good"), (0.125, 0.5), "yes", 0.75)
    >>> print(importance)
    yes 75.0%, and how much of it goes without each token
    token  importance
    so         0.1250
    good       0.5000
    >>> importance.ranked()
    [('good', 0.5), ('so', 0.125)]

    Attributes: `tokens` of the text, in order; `importances`, for each of them the prediction of
    the whole text less that without the token; `label`, the class whose probability is looked at,
    or the name of the output for numbers; `value`, the prediction of the whole text. Tokens below
    0 speak against it.
    """

    tokens: tuple[str, ...]
    importances: tuple[float, ...]
    label: str
    value: float
    is_share: bool = True

    def ranked(self) -> list[tuple[str, float]]:
        """Return the tokens with their importances, those first that change the most."""
        pairs = zip(self.tokens, self.importances, strict=True)
        return sorted(pairs, key=lambda pair: -abs(pair[1]))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        names = ("tokens", "importances", "label", "value")
        return plain({name: getattr(self, name) for name in names})

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        value = f"{self.value:.1%}" if self.is_share else f"{self.value:.6g}"
        head = f"{self.label} {value}, and how much of it goes without each token"
        pairs = zip(self.tokens, self.importances, strict=True)
        rows = [[token, f"{importance:.4f}"] for token, importance in pairs]
        return [head], [["token", "importance"], *rows]
