"""Helpers shared by tests: builders of real files, nothing that stands in for the code under test."""
