"""Rules about a model file: header, census, cache size, fit, prediction, catalog."""
