"""What files mean. Pure: no I/O, no clock, no async."""
