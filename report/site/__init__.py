"""The pages that several runs make together: one static site, opened from disk or served as files.

Contract: the site asks nothing of a network and nothing of a server. Its data are scripts (`store`), because a page
that was opened from disk may not fetch; none is larger than `store.LARGEST`. Every text from outside is escaped
here (`fragments`) or set as text by the page's own scripts; the policy in `index.html` lets in no other script.
"""
