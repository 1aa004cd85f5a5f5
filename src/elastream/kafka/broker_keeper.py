"""The process that keeps one broker; see `elastream.machine.keeper`."""

from elastream.kafka.broker_daemon import BrokerDaemon
from elastream.kafka.broker_folder import BrokerFolder
from elastream.machine.keeper import main

if __name__ == "__main__":
    main(BrokerFolder, BrokerDaemon)
