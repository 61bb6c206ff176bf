"""llama.cpp on a device: installing it, its command lines, its output and log lines."""
