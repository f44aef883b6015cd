#!/bin/sh
# A greeting ends with an exclamation mark.
want="Hello, Ada!"
got=$(sh greet.sh Ada)
if [ "$got" = "$want" ]; then
    echo "passed: $got"
else
    echo "FAILED: wanted '$want', got '$got'"
    exit 1
fi
