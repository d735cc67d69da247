"""Publishing a built data set to the Hub, and holding back what may not go there.

Contract: a set goes out only if it is sound (`validate`), and of it only rows that somebody reviewed and whose
licence is stated or whose permission is named; the rest is listed as withheld. A publish is one commit, so a reader
sees the old set or the new one; what was sent before a kill is not sent again; the same data commits nothing. A tag
is never moved. Nothing that a head holds is dropped, unless that is said. What was published is loaded back and
compared. No token is ever printed or written.
"""
