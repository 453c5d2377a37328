"""Layouts of the filters of convolutions."""

FILTER_LAYOUTS = ("oihw", "hwio", "ohwi", "ihwo")
TRANSPOSED_FILTER_LAYOUTS = ("iohw", "hwoi", "ohwi")
