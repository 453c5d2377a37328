"""Tables: from bytes and texts to columns, from columns to the rows of a dataset."""
