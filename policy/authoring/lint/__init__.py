"""What is probably not meant: checks of rules that load, and still say too little, too much, or nothing."""
