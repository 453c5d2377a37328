"""The notation: source text to syntax tree, and back."""

from webnnm.notation.formatter import format_document as format_document
from webnnm.notation.parser import parse as parse
