"""The policy: limits, reviewed baselines, waivers, and the checks that they define."""
