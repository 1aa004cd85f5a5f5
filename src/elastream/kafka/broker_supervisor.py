"""The process that keeps one broker; see `elastream.daemons.supervisor`."""

from elastream.daemons.supervisor import main
from elastream.kafka.broker_daemon import BrokerDaemon
from elastream.kafka.broker_folder import BrokerFolder

if __name__ == "__main__":
    main(BrokerFolder, BrokerDaemon)
