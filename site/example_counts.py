"""The classes of pages that are taught: their names, and whether they have enough examples."""

from itertools import count

MIN_EXAMPLES = 5
"""Examples of a class below which the pages do not train."""


def find_free_name(names):
    """Return the first of "Class 1", "Class 2", … that no class has.

    >>> find_free_name({"Class 1", "Dog"})
    'Class 2'
    """
    return next(name for k in count(1) if (name := f"Class {k}") not in names)


def describe_lack(names, counts, minimum, noun, verb="Record"):
    """Say what is missing before classes with so many examples each can be learnt, or nothing.

    >>> describe_lack(["Cat", "Dog"], [5, 2], 5, "picture")
    '“Dog” has 2 of at least 5 pictures.'
    """
    if len(names) < 2:
        return "There is one class. Add another: a model tells classes apart."
    if not any(counts):
        return f"{verb} at least {minimum} {noun}s of each class."
    for name, examples in zip(names, counts, strict=True):
        if not examples:
            return f"“{name}” has no {noun}s. Add some, or remove the class."
        if examples < minimum:
            return f"“{name}” has {examples} of at least {minimum} {noun}s."
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        return f"Two classes are called “{duplicate}”. Give one of them another name."
    return ""
