"""Secrets as they stand in names, errors and settings, and text that looks like one and is none."""

from typing import NamedTuple

OWN_PATTERN = r"(?i)customer|acme-\d+"
"""What an application may have in `spark.redaction.regex`."""
CUT = "the text was cut: "


class Sample(NamedTuple):
    """A sentence, and what of it nobody may read."""

    text: str
    secret: str


SAMPLES = (
    Sample("login failed: password=hun,ter[2](x){y}", "ter[2"),
    Sample("login failed: password=hun,ter[2](x){y}", "{y}"),
    Sample("{password=hunter2,really, user=me}", "really"),
    Sample("Map(kafka.ssl.key.password -> hunter2, user -> me)", "hunter2"),
    Sample('{"db": {"password": "hunter 2, (or) [3]"}}', "(or)"),
    Sample(r"{\"password\": \"hunter 2\", \"user\": 1}", "hunter"),
    Sample(r'{\\"password\\": \\"hunter 2\\", \\"user\\": 1}', "hunter"),
    Sample("cannot read https:/me:hunter2@db.example:8443/x", "hunter2"),
    Sample("cannot reach https://me:hunter2@db.example:8443/x", "hunter2"),
    Sample("cannot reach jdbc:postgresql://me:hun@ter2@db:5432/x?ssl=1", "ter2"),
    Sample("no driver for jdbc:mysql://db:3306/x?user=me&password=hunter2&ssl=1", "hunter2"),
    Sample("no driver for jdbc:sqlserver://db:1433;user=me;password={hun;ter2};encrypt=true", "ter2"),
    Sample("no driver for jdbc:oracle:thin:scott/tiger@//db:1521/x", "tiger"),
    Sample("brokers me:hunter2@kafka-1:9092,kafka-2:9092 are gone", "hunter2"),
    Sample("clone of https://ghp4711@git.example/x failed", "ghp4711"),
    Sample(
        "kafka.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="me" password="hun;ter2";',
        "ter2",
    ),
    Sample('ScramLoginModule required username="me" password="hunter2"; is refused', "hunter2"),
    Sample("apikey=hunter2", "hunter2"),
    Sample("api_key: hunter2", "hunter2"),
    Sample("X-Api-Key: hunter2", "hunter2"),
    Sample("pwd=hunter2 is wrong", "hunter2"),
    Sample("passwd: hunter2", "hunter2"),
    Sample("<db><password>hunter2, zwei</password></db>", "zwei"),
    Sample("(spark.ssl.keyPassword,hunter2, zwei)", "zwei"),
    Sample("[('spark.my.password', 'hunter 2'), ('a', 'b')]", "hunter"),
    Sample("callback?next=%2Fx%3Fpassword%3Dhunter2%26a=1", "hunter2"),
    Sample("Cookie: session=hunter2; theme=dark", "hunter2"),
    Sample("start --db-password hunter2 --verbose", "hunter2"),
    Sample("token=48151623421234567", "4815162"),
    Sample("token: 48151623421234567 has expired", "4815162"),
    Sample("401 for Authorization: Bearer hunter2.abc", "hunter2"),
    Sample("401 for Authorization: Basic bWU6aHVudGVyMg==", "bWU6"),
    Sample("the server refused Bearer hunterzwei", "hunterzwei"),
    Sample("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl has expired", "eyJzdWIi"),
    Sample("key AKIAIOSFODNN7EXAMPLE is unknown", "AKIAIOSF"),
    Sample("https://x.blob.example/y?sv=1&sig=hunter2%3D&se=2", "hunter2"),
    Sample("Endpoint=sb://x/;SharedAccessKeyName=y;SharedAccessKey=hunter2=;EntityPath=z", "hunter2"),
    Sample(
        "kafka.ssl.keystore.key=-----BEGIN PRIVATE KEY-----\nMIIEhunter2\nabc\n-----END PRIVATE KEY-----", "MIIEhunter2"
    ),
    Sample(f"{CUT}kafka.ssl.keystore.key=-----BEGIN PRIVATE KEY----- MIIEhunter2 ab", "MIIEhunter2"),
    Sample(f'{CUT}password="hunter 2 and so', "and so"),
    Sample("--set policy_settings.api_token: found 'hunter2'; it must be a number", "hunter2"),
)
"""Always hidden."""

OWN_SAMPLES = (Sample("customer=johndoe is not billed", "johndoe"), Sample("query acme-4711 has failed", "acme-4711"))
"""Hidden by OWN_PATTERN."""

HARMLESS = (
    "key 17 is hot",
    "hot key: one task took 12.0 s, the others 0.3 s",
    "topic tokens: lag is unknown",
    "tokens-0: 17 records wait",
    "no useful time measured for tokenize",
    "tokens_per_s=41.5, tokens: 1200.",
    "the tokens are 3",
    "password-resets: the sink blocks, 3 of 5 batches",
    "query token-refresh is restarting",
    "arrival: 41,200/s needs 5 workers (asked 9)",
    "TopicAuthorizationException: Not authorized to access topics: [tokens]",
    "the password is missing; token: expired",
    "http://host:8080/a?mail=me@example.org",
    "spark://one:7077,two:7077 does not answer",
    "abfss://container@account.dfs.core.windows.net/folder",
    "Bearer token expired, basic authentication is off",
    "source-0: watched only; 99 % of records within 30 s, 10:30 UTC",
    "-D and --set path=value; see elastream run --help",
    "[bold]clicks[/bold], [red]late[/red], :warning:",
    "tokens, 5 of them (token, password), <b>late</b>",
    "Größe 5 µs, 日本語, 5 → 7",
)
"""Stays as it is."""

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\x1b]52;c;aGk=\x07",
    "\x9b2J\x85\x7f\x00\x08\x07",
    "a\u202eb\u2066c\u2069\u200bd\u200de\ufeff",
    "half \ud83d of a pair",
    "two\nlines\r\nand\ta tab\u2028x\x0by\x0cz",
)
"""What would steer a terminal, turn text around or break a line."""
