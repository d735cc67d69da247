"""The GPU check: points on a real GPU that share as few engine starts as possible.

`check.py` is the command, `work.py` the stations, `station.py` their process, `sharing.py` the points on a loaded
engine, `starting.py` the points that start engines or commands.
"""
