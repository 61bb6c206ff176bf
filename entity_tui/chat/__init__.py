"""Conversations with a model that runs on the device."""
