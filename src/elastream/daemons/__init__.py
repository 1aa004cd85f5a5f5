"""Processes that we own: a Java, daemons that go when their owner goes, and folders that go with them.

    java             finds a Java, or brings one
    processes        a process by its id and its start
    child_processes  daemons as child processes: started, watched while they start, ended with all that they started
    supervisor       the small process between an owner and its daemons, which outlives the owner by a second
    client           the owner's side of it
    state_folder     where the state of what is supervised lies, closed to others
    private_folder   folders that no other user can have made or changed
    ports            a port of loopback that stays ours

Knows nothing of Spark or Kafka: they describe their daemons to the supervisor.
"""
