// Written by `make page-tables` from the table in compiler/target.py: change that.

export const STANDARD_TARGET = "cuda:90";
/** The targets that a matrix begins with. */
export const COMMON_TARGETS: readonly string[] = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"];
