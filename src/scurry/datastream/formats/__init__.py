"""Formats of files and messages, under the module names PyFlink has for them."""
