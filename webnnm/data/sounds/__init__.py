"""Sound: `sound.Sound`, its file format, its frames, its rate."""
