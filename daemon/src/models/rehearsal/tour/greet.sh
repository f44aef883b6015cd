#!/bin/sh
# Prints a greeting for each name it is given.
for name in "$@"; do
    echo "Hello, $name"
done
