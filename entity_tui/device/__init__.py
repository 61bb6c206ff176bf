"""What a device says of itself: pure parsers from raw text to facts."""
