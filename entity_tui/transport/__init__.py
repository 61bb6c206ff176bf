"""How bytes reach a device: the only room that knows adb, ssh and processes."""
