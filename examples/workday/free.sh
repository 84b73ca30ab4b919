#!/bin/sh
# Prints the berths that are free, one a line.
while IFS=, read -r berth length state; do
    if [ "$state" = yes ]; then
        echo "$berth"
    fi
done < berths.csv
