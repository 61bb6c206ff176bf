"""Drawing only: widgets that take plain values and return strips."""
