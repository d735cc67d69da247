"""Model judges: prompts, reply forms, clients, panels, protocols (`methods`) and the process audit."""
