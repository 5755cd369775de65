"""Runs workflows of GitHub on this machine, as far as ours go: what is not known here is an error, never passed over."""
