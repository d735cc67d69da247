"""Pages of a static site, opened from disk or served as files, without network or server.

Its data are scripts (`files`), since a page opened from disk may not fetch. Texts from outside are escaped here
(`pages`) or set as text by the page's scripts; the policy in `index.html` admits no other script.
"""
