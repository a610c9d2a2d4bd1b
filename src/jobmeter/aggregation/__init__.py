"""Pure arithmetic on readings: windows, the run's summary, the headline numbers."""
