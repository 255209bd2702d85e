"""Git repositories: commits in order, hashes of their files, and worktrees to build in."""
