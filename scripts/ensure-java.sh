#!/bin/sh
# Finds a Java of version 17 or later and prints its home directory, the value for JAVA_HOME.
# Looks at JAVA_HOME, at `java` on the PATH, at macOS's java_home and at the usual directories.
# Where there is none, installs one (root on Debian or Ubuntu) or says how to, and exits with 1.
#
# Standard output carries nothing but the directory; everything said goes to standard error.
# SCURRY_JVM_DIRS overrides the directories that are searched.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/apt.sh"

minimum=17
jvm_dirs=${SCURRY_JVM_DIRS-/usr/lib/jvm /usr/java /opt/java /opt/homebrew/opt /usr/local/opt /Library/Java/JavaVirtualMachines}

# home_of JAVA: prints the home directory if that program runs and is recent enough.
home_of() {
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.specification\.version = //p' | head -n 1)
    home=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.home = //p' | head -n 1)
    case $version in
        1.*) version=${version#1.} ;;
    esac
    case $version in
        '' | *[!0-9]*) return 1 ;;
    esac
    [ "$version" -ge "$minimum" ] && [ -n "$home" ] && printf '%s\n' "$home"
}

# Candidates with 17 or 21 in their name come first: those two Spark supports longest.
search_dirs() {
    for name in '*17*' '*21*' '*'; do
        for dir in $jvm_dirs; do
            for home in "$dir"/$name; do
                for java in "$home/bin/java" "$home/Contents/Home/bin/java" \
                    "$home/libexec/openjdk.jdk/Contents/Home/bin/java"; do
                    [ -x "$java" ] && home_of "$java" && return 0
                done
            done
        done
    done
    return 1
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ]; then
        home_of "$JAVA_HOME/bin/java" && return 0
        say "JAVA_HOME is $JAVA_HOME, which holds no Java $minimum or later; looking elsewhere"
    fi
    if command -v java >/dev/null 2>&1; then
        home_of java && return 0
    fi
    if [ -x /usr/libexec/java_home ]; then
        home=$(/usr/libexec/java_home -v "$minimum+" 2>/dev/null) &&
            home_of "$home/bin/java" && return 0
    fi
    search_dirs
}

install_java() {
    can_apt || return 1
    for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
        if apt_offers "$package"; then
            apt_install "$package"
            return
        fi
    done
    return 1
}

find_java && exit 0
say "no Java $minimum or later found"
install_java && find_java && exit 0

cat >&2 <<END
scurry: Spark needs Java $minimum or later. Install it, then run the same command again:
  Debian, Ubuntu   sudo apt-get install openjdk-17-jre-headless
  Fedora, RHEL     sudo dnf install java-17-openjdk-headless
  Arch             sudo pacman -S jre17-openjdk-headless
  Alpine           sudo apk add openjdk17-jre-headless
  macOS            brew install openjdk@17
  elsewhere        unpack any JDK $minimum build and set JAVA_HOME to its directory
END
exit 1
