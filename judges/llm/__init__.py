"""Judges that are models: prompts, votes, panels and the process audit.

Where to look: `prompts` loads a prompt file and puts a request's messages together (all data fenced); `forms` says
how a judge has to answer and reads its answer strictly; `client` asks one judge model (cache, retries, accounting);
`panel` draws judges and adds up their votes; `methods` are the protocols of the papers (P1 to P3, count, S2S, L2S,
L2L, marks); `settle` takes a verdict with undecided parts and has them decided. Nothing here decides by rule.
"""
