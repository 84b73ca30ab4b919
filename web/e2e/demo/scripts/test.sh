#!/bin/sh
exec python3 -m unittest tests.test_table
