"""From exam papers as PDF to questions a person only has to confirm.

    PDF ──pages──▶ images ──extract──▶ blocks ──segment──▶ drafts ──keys, tags──▶ drafts ──review──▶ questions

Contract: every step takes and gives records of `blocks` and `drafts`. What a step is not sure of it says, as a doubt of
the draft, and never fills in. A PDF is hostile: its pages, sizes and pictures are bounded, and a paper that cannot be
read costs one line; the other papers go on.
"""
