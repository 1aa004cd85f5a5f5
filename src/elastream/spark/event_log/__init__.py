"""An application by what Spark itself wrote of it (`spark.eventLog`), when nobody of ours looked on."""
