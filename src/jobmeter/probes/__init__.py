"""One kernel, driver or scheduler format per file: path in, frozen value out, None if gone."""
