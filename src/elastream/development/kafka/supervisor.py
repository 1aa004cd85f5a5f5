"""The process that keeps one broker; see `elastream.daemons.supervisor`."""

from elastream.daemons.supervisor import main
from elastream.development.kafka.daemon import BrokerDaemon
from elastream.development.kafka.folder import BrokerFolder

if __name__ == "__main__":
    main(BrokerFolder, BrokerDaemon)
