#!/bin/sh
echo "checking"
echo "all is well"
