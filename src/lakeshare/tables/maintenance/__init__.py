"""What is done for tables without their writers: old snapshots, files that nothing refers to, what a drop leaves."""
