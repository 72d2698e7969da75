"""The Spark engine (6-engines): records encoded and counted by Apache Spark, by the code that the local engine runs."""
