"""Publishing a built dataset to the Hub, and withholding rows and answers.

Contract: only a sound set (`validate`) is published, and only its reviewed rows with a stated licence or a named
permission. A publish is one commit; after a kill nothing is sent twice, and unchanged data commits nothing. A tag is
never moved. Nothing in a head is dropped without an explicit option. No token is printed or written.
"""
