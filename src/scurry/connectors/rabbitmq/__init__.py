"""RabbitMQ: queues as sources and sinks."""
