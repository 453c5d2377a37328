"""The language in which operators are declared: records, slots, options, rules of shapes."""
