"""The policy: limits, reviewed baselines and waivers, and the checks that follow from them."""
