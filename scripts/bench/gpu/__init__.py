"""The GPU check: points on a real GPU that share as few engine starts as possible."""
