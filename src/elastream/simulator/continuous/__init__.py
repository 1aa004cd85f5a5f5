"""Operators that run all the time, as on Flink, Heron and Timely, as a fluid that flows in steps."""
