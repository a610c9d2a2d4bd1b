"""The on-disk format of a run: docs/run-folder.md is its specification."""
