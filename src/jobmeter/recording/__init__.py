"""Recording one job: `pipeline.py` shows the whole flow."""
