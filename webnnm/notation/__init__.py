"""The notation: source text to syntax tree, and back by `formatter`."""

from webnnm.notation.parser import parse as parse
