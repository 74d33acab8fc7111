"""Formats of messages and files, under the module names PyFlink has for them."""
