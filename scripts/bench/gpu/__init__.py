"""The GPU check: what livek12 does on a real GPU, in points that share as few engine starts as possible.

`check.py` is the command, `work.py` the stations, `station.py` the process of one, `sharing.py` the points on one
loaded engine, `starting.py` the points that start engines or commands of their own.
"""
