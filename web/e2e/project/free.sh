#!/bin/sh
# Shows the berths that are free.
while IFS=, read -r berth state; do
  [ "$state" = yes ] && echo "$berth"
done < berths.csv
