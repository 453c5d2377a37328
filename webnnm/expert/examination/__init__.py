"""The examination of a dataset's rows for what makes scores too good: `examination.examine`."""
