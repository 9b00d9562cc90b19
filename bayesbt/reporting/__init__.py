"""Reports and figures: what a posterior says, in words, tables and pictures."""
