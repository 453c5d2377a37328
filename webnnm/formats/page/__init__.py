"""Export: models as folders that answer in a page without Python."""
