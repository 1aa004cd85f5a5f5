"""What is asked of the machine itself: a Java, processes that go when their owner goes, and folders that go with them.

    java         finds a Java, or brings one
    processes    a process by its id and its start
    children     daemons as child processes: started, watched while they start, ended with all that they started
    keeper       the small process between an owner and its daemons, which outlives the owner by a second
    keeping      the owner's side of it
    kept_folder  where the state of what is kept lies, closed to others
    ports        a port of loopback that stays ours
    memory       sizes as users write them

Knows nothing of Spark or Kafka: they describe their daemons to the keeper.
"""
