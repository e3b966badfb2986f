// Written by `make page-tables` from the table in compiler/target.py: change that.

export const STANDARD_TARGET = "cuda:90";
/** The targets that a matrix begins with. */
export const COMMON_TARGETS: readonly string[] = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"];
/** Names that people know some targets by. */
export const PRODUCTS: ReadonlyMap<string, string> = new Map([
  ["cuda:60", "P100"],
  ["cuda:61", "P40"],
  ["cuda:62", "Jetson TX2"],
  ["cuda:70", "V100"],
  ["cuda:72", "Jetson Xavier"],
  ["cuda:75", "T4"],
  ["cuda:80", "A100"],
  ["cuda:86", "A10, RTX 30"],
  ["cuda:87", "Jetson Orin"],
  ["cuda:89", "L4, RTX 40"],
  ["cuda:90", "H100, H200"],
  ["cuda:100", "B200"],
  ["cuda:103", "B300"],
  ["cuda:110", "Jetson Thor"],
  ["cuda:120", "RTX 50"],
  ["cuda:121", "DGX Spark"],
  ["hip:gfx906", "MI50"],
  ["hip:gfx908", "MI100"],
  ["hip:gfx90a", "MI250X"],
  ["hip:gfx942", "MI300X"],
  ["hip:gfx950", "MI355X"],
  ["hip:gfx1100", "RX 7900"],
  ["hip:gfx1101", "RX 7800"],
  ["hip:gfx1102", "RX 7600"],
  ["hip:gfx1200", "RX 9060"],
  ["hip:gfx1201", "RX 9070"],
]);
