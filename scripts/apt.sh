# Sourced by the ensure-*.sh scripts: installs Debian or Ubuntu packages where that is possible
# without asking anybody, which means as root and with apt-get at hand.

say() {
    echo "scurry: $*" >&2
}

can_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

apt_update_once() {
    if [ -z "${apt_updated:-}" ]; then
        say "running apt-get update"
        apt-get update -qq >&2 || return 1
        apt_updated=1
    fi
}

# apt_install PACKAGE...: everything apt-get prints goes to standard error.
apt_install() {
    apt_update_once || return 1
    say "installing $* with apt-get"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# apt_offers PACKAGE: whether the package index has an installable version of it.
apt_offers() {
    apt_update_once || return 1
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}
