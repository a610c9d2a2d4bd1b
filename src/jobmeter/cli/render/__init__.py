"""How results look in a terminal: safe text, styles, tables. Pure, apart from `screen`."""
