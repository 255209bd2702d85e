"""Commands that measure, compare, explain and predict sizes: report, diff, why, predict."""
