"""What runs on the device: POSIX shell scripts and the plain-text protocol they speak."""
