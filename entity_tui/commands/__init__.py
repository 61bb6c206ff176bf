"""What the command line can do: one module per command, each the twin of something on a screen."""
