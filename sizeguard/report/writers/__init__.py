"""Formats that reports share: tables, Markdown, HTML, JUnit, SARIF and GitHub's commands."""
