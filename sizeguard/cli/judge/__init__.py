"""Commands that end with a verdict or set its limits: gate, verify, bisect, baseline, waive."""
