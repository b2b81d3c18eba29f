"""What sources share: gold, tasks, ties, splits, and tables turned into nouns."""
