#!/bin/sh
# Installs the servers that tests need, Postgres, Redis and RabbitMQ, where that is possible without
# asking anybody: as root on Debian or Ubuntu. Elsewhere it says what is missing, and the tests that
# need it are skipped with a loud line (or fail, where SCURRY_REQUIRE_SERVERS is set).
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/apt.sh"

missing=
command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
    missing="postgresql"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
[ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || command -v rabbitmq-server >/dev/null 2>&1 ||
    missing="$missing rabbitmq-server"
[ -n "$missing" ] || exit 0
if can_apt; then
    # shellcheck disable=SC2086  # one word for each package
    apt_install $missing || say "could not install$missing: tests against it will be skipped"
else
    say "not installed: $missing; tests against it will be skipped"
    say "Debian, Ubuntu: sudo apt-get install $missing; macOS: brew install postgresql redis rabbitmq"
fi
exit 0
