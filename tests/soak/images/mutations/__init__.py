"""The formats to mutate: functions that make seed files and that read a file."""
