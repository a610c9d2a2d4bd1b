"""Thin fronts with other tools' names over the same layers."""
