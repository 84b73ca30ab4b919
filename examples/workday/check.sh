#!/bin/sh
# Says whether free.sh is right.
if [ "$(sh free.sh)" = "$(cat expected.txt)" ]; then
    echo "free.sh is right"
else
    echo "free.sh is wrong"
    exit 1
fi
