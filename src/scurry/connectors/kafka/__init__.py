"""Kafka through ``confluent-kafka``: no jar, the same client in the driver and in the workers.

* ``source`` and ``enumerator`` run on the driver and decide which offsets a micro-batch reads;
* ``reader`` runs in the workers and reads exactly those offsets;
* ``sink``, ``writer`` and ``transactions`` bring records out, once or at least once.

Modules here import ``confluent_kafka`` inside functions only: a program that has no Kafka in it
does not need the package.
"""
