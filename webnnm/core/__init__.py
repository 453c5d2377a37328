"""What everything stands on: errors, findings, data types, shapes, host arrays, random bits."""
