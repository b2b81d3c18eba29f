"""Results and findings as tables and pages. Numbers are rounded here and computed elsewhere."""
