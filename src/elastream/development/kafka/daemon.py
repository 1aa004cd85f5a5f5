"""Kafka as a daemon: one node that is broker and controller, on loopback, and when it can be used."""

import base64
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from elastream.daemons.child_processes import LOOK_EVERY_S, Children, end_with_parent
from elastream.daemons.ports import LOOPBACK, ReservedPort
from elastream.daemons.private_folder import write_private
from elastream.daemons.processes import this_process
from elastream.daemons.supervisor import Pause
from elastream.development.kafka.folder import BrokerError, BrokerFolder, BrokerState

# Said once the controller has let the broker in, so that a record that is written then can be read.
READY_LINE = "Kafka Server started"
# Asked to leave, it closes its files within a second or two; a loaded machine needs more.
GRACE_S = 30.0
USER = "elastream"
# One thread for collecting, and no file in /tmp that a kill would leave there.
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
# To standard error, which is a file. Its information would be a thousand lines about settings on each start.
LOG_OPTIONS = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yy/MM/dd HH:mm:ss",
)


class BrokerDaemon:
    """The process of one broker."""

    def __init__(
        self,
        folder: BrokerFolder,
        pause: Pause,
        *,
        jars: Sequence[str],
        java_home: str,
        heap: str,
        port: int | None,
        password: str | None,
        patience_s: float,
        environment: Mapping[str, str],
    ) -> None:
        self.folder = folder
        self.pause = pause
        self.java = f"{java_home}/bin/java"
        self.heap = heap
        self.port = port
        self.password = password
        self.patience_s = patience_s
        self.environment = {**environment, "CLASSPATH": os.pathsep.join(jars), "TMPDIR": str(folder.temporary)}
        self.commands: Mapping[str, Callable[[], None]] = {"start": self._launch, "stop": self._stop}
        self._reserved: tuple[ReservedPort, ...] = ()
        self._children = Children("broker", pause)
        self._state = BrokerState(supervisor=this_process(), daemons={}, heap=heap)

    def start(self) -> None:
        self._reserved = tuple(ReservedPort("broker", port) for port in (self.port, None, None))
        self.folder.write(self._state)
        clients, controller, secured = (port.number for port in self._reserved)
        settings = server_settings(self.folder, clients, controller)
        if self.password is not None:
            settings = with_password(settings, secured, self.password)
        write_private(self.folder.settings_file, properties(settings))
        self._format()
        self._launch()

    def collect(self) -> bool:
        return self._children.collect()

    def end(self) -> None:
        """Its data goes with it: nothing is to be saved, and so it is not asked."""
        self._children.end(grace_s=0)
        for port in self._reserved:
            port.close()

    def _format(self) -> None:
        # Any 16 bytes in this form; a dash in front would be taken for an option.
        name = base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "-t", name, "-c", str(self.folder.settings_file)]
        try:
            subprocess.run(
                [self.java, *JAVA_OPTIONS, *LOG_OPTIONS, "-XX:TieredStopAtLevel=1", *tool],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                cwd=self.folder.path,
                env=self.environment,
                timeout=self.patience_s,
                check=True,
                preexec_fn=end_with_parent,
            )
        except subprocess.CalledProcessError as failed:
            said = (failed.stderr + failed.stdout).strip().splitlines() or ["it said nothing"]
            raise BrokerError(f"broker: its folder could not be made ready: {said[-1]}") from failed
        except subprocess.TimeoutExpired as late:
            raise BrokerError(
                f"broker: its folder was not ready after {self.patience_s:.0f} s; is the machine overloaded?"
            ) from late

    def _launch(self) -> None:
        """Return when it can be used; at once if it runs."""
        # One that was killed is dead by its id while its threads still end; its files are free when it is collected.
        while self._children.is_running("broker") and not self._children.named["broker"].is_running:
            self.pause(LOOK_EVERY_S)
        if self._children.is_running("broker"):
            return
        deadline = time.monotonic() + self.patience_s
        options = [f"-Xmx{self.heap}", f"-Djava.io.tmpdir={self.folder.temporary}", *JAVA_OPTIONS, *LOG_OPTIONS]
        self._children.spawn(
            "broker",
            [self.java, *options, "kafka.Kafka", str(self.folder.settings_file)],
            log=self.folder.log_file,
            folder=self.folder.path,
            environment=self.environment,
        )
        self._note(bootstrap=None)
        self._children.until(self._is_ready, deadline, "it does not answer")
        clients, _, secured = (f"{LOOPBACK}:{port.number}" for port in self._reserved)
        self._note(bootstrap=clients, secured=None if self.password is None else secured)

    def _is_ready(self) -> bool | None:
        return READY_LINE in self.folder.log_file.read_text(errors="replace") or None

    def _stop(self) -> None:
        """Ask it to leave, and end it if it does not; port and data stay."""
        self._note(bootstrap=None)
        broker = self._children.named["broker"]
        broker.send(signal.SIGTERM)
        # One that was made to pause could not hear it.
        broker.send(signal.SIGCONT)
        deadline = time.monotonic() + GRACE_S
        while self._children.is_running("broker"):
            if time.monotonic() > deadline:
                broker.send(signal.SIGKILL)
            self.pause(LOOK_EVERY_S)

    def _note(self, *, bootstrap: str | None, secured: str | None = None) -> None:
        daemons = dict(self._children.named)
        self._state = replace(self._state, daemons=daemons, bootstrap=bootstrap, secured=secured)
        self.folder.write(self._state)


def server_settings(folder: BrokerFolder, clients: int, controller: int) -> dict[str, str]:
    """Of one node that has nobody to share its work with."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"CLIENTS://{LOOPBACK}:{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"CLIENTS://{LOOPBACK}:{clients}",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENTS",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "log.dirs": str(folder.data),
        # A misspelt topic is an error, not a new topic.
        "auto.create.topics.enable": "false",
        # Kafka's own topics want three brokers and fifty partitions unless told otherwise.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # Nobody else is about to join a consumer group.
        "group.initial.rebalance.delay.ms": "0",
    }


def with_password(settings: Mapping[str, str], port: int, password: str) -> dict[str, str]:
    """The same with another door, for those who know the password."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        **settings,
        "listeners": f"{settings['listeners']},SECURED://{LOOPBACK}:{port}",
        "advertised.listeners": f"{settings['advertised.listeners']},SECURED://{LOOPBACK}:{port}",
        "listener.security.protocol.map": f"{settings['listener.security.protocol.map']},SECURED:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": f'{module} required user_{USER}="{password}";',
    }


def properties(settings: Mapping[str, str]) -> str:
    """In the form of Java's properties, where a backslash begins an escape."""
    return "".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in settings.items())
