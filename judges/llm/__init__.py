"""Judges that are models: prompts, votes, panels and the process audit."""
