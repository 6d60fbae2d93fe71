"""What an author has - a name, C, C++, assembler, an object - becomes a kernel that was checked."""
