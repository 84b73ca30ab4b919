#!/bin/sh
echo "half way"
while [ ! -e go ]; do sleep 0.05; done
echo "all the way"
