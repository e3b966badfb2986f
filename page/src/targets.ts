// Written by `make page-tables` from the table in compiler/target.py: change that.

export const STANDARD_TARGET = "cuda:90";
/** The targets that a matrix begins with. */
export const COMMON_TARGETS: readonly string[] = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"];
/** Names that people know some targets by. */
export const PRODUCTS: ReadonlyMap<string, string> = new Map([
  ["cuda:70", "V100"],
  ["cuda:75", "T4"],
  ["cuda:80", "A100, A30"],
  ["cuda:86", "A10, A10G"],
  ["cuda:87", "ORIN"],
  ["cuda:89", "L4, L40"],
  ["cuda:90", "H100, H200"],
  ["cuda:100", "B200, GB200"],
  ["cuda:103", "B300, GB300"],
  ["cuda:110", "THOR"],
  ["cuda:120", "RTX5090"],
  ["cuda:121", "GB10"],
  ["hip:gfx906", "MI50, MI60"],
  ["hip:gfx908", "MI100"],
  ["hip:gfx90a", "MI210, MI250"],
  ["hip:gfx942", "MI300A, MI300X"],
  ["hip:gfx950", "MI350X, MI355X"],
  ["hip:gfx1030", "RX6900XT"],
  ["hip:gfx1100", "RX7900XTX"],
  ["hip:gfx1201", "RX9070XT"],
]);
