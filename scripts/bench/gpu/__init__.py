"""The GPU check: what livek12 does on a real GPU, in points that share as few engine starts as possible.

`check.py` is the command, `station.py` a process that works through a list of points, `sharing.py` the points on one
loaded engine, `starting.py` the points that start engines or commands of their own.
"""
